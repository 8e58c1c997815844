"""Heat settings in recipe text: levels, degrees in one or two units, power, dial settings, thermal states; reading and changing them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from ml.counterfactuals.editing import Edit, apply_edits
from ml.counterfactuals.lexicon.heat import (
    HIGHER,
    LEVEL_NOUNS,
    LEVELS,
    LIQUIDS,
    LOWER,
    STATE_HIGHER,
    STATE_LOWER,
    STATES,
    TURNED_DOWN,
    TURNED_UP,
)
from ml.counterfactuals.numbers import Number, find_numbers


class HeatKind(StrEnum):
    LEVEL = "level"
    DEGREES = "degrees"
    PERCENT = "percent"
    SETTING = "setting"
    STATE = "state"
    TURN = "turn"


class Turn(StrEnum):
    DOWN = "down"
    UP = "up"


@dataclass(frozen=True)
class Reading:
    """One number of a setting with its unit: ``F`` or ``C`` for degrees, else empty."""

    number: Number
    unit: str


@dataclass(frozen=True)
class Heat:
    """A heat setting at ``text[start:end]``. ``rank`` orders settings of one kind; ``readings`` are the numbers, where it has any."""

    kind: HeatKind
    text: str
    start: int
    end: int
    rank: float
    readings: tuple[Reading, ...] = ()


_LEVEL_WORD = (
    r"(?:very\s+low|very\s+high|moderately\s+high|(?:low|medium|med)(?:\s*-\s*|\s+to\s+|\s*-to-\s*|\s+)(?:low|medium|med|high)"
    r"|lowest|highest|low|medium|med|mid|moderate|gentle|high|full|maximum|minimum|max)"
)
_LEVEL_NOUN = r"(?:\s*-?\s*(?:" + "|".join(sorted(LEVEL_NOUNS)) + r")\b)"
_AFTER_LEVEL = r"(?=\s*(?:$|[.,;:)(]|\b(?:for|until|and|or|in|on|to|with|while|about|then|till)\b))"
_LEVEL = re.compile(
    rf"(?:\b(?P<lead>on|over|at|to|onto|under)\s+)?(?:\b(?:a|the)\s+)?(?P<level>\b{_LEVEL_WORD}){_LEVEL_NOUN}(?:\s*\(\s*\d+\s*%\s*\))?"
    rf"|\b(?:on|over|at|to)\s+(?:the\s+)?(?P<bare>{_LEVEL_WORD}){_AFTER_LEVEL}",
    re.IGNORECASE,
)
_DEGREE_UNIT = (
    r"(?:\s*(?:°|º|degrees?|deg\.?)\s*(?P<u>fahrenheit|celsius|centigrade|f|c)?\b\.?"
    r"|\s*(?P<ub>fahrenheit|celsius|centigrade)\b|\s?(?P<uc>[FC])\b)"
)
_DEGREES = re.compile(r"(?P<number>\d[\d.,/½¼¾]*(?:\s*(?:-|–|—|to)\s*\d[\d.,]*)?)" + _DEGREE_UNIT, re.IGNORECASE)
_PERCENT = re.compile(
    r"(?P<number>\d+)\s*(?:%|percent)\s*(?:power|heat)\b|\bpower\s+(?:of\s+)?(?P<number2>\d+)\s*(?:%|percent)", re.IGNORECASE
)
_SETTING = re.compile(
    r"\b(?:gas\s*(?:mark)?|(?:power\s+)?(?:setting|level|mark)|power|number)\s+(?P<number>\d+)\b(?!\s*(?:%|percent|°|degrees))",
    re.IGNORECASE,
)
_STATE = re.compile(
    rf"\b(?P<state>{'|'.join(sorted(STATES, key=len, reverse=True))})\s+(?:running\s+|tap\s+)?(?:{'|'.join(sorted(LIQUIDS))})\b",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"\b(?P<verb>lower|reduce|decrease|raise|increase|turn\s+down|turn\s+up)\s+(?:the\s+)?(?:heat|flame|temperature|burner|fire)\b"
    r"|\bturn\s+(?:the\s+)?(?:heat|flame|temperature|burner|fire)\s+(?P<way>down|up)\b",
    re.IGNORECASE,
)
_TO = re.compile(r"(?:\s+(?:back|up|down))*(?:\s+from\s+\S+)?\s+to\s+(?:(?:an?|the|about)\s+)*", re.IGNORECASE)
_CONDITIONAL = re.compile(r"\bif\b", re.IGNORECASE)


def _level_rank(word: str) -> int:
    word = re.sub(r"\s*-\s*", "-", word.lower().strip())
    for form in (
        word,
        word.replace(" to ", "-to-"),
        re.sub(r"\s+", "-", word),
        re.sub(r"\s+to\s+|\s+", "-", word).replace("med-", "medium-"),
    ):
        if form in LEVELS:
            return LEVELS[form]
    return LEVELS[word.split("-")[0].split()[0]]


def _degree_unit(match: re.Match[str]) -> str:
    word = match["u"] or match["ub"] or match["uc"] or ""
    return "C" if word[:1].lower() == "c" else "F" if word else ""


def find_heat(text: str, *, heating: bool = True) -> list[Heat]:
    """Heat settings in order of place. ``heating``: the text is about cooking or an appliance, so a bare ``on high`` is a setting.

    Settings inside an if-clause are left out: they hold only in a case that may not come.
    """
    found: list[Heat] = []
    degrees: list[Heat] = []
    for match in _DEGREES.finditer(text):
        numbers = find_numbers(match["number"])
        if not numbers or (match["uc"] and numbers[-1].high < 50):  # "2 c flour" are cups
            continue
        unit = _degree_unit(match)
        offset = match.start("number")
        number = Number(numbers[0].low, numbers[-1].high, numbers[0].style, offset + numbers[0].start, offset + numbers[-1].end)
        if degrees and re.fullmatch(
            r"\.?\s*(?:or|/|\(|,|and)?\s*(?:between\s+|about\s+)?", text[degrees[-1].end : match.start()], re.IGNORECASE
        ):
            before = degrees.pop()
            end = _unstopped(text, match.end()) + text[match.end() :].startswith(")")
            degrees.append(
                Heat(HeatKind.DEGREES, text[before.start : end], before.start, end, before.rank, (*before.readings, Reading(number, unit)))
            )
        else:
            rank = float(number.low if unit != "C" else number.low * Fraction(9, 5) + 32)
            end = _unstopped(text, match.end())
            degrees.append(Heat(HeatKind.DEGREES, text[match.start() : end].strip(), match.start(), end, rank, (Reading(number, unit),)))
    found += degrees
    for pattern, kind in ((_PERCENT, HeatKind.PERCENT), (_SETTING, HeatKind.SETTING)):
        for match in pattern.finditer(text):
            group = "number" if match["number"] else "number2"
            number = find_numbers(match[group])[0]
            moved = Number(number.low, number.high, number.style, match.start(group) + number.start, match.start(group) + number.end)
            found.append(Heat(kind, match[0], match.start(), match.end(), float(number.low), (Reading(moved, ""),)))
    turned = [match.end() for match in _TURN.finditer(text)]
    for match in _LEVEL.finditer(text):
        group = "level" if match["level"] else "bare"
        if group == "bare" and not heating and not any(_TO.fullmatch(text, end, match.start(group)) for end in turned):
            continue
        start, end = match.start(group), match.end()
        found.append(Heat(HeatKind.LEVEL, text[start:end].strip(), start, end, float(_level_rank(match[group]))))
    for match in _TURN.finditer(text):
        if _is_set_to(text, match.end(), found):
            continue
        found.append(Heat(HeatKind.TURN, match[0], match.start(), match.end(), 0.0))
    for match in _STATE.finditer(text):
        state = match["state"]
        found.append(Heat(HeatKind.STATE, state, match.start("state"), match.end("state"), float(STATES[state.lower()])))
    found = [heat for heat in found if not _in_condition(text, heat.start)]
    kept: list[Heat] = []
    for heat in found:
        if all(heat.end <= other.start or heat.start >= other.end for other in kept):
            kept.append(heat)
    return sorted(kept, key=lambda heat: (heat.kind is HeatKind.STATE, heat.start))


def _is_set_to(text: str, end: int, settings: list[Heat]) -> bool:
    """Whether a setting is what the heat is turned to: "reduce the heat to low" sets it low."""
    return any(_TO.fullmatch(text, end, setting.start) for setting in settings)


def _unstopped(text: str, end: int) -> int:
    """End without the stop of a sentence or of "deg."."""
    return end - (text[end - 1] == ".")


def _in_condition(text: str, at: int) -> bool:
    sentence = max(text.rfind(". ", 0, at), text.rfind("(", 0, at), 0)
    return _CONDITIONAL.search(text, sentence, at) is not None


def read_heat(text: str) -> Heat | None:
    """The first setting of a short text such as ``high``, ``medium heat``, ``350°F``, ``50% power``, ``setting 2``, ``cold``."""
    bare = text.strip().lower()
    if re.fullmatch(rf"(?:on |over |at |to )?(?:a |the )?{_LEVEL_WORD}", bare):
        return Heat(HeatKind.LEVEL, text, 0, len(text), float(_level_rank(re.sub(r"^(?:on |over |at |to )?(?:a |the )?", "", bare))))
    if bare in STATES:
        return Heat(HeatKind.STATE, text, 0, len(text), float(STATES[bare]))
    found = find_heat(text)
    if found:
        return found[0]
    if number := re.fullmatch(r"\D*?(\d+)\D*", bare):
        numbers = find_numbers(text)
        if numbers:
            return Heat(HeatKind.SETTING, text, 0, len(text), float(number[1]), (Reading(numbers[0], ""),))
    return None


def level_ranks(text: str) -> list[int]:
    """Places on the dial of the level words of a text, whatever they are said of: 1 for ``low``, 3 for ``medium``."""
    found = []
    for match in re.finditer(rf"\b{_LEVEL_WORD}\b", text, re.IGNORECASE):
        ends = re.split(r"\s+to\s+", match[0])
        found += [_level_rank(word) for word in ({match[0], *ends} if len(ends) > 1 else {match[0]})]  # "from low to high" names both
    return found


def state_ranks(text: str) -> list[int]:
    """Places of the thermal states that a text names: 1 for ``cold`` and anything colder, 5 for ``hot``."""
    pattern = rf"\b(?:{'|'.join(sorted(STATES, key=len, reverse=True))})\b"
    return [max(STATES[match[0].lower()], 1) for match in re.finditer(pattern, text, re.IGNORECASE)]


def turns(text: str) -> list[Turn]:
    """Which ways a text has the heat turned."""
    found = []
    for match in re.finditer(r"\b[a-z]+\b", text, re.IGNORECASE):
        if match[0].lower() in TURNED_DOWN | TURNED_UP:
            found.append(Turn.DOWN if match[0].lower() in TURNED_DOWN else Turn.UP)
    return found


_DIAL_TOP: Final = {"gas": 9, "power": 10}


def change_heat(setting: str, lower: bool, pick: Callable[[int], int]) -> str | None:
    """Another setting, lower or higher, in the words of the original; dual units change together. None where there is none."""
    heat = read_heat(setting)
    if heat is None or heat.kind is HeatKind.TURN:
        return _turned(setting, lower) if heat else None
    match heat.kind:
        case HeatKind.LEVEL:
            options = (LOWER if lower else HIGHER).get(int(heat.rank), ())
            return _swap_level(setting, options[pick(len(options))]) if options else None
        case HeatKind.STATE:
            options = (STATE_LOWER if lower else STATE_HIGHER).get(int(heat.rank), ())
            return _matched_case(setting, options[pick(len(options))]) if options else None
        case HeatKind.DEGREES:
            return _changed_degrees(setting, heat, lower, pick)
        case HeatKind.PERCENT:
            value = heat.readings[0].number.low
            choices = [Fraction(v) for v in (30, 50, 70, 80, 100) if (v <= value - 20 if lower else v >= value + 20)]
        case _:
            value = heat.readings[0].number.low
            top = next((top for word, top in _DIAL_TOP.items() if word in setting.lower()), max(6, int(value) + 2))
            choices = [v for v in (value - 2, value - 1, value + 2, value + 1) if 1 <= v <= top and (v < value if lower else v > value)][:1]
    if not choices:
        return None
    chosen = choices[-1] if lower else choices[0]
    number = heat.readings[0].number
    return apply_edits(setting, [(number.start, number.end, str(int(chosen)))])


def _changed_degrees(setting: str, heat: Heat, lower: bool, pick: Callable[[int], int]) -> str | None:
    first = heat.readings[0]
    unit = first.unit or ("F" if first.number.high > 260 else "C" if first.number.high < 110 else "F")
    base = float(first.number.low if lower else first.number.high)
    baking = base > (250 if unit == "F" else 120)
    deltas = ((50, 75) if unit == "F" else (30, 40)) if baking else ((20, 30) if unit == "F" else (10, 15))
    value = base + (-1 if lower else 1) * deltas[pick(2)]
    if (
        value <= (40 if unit == "F" else 4)
        or (not baking and value > (212 if unit == "F" else 100))
        or value > (550 if unit == "F" else 290)
    ):
        return None
    fahrenheit = value if unit == "F" else value * 9 / 5 + 32
    edits: list[Edit] = []
    for index, reading in enumerate(heat.readings):
        number = reading.number
        if index == 0 or reading.unit == first.unit:
            new = round(value)
        elif reading.unit == "C":
            new = round((fahrenheit - 32) * 5 / 9)
        else:
            new = round(fahrenheit)
        if baking and index:
            new = round(new / 5) * 5
        edits.append((number.start, number.end, str(new)))
    return re.sub(r"\bbetween\s+(?=\d+\s*(?:°|degrees))", "", apply_edits(setting, edits))


def _swap_level(setting: str, level: str) -> str:
    match = re.search(_LEVEL_WORD, setting, re.IGNORECASE)
    assert match is not None
    swapped = setting[: match.start()] + _matched_case(match[0], level) + setting[match.end() :]
    return re.sub(r"\s*\(\s*\d+\s*%\s*\)", "", swapped)


def _turned(setting: str, lower: bool) -> str | None:
    """``Lower the heat`` against ``Raise the heat``: the direction is that of the setting after the change."""
    pairs = (("lower", "raise"), ("reduce", "increase"), ("decrease", "increase"), ("down", "up"))
    for less, more in pairs:
        old, new = (more, less) if lower else (less, more)
        if match := re.search(rf"\b{old}\b", setting, re.IGNORECASE):
            return setting[: match.start()] + _matched_case(match[0], new) + setting[match.end() :]
    return None


def _matched_case(old: str, new: str) -> str:
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new.capitalize() if old[:1].isupper() else new
