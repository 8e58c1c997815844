"""Amounts in recipe text: numbers, ranges, quantities with units, durations; reading, comparing, changing, writing back.

Heat settings live in ``ml.counterfactuals.heat``. Which amounts of a step are meant is decided elsewhere.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from ml.counterfactuals.lexicon.units import SIZE_WORDS, Unit, UnitKind, find_unit, inflect_unit

VULGAR: Final[dict[str, Fraction]] = {
    "½": Fraction(1, 2),
    "⅓": Fraction(1, 3),
    "⅔": Fraction(2, 3),
    "¼": Fraction(1, 4),
    "¾": Fraction(3, 4),
    "⅕": Fraction(1, 5),
    "⅖": Fraction(2, 5),
    "⅗": Fraction(3, 5),
    "⅘": Fraction(4, 5),
    "⅙": Fraction(1, 6),
    "⅚": Fraction(5, 6),
    "⅛": Fraction(1, 8),
    "⅜": Fraction(3, 8),
    "⅝": Fraction(5, 8),
    "⅞": Fraction(7, 8),
}
WORDS: Final[dict[str, Fraction]] = {
    word: Fraction(value)
    for value, word in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ],
        1,
    )
} | {
    "twenty": Fraction(20),
    "thirty": Fraction(30),
    "forty": Fraction(40),
    "fifty": Fraction(50),
    "sixty": Fraction(60),
    "ninety": Fraction(90),
    "half": Fraction(1, 2),
    "quarter": Fraction(1, 4),
    "dozen": Fraction(12),
}


class Style(StrEnum):
    """How a number is written."""

    WORD = "word"
    VULGAR = "vulgar"
    SLASH = "slash"
    DECIMAL = "decimal"
    WHOLE = "whole"


@dataclass(frozen=True)
class Number:
    """A number or range ``low``..``high`` at ``text[start:end]``."""

    low: Fraction
    high: Fraction
    style: Style
    start: int
    end: int

    @property
    def is_range(self) -> bool:
        return self.low != self.high


_VULGAR_CLASS = "".join(VULGAR)
_WORD = r"(?:" + "|".join(sorted(WORDS, key=len, reverse=True)) + r")"
_SINGLE = (
    rf"(?:\d+\s?[{_VULGAR_CLASS}]|[{_VULGAR_CLASS}]|\d+(?:\s+|-|\s+and\s+)\d+\s?[/⁄]\s?\d+|\d+\s?[/⁄]\s?\d+|\d+(?:[.,]\d+)?"
    rf"|\b{_WORD}(?:\s+and\s+(?:a|one)\s+(?:half|quarter))?\b)"
)
_NUMBER = re.compile(
    rf"(?<![\w.,/⁄])(?P<low>{_SINGLE})(?:(?P<join>\s*(?:-|–|—|\bto\b|\bor\b)\s*)(?P<high>{_SINGLE}))?(?![/⁄]\d)",
    re.IGNORECASE,
)


def _read_single(text: str) -> tuple[Fraction, Style] | None:
    text = text.strip().lower().replace("⁄", "/")
    if text in WORDS:
        return WORDS[text], Style.WORD
    if match := re.fullmatch(rf"({_WORD})\s+and\s+(?:a|one)\s+(half|quarter)", text):
        return WORDS[match[1]] + WORDS[match[2]], Style.WORD
    if match := re.fullmatch(rf"(\d+)?\s?([{_VULGAR_CLASS}])", text):
        return Fraction(match[1] or 0) + VULGAR[match[2]], Style.VULGAR
    if match := re.fullmatch(r"(?:(\d+)(?:\s+and\s+|\s+|-))?(\d+)\s?/\s?(\d+)", text):
        if int(match[3]) == 0:
            return None
        return Fraction(match[1] or 0) + Fraction(int(match[2]), int(match[3])), Style.SLASH
    if re.fullmatch(r"\d+", text):
        return Fraction(text), Style.WHOLE
    if match := re.fullmatch(r"(\d+)[.,](\d+)", text):
        whole = Fraction(f"{match[1]}.{match[2]}")
        return (
            (Fraction(match[1] + match[2]), Style.WHOLE) if text[len(match[1])] == (",") and len(match[2]) == 3 else (whole, Style.DECIMAL)
        )
    return None


def find_numbers(text: str) -> list[Number]:
    """Numbers and ranges of ``text`` in order: ``2½``, ``1 1/2``, ``0.5``, ``two``, ``15-30``, ``2 to 3``, ``one or two``.

    ``2½`` is 2.5, never 21/2. ``1-1/2`` is one and a half.
    """
    found: list[Number] = []
    at = 0
    while match := _NUMBER.search(text, at):
        low = _read_single(match["low"])
        at = match.end("low")
        if low is None:
            continue
        number = Number(low[0], low[0], low[1], match.start("low"), match.end("low"))
        if match["high"] and (high := _read_single(match["high"])) and low[0] < high[0] and not _unit_between(text, match):
            number = Number(low[0], high[0], high[1], match.start("low"), match.end("high"))
            at = match.end("high")
        found.append(number)
    return found


def _unit_between(text: str, match: re.Match[str]) -> bool:
    """``1 or 1/4 block``-like texts are ranges too; nothing stands between the two numbers but the joining word."""
    return bool(re.search(r"\w", match["join"].lower().replace("to", "").replace("or", "")))


def write_number(value: Fraction, style: Style) -> str:
    """``value`` in a style of writing; a style that cannot hold it gives way to digits."""
    if style is Style.WORD and value.denominator == 1:
        for word, number in WORDS.items():
            if number == value and word != "dozen":
                return word
    whole, rest = divmod(value, 1)
    if style is Style.DECIMAL and rest:
        return f"{float(value):g}"
    if not rest:
        return str(whole)
    if style is Style.VULGAR:
        for mark, number in VULGAR.items():
            if number == rest:
                return f"{whole or ''}{mark}"
    if rest.denominator <= 16:
        return f"{whole} {rest}" if whole else str(rest)
    return f"{float(value):g}"


@dataclass(frozen=True)
class Part:
    """One number with its unit, at ``text[start:end]`` (number, size words and unit)."""

    number: Number
    unit: Unit | None
    unit_span: tuple[int, int] | None
    start: int
    end: int


@dataclass(frozen=True)
class Amount:
    """An amount as written: one part, or several that say the same thing in other units."""

    text: str
    parts: tuple[Part, ...]

    @property
    def low(self) -> Fraction:
        return self.parts[0].number.low

    @property
    def high(self) -> Fraction:
        return self.parts[0].number.high


_SIZE = r"(?:" + "|".join(sorted(SIZE_WORDS, key=len, reverse=True)) + r")"
_UNIT_AFTER = re.compile(rf"(?P<gap>[\s-]*)(?P<size>(?:{_SIZE}[\s-]+)*)(?P<unit>[A-Za-z]+\.?|\"|″|”)")


def read_part(text: str, number: Number) -> Part:
    """The part that begins with ``number``: the unit right after it, if any."""
    match = _UNIT_AFTER.match(text, number.end)
    unit = find_unit(match["unit"]) if match else None
    if match is None or unit is None or (unit.kind is UnitKind.LENGTH and match["unit"].lower() == "in" and "-" not in match["gap"]):
        return Part(number, None, None, number.start, number.end)
    end = match.end("unit") - (match["unit"].endswith(".") and match["unit"][:-1].lower() not in ("tsp", "tbsp", "oz", "lb"))
    return Part(number, unit, (match.start("unit"), end), number.start, end)


def read_amount(text: str) -> Amount | None:
    """An amount from a short text such as ``2½ tablespoons``, ``1/4 block or 3 ounces``, ``2-3``; None where it has no number."""
    parts = [read_part(text, number) for number in find_numbers(text)]
    if not parts:
        return None
    kept = [parts[0]]
    for part in parts[1:]:
        between = text[kept[-1].end : part.start].strip().lower()
        if between in ("or", "/", "(", "or about", "(about", ",", "", "-", "–", "to") and part.unit is not None:
            kept.append(part)
    return Amount(text, tuple(kept))


_QUARTERS = [Fraction(1, 16), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3, 2)]
_SPOONS: Final = [*_QUARTERS[:4], Fraction(1), Fraction(3, 2), *(Fraction(n) for n in (2, 3, 4, 5, 6, 8, 10, 12, 16))]
_CUPS: Final = sorted([*_QUARTERS, Fraction(1, 3), Fraction(2, 3), *(Fraction(n) for n in (2, 3, 4, 5, 6, 8, 10, 12))])
_PARTS: Final = [Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), *(Fraction(n) for n in range(1, 25))]


def _round_two_digits(value: Fraction) -> Fraction:
    """Nearest number that a person would measure: two significant digits, 5 or 0 at the end above 20."""
    if value < 10:
        return Fraction(round(value * 2), 2)
    step = 1 if value < 20 else 5 if value < 100 else 25 if value < 500 else 50 if value < 1000 else 250
    return Fraction(round(value / step) * step)


def _plausible(part: Part, smaller: bool, halvable: bool) -> list[Fraction]:
    """Amounts clearly below ``low`` or above ``high`` that a recipe might ask for, most natural first."""
    low, high = part.number.low, part.number.high
    kind = part.unit.kind if part.unit else UnitKind.COUNT
    if kind is UnitKind.METRIC:
        rounded = [
            _round_two_digits((low if smaller else high) * Fraction(factor)) for factor in (("1/2", "2/3") if smaller else ("3/2", "2"))
        ]
        return [value for value in rounded if value > 0 and (value < low if smaller else value > high)]
    if kind is UnitKind.COUNT and low.denominator == 1 and high.denominator == 1:
        if smaller:
            steps = [low - 1, low - 2] if low <= 6 else [Fraction(round(low * 2 / 3)), Fraction(round(low / 2))]
            values = [value for value in steps if value >= 1]
            return values or ([Fraction(1, 2)] if low == 1 and halvable and part.unit is None else [])
        return [high + 1, high + 2] if high <= 6 else [Fraction(round(high * 3 / 2)), high * 2]
    if low.denominator == 1 and high.denominator == 1 and kind in (UnitKind.SPOON, UnitKind.CUP, UnitKind.PART):
        if not smaller:
            return [high + 1, high + 2] if high <= 6 else [Fraction(round(high * 3 / 2)), high * 2]
        return [value for value in (low - 1, low - 2) if value >= 1] or [Fraction(1, 2)]
    ladder = _SPOONS if kind is UnitKind.SPOON else _CUPS if kind is UnitKind.CUP else _PARTS
    if smaller:
        return [value for value in reversed(ladder) if value <= low * Fraction(2, 3)][: 2 if low > Fraction(1, 2) else 1] or (
            [low / 2] if low.denominator <= 8 else []
        )
    return [value for value in ladder if value >= high * Fraction(3, 2)][:2] or [high * 2]


def change_amount(amount: Amount, smaller: bool, pick: Callable[[int], int], halvable: bool = False) -> str | None:
    """The amount changed to one clearly outside its range; every part changes by the same ratio. None where none is realistic.

    ``pick(n)`` chooses among n plausible amounts. ``halvable``: one whole thing may be cut to a half.
    """
    first = amount.parts[0]
    plausible = _plausible(first, smaller, halvable)
    if not plausible:
        return None
    value = plausible[pick(len(plausible))]
    base = first.number.low if smaller else first.number.high
    edits = [_part_edits(amount.text, first, value)]
    for part in amount.parts[1:]:
        other = (part.number.low if smaller else part.number.high) * value / base
        kind = part.unit.kind if part.unit else UnitKind.COUNT
        if kind is UnitKind.METRIC or other.denominator > 8:
            other = _round_two_digits(other) or other
        edits.append(_part_edits(amount.text, part, other))
    return apply_edits(amount.text, [edit for group in edits for edit in group])


Edit = tuple[int, int, str]


def _part_edits(text: str, part: Part, value: Fraction) -> list[Edit]:
    style = part.number.style
    if style is Style.WHOLE and value.denominator != 1:
        style = Style.SLASH
    edits: list[Edit] = [(part.number.start, part.number.end, write_number(value, style))]
    if part.unit_span is not None:
        start, end = part.unit_span
        edits.append((start, end, inflect_unit(text[start:end], singular=value <= 1)))
    return edits


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with non-overlapping spans replaced."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


@dataclass(frozen=True)
class Duration:
    """A stated time of ``low_s``..``high_s`` seconds at ``text[start:end]``."""

    low_s: float
    high_s: float
    text: str
    start: int
    end: int


_TIME_WORD = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?)\b\.?|(?:s|h)\b"
_MORE = r"(?:\s+(?:more|additional|extra|another|full|whole))?"
_ARTICLE = r"\b(?:an?|half\s+an?|an?\s+half)(?=\s+(?:more\s+|full\s+|additional\s+)?(?:second|minute|hour))"
_ONE = rf"(?P<number>{_SINGLE}(?:\s*(?:-|–|—|\bto\b|\bor\b)\s*{_SINGLE})?|{_ARTICLE})"
_DURATION = re.compile(rf"(?<![\w.,/⁄]){_ONE}{_MORE}\s*-?\s*(?P<unit>{_TIME_WORD})(?:\s+(?P<after>more|longer)\b)?", re.IGNORECASE)
_CLOCK = re.compile(r"(?<![\d:])(?:(\d{1,2}):)?(\d{1,2}):(\d{2})(?![\d:])")


_SECONDS_PER: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


def _seconds_per(unit: str) -> int:
    found = find_unit(unit)
    assert found is not None, unit
    return _SECONDS_PER[found.name]


def find_durations(text: str) -> list[Duration]:
    """Stated times in order; ``1 minute 20 seconds`` and ``1 hour and 30 minutes`` are one. ``2-3 minutes`` keeps its range."""
    found: list[Duration] = []
    for match in _DURATION.finditer(text):
        unit = _seconds_per(match["unit"].rstrip("."))
        words = re.sub(r"\s+", " ", match["number"].lower())
        if words in ("a", "an"):
            low = high = Fraction(1)
        elif words in ("half a", "half an", "a half", "an half"):
            low = high = Fraction(1, 2)
        else:
            numbers = find_numbers(match["number"])
            if not numbers:
                continue
            low, high = numbers[0].low, numbers[-1].high
        duration = Duration(float(low * unit), float(high * unit), match[0], match.start(), match.end())
        if found and re.fullmatch(r"[\s,]*(?:and\s+)?", text[found[-1].end : duration.start]) and unit < 3600 and found[-1].low_s >= unit:
            before = found.pop()
            joined = text[before.start : duration.end]
            duration = Duration(before.low_s + duration.low_s, before.high_s + duration.high_s, joined, before.start, duration.end)
        found.append(duration)
    return found


def read_duration(text: str) -> Duration | None:
    """The first stated time of a short text, or a clock time ``1:30`` (minutes and seconds)."""
    if durations := find_durations(text):
        return durations[0]
    if match := _CLOCK.search(text):
        seconds = float(int(match[1] or 0) * 3600 + int(match[2]) * 60 + int(match[3]))
        return Duration(seconds, seconds, match[0], match.start(), match.end())
    return None


NICE_SECONDS: Final = (
    *(2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 40, 45, 60, 90, 120, 150),
    *(60 * n for n in (3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20, 25, 30, 35, 40, 45, 50, 60, 75, 90, 120, 150, 180, 240, 300, 360, 480, 720)),
)


def change_duration(duration: Duration, smaller: bool, minimum_change_s: float, pick: Callable[[int], int]) -> str | None:
    """Another time outside the range, at least ``minimum_change_s`` away and clearly different, in the words of the original.

    None where no sensible shorter time is left.
    """
    usual = [
        seconds
        for seconds in NICE_SECONDS
        if (minimum_change_s < 10 or (seconds % 5 == 0 and seconds not in (25, 40))) and (duration.high_s < 90 or seconds != 150)
    ]
    if smaller:
        limit = min(duration.low_s - minimum_change_s, duration.low_s * 0.75)
        nice = [seconds for seconds in reversed(usual) if seconds <= limit and seconds >= duration.low_s * 0.25][:2]
    else:
        limit = max(duration.high_s + minimum_change_s, duration.high_s * 1.25)
        nice = [seconds for seconds in usual if seconds >= limit and seconds <= max(duration.high_s * 2.5, limit * 1.5)][:2]
        nice = nice or [round(limit / 60 + 0.5) * 60]
    return _in_words_of(duration, nice[pick(len(nice))]) if nice else None


def _in_words_of(duration: Duration, seconds: int) -> str:
    middle = re.search(r"\b(more|additional|extra|another|longer)\b", duration.text, re.IGNORECASE)
    word = f"{middle[1].lower()} " if middle and middle[1].lower() not in ("another", "longer") else ""
    short = re.search(r"\b(secs?|mins?|hrs?)\b", duration.text, re.IGNORECASE) is not None
    names = {3600: "hr", 60: "min", 1: "sec"} if short else {3600: "hour", 60: "minute", 1: "second"}
    if (
        re.search(r"second|sec\b|secs\b|\ds\b", duration.text, re.IGNORECASE)
        and not re.search(r"min|hour", duration.text)
        and seconds <= 180
    ):
        return _count(seconds, word, names[1], short)
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    if hours and duration.high_s < 3600 and seconds <= 7200 and minutes:
        hours, minutes = 0, seconds // 60
    if not hours and minutes and rest and minutes < 2:
        return _count(seconds, word, names[1], short)
    named = [(number, names[size]) for number, size in ((hours, 3600), (minutes, 60), (rest, 1)) if number]
    pieces = [_count(number, word if index == 0 else "", name, short) for index, (number, name) in enumerate(named)]
    return " ".join(pieces)


def _count(number: int, word: str, unit: str, short: bool) -> str:
    return f"{number} {word}{unit}{'' if number == 1 or short else 's'}"


def pick_by(*parts: object) -> Callable[[int], int]:
    """A chooser that depends on ``parts`` alone: the same step always gets the same alternative."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return lambda n: int.from_bytes(digest[:8], "big") % n
