"""When a wrong amount becomes apparent: the addition that goes beyond it, or the moment at which no more will be added."""

import re
from fractions import Fraction
from typing import Final

from ml.counterfactuals.amounts import Amount, read_amount, read_part
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.numbers import find_numbers
from ml.counterfactuals.rules.counting import counts_per_slot
from ml.counterfactuals.rules.mentions import ADDING, Inputs, first_run, head_of, mentions, text_of
from ml.counterfactuals.rules.timeline import Timeline, Window, lemmas, verbs

_AWAY: Final = re.compile(
    r"\b(?:away|back in(?:to)?|aside|shut|clos(?:e|es|ed|ing)|cap(?:s|ped)?|screws?|screwed|seals?|sealed|lid"
    r"|fridge|cupboard|drawer|shelf|rack|bin)\b",
    re.IGNORECASE,
)
_CONTAINERS: Final = words("jar bottle carton bag tin packet box can tub container pack block bowl")


def find_measurement(inputs: Inputs, timeline: Timeline) -> float | None:
    ingredient = text_of(inputs, "ingredient")
    asked, used = read_amount(text_of(inputs, "counterfactual_quantity")), read_amount(text_of(inputs, "quantity"))
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
        if ordinal is not None and last_start == first_run(adding):
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
        if not mentions(sentence, ingredient) or not verbs(sentence) & ADDING or _is_away(sentence):
            continue
        if re.search(r"\bout (?:again|of the (?:bowl|plate|pan))\b", sentence):
            continue
        for number in find_numbers(sentence):
            part = read_part(sentence, number)
            if part.unit is None and not re.match(
                rf"\s+(?:[a-z-]+\s+){{0,2}}{re.escape(head_of(ingredient))}", sentence[number.end :], re.IGNORECASE
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
        done = verbs(sentence) & ADDING
        if re.search(r"\b(?:another|second|third) (?:scoop|spoonful)\b", sentence):
            done |= {"scoop"}
        if not done or (done <= _HANDLING and _TAKING_MORE.search(sentence) is None):
            continue
        if mentions(sentence, ingredient) and not _is_away(sentence):
            return True
    return False


def _is_away(sentence: str) -> bool:
    """The sentence ends the use of something: put away, closed, without taking more."""
    return bool(re.search(r"\bwithout\b", sentence)) or (
        bool(re.search(r"\b(?:away|aside|stands? capped|closed|shut)\b", sentence))
        and not re.search(r"\b(?:another|again|second|third|next)\b", sentence)
    )


def _tells_away(window: Window, ingredient: str) -> bool:
    return any(_AWAY.search(sentence) and mentions(sentence, ingredient) for sentence in window.sentences)


def _away_from(timeline: Timeline, ingredient: str, first: int) -> int | None:
    """First window from ``first`` on that closes or clears away the ingredient or the container it came from."""
    containers = {
        word
        for window in timeline.windows
        for sentence in window.sentences
        if mentions(sentence, ingredient)
        for word in lemmas(sentence) & _CONTAINERS
    } - {"bowl"}
    for index in range(first, len(timeline.windows)):
        for sentence in timeline.windows[index].sentences:
            match = _AWAY.search(sentence)
            if match is None or re.search(r"\b(?:half closed|still open|left open|lid off|opens|unscrews)\b", sentence):
                continue
            named = mentions(sentence, ingredient)
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
    return not mentions(sentence, ingredient) and bool(re.search(r"\b(?:jar|bottle|tin|carton|bag|packet) of (?!the\b)", sentence))
