"""When a wrong heat becomes apparent: the earliest moment at which it is set, or at which a thing of the wrong state is used."""

import re
from typing import Final

from ml.counterfactuals.heat import HeatKind, find_heat, read_heat
from ml.counterfactuals.lexicon.heat import LEVELS
from ml.counterfactuals.numbers import find_numbers
from ml.counterfactuals.rules.mentions import Inputs, mentions, text_of
from ml.counterfactuals.rules.timeline import Timeline, lemmas

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


def find_temperature(inputs: Inputs, timeline: Timeline) -> float | None:
    used = text_of(inputs, "heat_setting")
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
    thing = text_of(inputs, "food_item") or "water"
    for index, window in enumerate(timeline.windows):
        for sentence in window.sentences:
            if state.lower() in lemmas(sentence) and mentions(sentence, thing):
                return timeline.option_at(timeline.onset_s(index))
    for index, window in enumerate(timeline.windows):
        if any(mentions(sentence, thing) for sentence in window.sentences):
            return timeline.option_at(timeline.onset_s(index))
    return None
