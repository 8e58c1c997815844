"""Stated times in recipe text: reading them, and changing them in the words of the original."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from ml.counterfactuals.lexicon.units import find_unit
from ml.counterfactuals.numbers import SINGLE, find_numbers


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
_ONE = rf"(?P<number>{SINGLE}(?:\s*(?:-|–|—|\bto\b|\bor\b)\s*{SINGLE})?|{_ARTICLE})"
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
    return next(iter(find_durations(text) or find_clock_times(text)), None)


def find_clock_times(text: str) -> list[Duration]:
    """Times as a timer shows them, in order: ``1:30`` is 90 s, ``1:00:00`` an hour."""
    found = []
    for match in _CLOCK.finditer(text):
        seconds = float(int(match[1] or 0) * 3600 + int(match[2]) * 60 + int(match[3]))
        found.append(Duration(seconds, seconds, match[0], match.start(), match.end()))
    return found


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
