"""When a wrong cooking time becomes apparent: the asked time after cooking began, or the end of cooking."""

import re
from typing import Final

from ml.counterfactuals.durations import read_duration
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.mentions import Inputs, first_run, mentions, text_of
from ml.counterfactuals.rules.timeline import Timeline, content_words, lemmas

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


def find_timing(inputs: Inputs, timeline: Timeline) -> tuple[float, float] | None:
    used, asked = read_duration(text_of(inputs, "amount_of_time")), read_duration(text_of(inputs, "counterfactual_amount_of_time"))
    if used is None or asked is None:
        return None
    food, item = text_of(inputs, "food_item"), text_of(inputs, "kitchen_item")
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
            if match and (not food or mentions(sentence, food) or "cook" in lemmas(sentence)):
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
            or (food and mentions(sentence, food) and _INTO.search(sentence) and lemmas(sentence) & _PUTTING and _heated(sentence, item))
            for sentence in window.sentences
        )
        for window in timeline.windows
    ]
    index = first_run(verbs)
    if index is None:
        cooking = [any(food and mentions(s, food) and "cook" in lemmas(s) for s in window.sentences) for window in timeline.windows]
        index = first_run(cooking)
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
                (food and mentions(sentence, food))
                or (item and mentions(sentence, item))
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
