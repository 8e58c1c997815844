"""When a counterfactual mistake becomes apparent in narrated windows, by rule; one finder per mistake type.

After the paper's section H.2, with the plain field as what the person does and the counterfactual one as what is asked.
"""

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from ml.counterfactuals.amounts import Amount, find_numbers, read_amount, read_duration, read_part
from ml.counterfactuals.heat import HeatKind, find_heat, read_heat
from ml.counterfactuals.lexicon.heat import LEVELS
from ml.counterfactuals.lexicon.verbs import COOKING_VERBS
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.counting import counts_per_slot
from ml.counterfactuals.rules.parsing import verb_lemma
from ml.counterfactuals.rules.phrases import singular
from ml.counterfactuals.rules.timeline import Timeline, Window, content_words, lemmas, read_windows, verbs

Inputs = Mapping[str, object]


def timestamp_answer(inputs: Inputs) -> str:
    """``{"timestamp": t}``, for timing ``{"start_timestamp": t, "critical_timestamp": t}``, or None where it never shows."""
    windows = read_windows(inputs["narrations"])
    options = inputs["options"]
    assert isinstance(options, list | tuple)
    timeline = Timeline(
        tuple(windows), tuple(sorted(float(o) for o in options)), float(str(inputs["clip_start_s"])), float(str(inputs["clip_end_s"]))
    )
    if not windows or not options:
        return "None"
    kind = str(inputs["mistake_type"])
    if kind == "timing":
        found = _timing(inputs, timeline)
        return "None" if found is None else json.dumps({"start_timestamp": found[0], "critical_timestamp": found[1]})
    at = _FINDERS[kind](inputs, timeline)
    return "None" if at is None else json.dumps({"timestamp": at})


def _text(inputs: Inputs, name: str) -> str:
    value = inputs.get(name)
    return "" if value is None else str(value)


def _mentions(sentence: str, thing: str) -> bool:
    """Whether the sentence names the thing: its head, or every word of it that tells it from others."""
    words = content_words(thing)
    found = lemmas(sentence)
    if not words:
        return False
    head = _head(thing)
    return head in found or (len(words) > 1 and len(words & found) >= len(words) - 1 and bool(words & found))


def _head(thing: str) -> str:
    words = re.findall(r"[a-z]+", thing.lower())
    return singular(words[-1]) if words else ""


def _first_run(flags: list[bool], after: int = 0) -> int | None:
    return next((i for i in range(after, len(flags)) if flags[i]), None)


# --- measurement -------------------------------------------------------------------------------------------------------------

_ADDING: Final = frozenset(
    [
        "add",
        "pour",
        "tip",
        "crack",
        "break",
        "scoop",
        "dig",
        "fill",
        "take",
        "lift",
        "turn",
        "drop",
        "sprinkle",
        "squeeze",
        "spoon",
        "ladle",
        "shake",
        "put",
        "place",
        "dip",
        "empty",
        "measure",
        "push",
        "slide",
        "throw",
        "land",
        "open",
        "lower",
        "draw",
        "tap",
        "grate",
        "toss",
        "fall",
        "level",
    ]
)
_AWAY: Final = re.compile(
    r"\b(?:away|back in(?:to)?|aside|shut|clos(?:e|es|ed|ing)|cap(?:s|ped)?|screws?|screwed|seals?|sealed|lid"
    r"|fridge|cupboard|drawer|shelf|rack|bin)\b",
    re.IGNORECASE,
)
_CONTAINERS: Final = words("jar bottle carton bag tin packet box can tub container pack block bowl")


def _measurement(inputs: Inputs, timeline: Timeline) -> float | None:
    ingredient = _text(inputs, "ingredient")
    asked, used = read_amount(_text(inputs, "counterfactual_quantity")), read_amount(_text(inputs, "quantity"))
    if asked is None or used is None:
        return None
    smaller = inputs["direction"] == "smaller"
    counts = [_count_in(window, ingredient, used) for window in timeline.windows]
    if any(count is not None and count > 0 for count in counts):
        return _by_counts(inputs, timeline, [count or 0 for count in counts], used, asked, ingredient, smaller)
    adding = [_adds(window, ingredient) for window in timeline.windows]
    if not any(adding):
        return None
    last_start = max(i for i, flag in enumerate(adding) if flag and (i == 0 or not adding[i - 1]))
    if smaller:
        ordinal = _ORDINALS.get(int(asked.high) + 1) if asked.high.denominator == 1 else None
        if ordinal is not None and last_start == _first_run(adding):
            named = next((i for i, w in enumerate(timeline.windows) if re.search(rf"\b{ordinal}\b", w.text, re.IGNORECASE)), None)
            if named is not None:
                return timeline.option_at(timeline.onset_s(named))
        return timeline.option_at(timeline.onset_s(last_start))
    last = max(i for i, flag in enumerate(adding) if flag)
    away = _away_from(timeline, ingredient, last)
    if away is None:
        return None
    return timeline.option_at(timeline.onset_s(away, lasting=False))


_ORDINALS: Final = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}


def _count_in(window: Window, ingredient: str, used: Amount) -> int | None:
    """How many the window says are added, where it says a whole number with the quantity's own unit."""
    total = None
    for sentence in window.sentences:
        if not _mentions(sentence, ingredient) or not verbs(sentence) & _ADDING or _is_away(sentence):
            continue
        if re.search(r"\bout (?:again|of the (?:bowl|plate|pan))\b", sentence):
            continue
        for number in find_numbers(sentence):
            part = read_part(sentence, number)
            if part.unit is None and not re.match(
                rf"\s+(?:[a-z-]+\s+){{0,2}}{re.escape(_head(ingredient))}", sentence[number.end :], re.IGNORECASE
            ):
                continue
            same_unit = (part.unit.name if part.unit else None) == (used.parts[0].unit.name if used.parts[0].unit else None)
            if same_unit and number.low.denominator == 1 and not number.is_range and number.low <= 12:
                total = (total or 0) + int(number.low)
                break
    return total


def _by_counts(
    inputs: Inputs, timeline: Timeline, counts: list[int], used: Amount, asked: Amount, ingredient: str, smaller: bool
) -> float | None:
    whole = int(used.high) if used.high.denominator == 1 else None
    slots = counts_per_slot([(w.start_s, w.end_s) for w in timeline.windows], counts, whole, timeline.clip_start_s, timeline.clip_end_s)
    total = Fraction(0)
    last_s = None
    for slot in slots:
        total += slot.count
        if slot.count:
            last_s = slot.middle_s
        if smaller and total > asked.high:
            return timeline.option_at(slot.middle_s)
    if last_s is None:
        return None
    if smaller:
        return timeline.option_at(last_s)
    last_window = max(i for i, count in enumerate(counts) if count)
    away = _away_from(timeline, ingredient, max(0, last_window - 1))
    if away is not None:
        at = timeline.onset_s(
            away, lasting=False, seen_next=away + 1 < len(timeline.windows) and _tells_away(timeline.windows[away + 1], ingredient)
        )
        return timeline.option_at(max(at, last_s))
    return timeline.option_at(last_s + 5.0)


_TAKING_MORE: Final = re.compile(r"\b(?:another|again|second|third|fourth|fifth|next|out|from|more)\b", re.IGNORECASE)


# To handle something adds nothing, unless it comes out of where it is kept.
_HANDLING: Final = words("take lift open lower push draw")


def _adds(window: Window, ingredient: str) -> bool:
    for sentence in window.sentences:
        done = verbs(sentence) & _ADDING
        if re.search(r"\b(?:another|second|third) (?:scoop|spoonful)\b", sentence):
            done |= {"scoop"}
        if not done or (done <= _HANDLING and _TAKING_MORE.search(sentence) is None):
            continue
        if _mentions(sentence, ingredient) and not _is_away(sentence):
            return True
    return False


def _is_away(sentence: str) -> bool:
    """The sentence ends the use of something: put away, closed, without taking more."""
    return bool(re.search(r"\bwithout\b", sentence)) or (
        bool(re.search(r"\b(?:away|aside|stands? capped|closed|shut)\b", sentence))
        and not re.search(r"\b(?:another|again|second|third|next)\b", sentence)
    )


def _tells_away(window: Window, ingredient: str) -> bool:
    return any(_AWAY.search(sentence) and _mentions(sentence, ingredient) for sentence in window.sentences)


def _away_from(timeline: Timeline, ingredient: str, first: int) -> int | None:
    """First window from ``first`` on that closes or clears away the ingredient or the container it came from."""
    containers = {
        word
        for window in timeline.windows
        for sentence in window.sentences
        if _mentions(sentence, ingredient)
        for word in lemmas(sentence) & _CONTAINERS
    } - {"bowl"}
    for index in range(first, len(timeline.windows)):
        for sentence in timeline.windows[index].sentences:
            match = _AWAY.search(sentence)
            if match is None or re.search(r"\b(?:half closed|still open|left open|lid off|opens|unscrews)\b", sentence):
                continue
            named = _mentions(sentence, ingredient)
            held = bool(lemmas(sentence) & containers)
            if (named and not _is_opening(sentence)) or (held and not _other_thing(sentence, ingredient) and not _is_opening(sentence)):
                return index
    return None


def _is_opening(sentence: str) -> bool:
    return bool(
        re.search(
            r"\b(?:unscrews?|twists? (?:open|the lid off)|opens? (?:the|a) (?:jar|bottle|carton|bag|tin|packet|lid)|takes? (?:the )?lid off"
            r"|out of the (?:fridge|cupboard|drawer))\b",
            sentence,
        )
    )


def _other_thing(sentence: str, ingredient: str) -> bool:
    return not _mentions(sentence, ingredient) and bool(re.search(r"\b(?:jar|bottle|tin|carton|bag|packet) of (?!the\b)", sentence))


# --- preparation and technique -----------------------------------------------------------------------------------------------


def _way(inputs: Inputs, timeline: Timeline) -> float | None:
    used = _text(inputs, "technique") or _text(inputs, "method")
    thing = _text(inputs, "item") or _text(inputs, "object")
    words = content_words(used) - content_words(thing)
    if not words:
        words = content_words(used)
    verb = verb_lemma(used.split()[0]) if used else ""
    scores = [_way_score(window, words, verb, thing) for window in timeline.windows]
    top = max(scores)
    if top < 1.5:
        return _any_work(timeline, thing)
    threshold = 0.6 * top
    for index, score in enumerate(scores):
        if score >= threshold:
            at = timeline.onset_s(index)
            if at >= timeline.clip_start_s - 2.5:
                return timeline.option_at(at)
    return None


def _way_score(window: Window, words: frozenset[str], verb: str, thing: str) -> float:
    """How much of the way of doing a window tells. The thing counts as one more word; without it, tools alone say little."""
    named = bool(thing) and _mentions(window.text, thing)
    best = 0.0
    for sentence in window.sentences:
        hits = words & lemmas(sentence)
        score = float(len(hits))
        if named and score and not _mentions(sentence, thing):
            score = max(score - 0.5, 0.5)
        if not named:
            score -= 0.5 if verb in hits else 1.5
        best = max(best, score)
    return best + (1.0 if named and best else 0.0)


def _any_work(timeline: Timeline, thing: str) -> float | None:
    """Where no window names the way: the first that works on the thing at all."""
    if not thing:
        return None
    for index, window in enumerate(timeline.windows):
        for sentence in window.sentences:
            if _mentions(sentence, thing) and lemmas(sentence) & (COOKING_VERBS - _ADDING - frozenset({"wipe", "hold", "wash", "rinse"})):
                return timeline.option_at(timeline.onset_s(index))
    return None


# --- temperature -------------------------------------------------------------------------------------------------------------

_SET: Final = re.compile(
    r"\b(?:turn(?:s|ed)?|twists?|twisted|rotates?|sets?|switch(?:es)?|adjusts?|press(?:es|ed)?|moves?|slides?|raises?|lowers?|goes|keys?|dials?|puts?|brings?|returns?|points?)\b",
    re.IGNORECASE,
)
_CONTROL: Final = r"(?:knob|dial|burner|hob|heat|flame|temperature|power|thermostat|oven|stove|ring|gas|pointer|microwave|setting)"
_CONTROLLED: Final = re.compile(
    rf"\b(?:turn(?:s|ed)?|twists?|twisted|rotates?|sets?|switch(?:es)?|adjusts?|press(?:es|ed)?|raises?|lowers?|take|takes)\s+(?:on\s+|up\s+|down\s+)?(?:the\s+|a\s+)?(?:[\w-]+\s+){{0,3}}?{_CONTROL}\b",
    re.IGNORECASE,
)
_COLD_CONTROL: Final = re.compile(r"\b(?:timer|hood|fan|tap|kettle|function)\b", re.IGNORECASE)


def _temperature(inputs: Inputs, timeline: Timeline) -> float | None:
    used = _text(inputs, "heat_setting")
    heat = read_heat(used)
    if heat is not None and heat.kind is HeatKind.STATE:
        return _state(inputs, timeline, used)
    strengths = []
    for window in timeline.windows:
        strength = 0
        for sentence in window.sentences:
            if re.search(rf"\b{_CONTROL}\b", sentence, re.IGNORECASE) is None or _SET.search(sentence) is None:
                continue
            if _CONTROLLED.search(sentence) is None and not _names_setting(sentence, used):
                continue
            strength = max(
                strength,
                2 if _names_setting(sentence, used) else 0 if _COLD_CONTROL.search(sentence) or re.search(r"\boff\b", sentence) else 1,
            )
        strengths.append(strength)
    for wanted in (2, 1):
        flags = [strength >= wanted for strength in strengths]
        for index, flag in enumerate(flags):
            if flag:
                at = timeline.onset_s(index, lasting=False, seen_next=index + 1 < len(flags) and flags[index + 1])
                if at >= timeline.clip_start_s - 2.5:
                    return timeline.option_at(at)
    return None


def _names_setting(sentence: str, setting: str) -> bool:
    heat = read_heat(setting)
    if heat is None:
        return False
    if heat.readings:
        wanted = {reading.number.low for reading in heat.readings} | {reading.number.high for reading in heat.readings}
        return any(number.low in wanted for number in find_numbers(sentence))
    for found in find_heat(sentence):
        if found.kind is HeatKind.LEVEL and found.rank == heat.rank:
            return True
    level = next((word for word in sorted(LEVELS, key=len, reverse=True) if word in setting.lower()), None)
    if level is None:
        return False
    mark = re.search(rf"\b{level.replace('-', '[- ]')}\b", sentence, re.IGNORECASE)
    wider = re.search(rf"\b(?:medium|low|high)[- ]{level}\b|\b{level}[- ](?:high|low)\b", sentence, re.IGNORECASE)
    if (mark is not None and wider is None and "medium" in level) or (mark is not None and wider is None):
        return True
    return (
        heat.rank >= 5
        and "power" in setting.lower()
        and re.search(r"\b(?:PL ?10|full power|100 ?%|power (?:pad|button))", sentence, re.IGNORECASE) is not None
    )


def _state(inputs: Inputs, timeline: Timeline, state: str) -> float | None:
    thing = _text(inputs, "food_item") or "water"
    for index, window in enumerate(timeline.windows):
        for sentence in window.sentences:
            if state.lower() in lemmas(sentence) and _mentions(sentence, thing):
                return timeline.option_at(timeline.onset_s(index))
    for index, window in enumerate(timeline.windows):
        if any(_mentions(sentence, thing) for sentence in window.sentences):
            return timeline.option_at(timeline.onset_s(index))
    return None


# --- timing ------------------------------------------------------------------------------------------------------------------

_STARTED: Final = re.compile(
    r"\b(?:press(?:es|ed)?\b.*\bstart|start is pressed|starts? (?:the )?(?:timer|microwave|cooking)|light (?:in \w+ \w+ )?comes on"
    r"|puts? .* on the (?:burner|stove|hob|fire))",
    re.IGNORECASE,
)
_ENDED: Final = re.compile(
    r"\b(?:takes? .*\b(?:off|out)|lifts? (?:out|off)|lifts? .*\bout\b|removes?|scoops? .*\bout\b|drains?|light goes off|goes dark|says end"
    r"|(?:scrapes?|slides?|tips?|pours?) .*\b(?:into|onto|out)\b|turns? .*\boff|switch(?:es)? .*\boff|beeps|done|stops?)\b",
    re.IGNORECASE,
)
_INTO: Final = re.compile(r"\b(?:in|into|on|onto|inside)\b", re.IGNORECASE)
_PUTTING: Final = words("put add pour tip scrape drop place set lower throw slide lay fall empty dump sink crack ladle")
_TIMER: Final = re.compile(r"\btimer (?:shows|reads|says|is at|at)\s+(\d+)(?:\s*(?:s|sec|seconds))?\b(?!:)", re.IGNORECASE)


def _timing(inputs: Inputs, timeline: Timeline) -> tuple[float, float] | None:
    used, asked = read_duration(_text(inputs, "amount_of_time")), read_duration(_text(inputs, "counterfactual_amount_of_time"))
    if used is None or asked is None:
        return None
    food, item = _text(inputs, "food_item"), _text(inputs, "kitchen_item")
    shown = _timer_start(timeline, food, used.high_s)
    began = _cooking_start(timeline, food, item)
    start = shown if shown is not None else None if began is None else began[0]
    if start is None:
        return None
    if inputs["direction"] == "smaller":
        due = start + asked.high_s
        option = timeline.option_from(due)
        if option is None or option > timeline.clip_end_s:
            return None
        return round(start, 2), option
    earliest = start + used.low_s
    ended = _cooking_end(timeline, food, item, earliest)
    if ended is not None:
        option = timeline.option_at(ended)
    elif earliest <= timeline.clip_end_s:
        option = timeline.option_at(min(earliest + 1.0, timeline.clip_end_s)) if shown is not None else timeline.option_from(earliest)
    else:
        option = None
    return None if option is None else (round(min(start, option), 2), option)


def _timer_start(timeline: Timeline, food: str, length_s: float) -> float | None:
    """Cooking start by a timer that counts up and is told at the end of each window while it runs."""
    estimates = []
    for window in timeline.windows:
        for sentence in window.sentences:
            match = _TIMER.search(sentence)
            if match and (not food or _mentions(sentence, food) or "cook" in lemmas(sentence)):
                value = float(match[1])
                if 0 <= value < length_s:
                    estimates.append(window.end_s - value - 1.0)
    if not estimates:
        return None
    estimates.sort()
    return max(estimates[len(estimates) // 2], timeline.clip_start_s)


def _cooking_start(timeline: Timeline, food: str, item: str) -> tuple[float, int] | None:
    verbs = [
        any(
            _STARTED.search(sentence) is not None
            or (food and _mentions(sentence, food) and _INTO.search(sentence) and lemmas(sentence) & _PUTTING and _heated(sentence, item))
            for sentence in window.sentences
        )
        for window in timeline.windows
    ]
    index = _first_run(verbs)
    if index is None:
        cooking = [any(food and _mentions(s, food) and "cook" in lemmas(s) for s in window.sentences) for window in timeline.windows]
        index = _first_run(cooking)
        if index is None:
            return None
        return timeline.onset_s(index), index
    if index == 0:
        return max(timeline.windows[0].start_s, timeline.clip_start_s), 0
    window = timeline.windows[index]
    # The earliest moment that the windows allow: a start told by this window and not by the one before.
    return max(min(timeline.windows[index - 1].end_s, window.end_s), timeline.clip_start_s), index


def _heated(sentence: str, item: str) -> bool:
    words = content_words(item) | {"pan", "pot", "skillet", "microwave", "oven", "burner", "boiling", "oil", "water", "wok", "hot", "grill"}
    return bool(words & lemmas(sentence))


def _cooking_end(timeline: Timeline, food: str, item: str, earliest_s: float) -> float | None:
    for index, window in enumerate(timeline.windows):
        if window.end_s < earliest_s:
            continue
        for sentence in window.sentences:
            about = (
                (food and _mentions(sentence, food))
                or (item and _mentions(sentence, item))
                or re.search(r"\b(?:light|timer|burner|knob|microwave)\b", sentence)
            )
            if (
                _ENDED.search(sentence)
                and about
                and not re.search(r"\b(?:back (?:in|on|into)|straight back|none are)\b", sentence, re.IGNORECASE)
            ):
                at = timeline.onset_s(index, lasting=False)
                if at >= earliest_s - 5.0:
                    return max(at, min(earliest_s, timeline.clip_end_s))
    return None


_FINDERS: Final[dict[str, Callable[[Inputs, Timeline], float | None]]] = {
    "measurement": _measurement,
    "preparation": _way,
    "technique": _way,
    "temperature": _temperature,
}
