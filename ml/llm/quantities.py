"""Numbers, durations and moments in plain English text, read strictly. Recipe units belong to the stages."""

import re
from dataclasses import dataclass

_FRACTIONS = {"½": 1 / 2, "¼": 1 / 4, "¾": 3 / 4, "⅓": 1 / 3, "⅔": 2 / 3, "⅕": 1 / 5, "⅖": 2 / 5, "⅗": 3 / 5, "⅘": 4 / 5, "⅙": 1 / 6}
_FRACTIONS |= {"⅚": 5 / 6, "⅛": 1 / 8, "⅜": 3 / 8, "⅝": 5 / 8, "⅞": 7 / 8}
_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_WORDS |= {"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45, "fifty": 50, "sixty": 60, "ninety": 90}
_ODD = "".join(_FRACTIONS)
_DIGITS = rf"(?:\d+\s?[{_ODD}]|[{_ODD}]|\d+[ -]\d+\s?[/⁄]\s?\d+|\d+\s?[/⁄]\s?\d+|\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_SPOKEN = rf"(?:{_WORD})\b(?:\s+and\s+a\s+half\b)?"
_NUMBER = re.compile(rf"(?<![\w.,/])([-+−]?{_DIGITS})(?![\w/]|[.,]\d)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_MORE = r"(?:(?:more|additional|further|extra|full)\s+)?"
_NAMES = r"(?:hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])"
_UNIT = rf"{_MORE}(?P<{{0}}>{_NAMES})\.?"
_PART = rf"(?:(?:half\s+an?|an?(?:\s+half)?|{_DIGITS}|{_SPOKEN})\s*-?\s*{_MORE}{_NAMES}\.?)"
_HALF = r"(?:\s+and\s+a\s+half\b)?"
_CLOCK = r"(?:\d{1,3}:[0-5]\d:[0-5]\d(?:\.\d+)?|\d{1,3}:[0-5]\d(?:\.\d+)?)"
_DASH = r"(?:\s*(?:-|–|—|~)\s*|\s+(?:to|or)\s+|(?(between)\s+and\s+|(?!)))"
_SHARED = rf"(?P<between>between\s+)?(?P<low>{_DIGITS}|{_SPOKEN}){_DASH}(?P<high>{_DIGITS}|{_SPOKEN})\s*-?\s*{_UNIT.format('shared')}"
_COMPOUND = rf"{_PART}{_HALF}(?:(?:\s*,?\s*and\s+|\s*,\s*|\s*){_PART}){{0,2}}"
_TOKEN = re.compile(rf"(?<![\w.,:/])(?:{_SHARED}|(?P<clock>{_CLOCK})(?![\w:])|(?P<compound>{_COMPOUND}))", re.IGNORECASE)
_ONE = re.compile(rf"(half\s+an?|an?\s+half|an?|{_DIGITS}|{_SPOKEN})\s*-?\s*{_UNIT.format('unit')}({_HALF})", re.IGNORECASE)
_LIST = re.compile(rf"(?<![\w.,:/]){_DIGITS}\s+and\s+\Z", re.IGNORECASE)
_JOIN = re.compile(r"\s*(?:-|–|—|~|to|or)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Duration:
    """A stated duration in seconds; ``low_s`` equals ``high_s`` unless a range was stated."""

    low_s: float
    high_s: float


@dataclass(frozen=True)
class Stated:
    """A time with a unit or in clock form, where it stands in the text."""

    duration: Duration
    start: int
    end: int


def read_figure(text: str) -> float | None:
    """One number in digits, as a fraction (``1/2``, ``2½``, ``1 1/2``) or in words; None where it is not exactly that."""
    text = text.strip().lower().replace("−", "-").replace("⁄", "/")
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("+-").strip()
    if text in _WORDS:
        return sign * _WORDS[text]
    if match := re.fullmatch(rf"({_WORD})\s+and\s+a\s+half", text):
        return sign * (_WORDS[match.group(1)] + 0.5)
    if text and text[-1] in _FRACTIONS:
        whole = text[:-1].strip()
        return sign * ((float(whole) if whole else 0.0) + _FRACTIONS[text[-1]]) if not whole or whole.isdigit() else None
    if match := re.fullmatch(r"(?:(\d+)[ -])?(\d+)\s?/\s?(\d+)", text):
        whole, top, bottom = match.groups()
        return sign * (float(whole or 0) + int(top) / int(bottom)) if int(bottom) else None
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    try:
        return sign * float(text) if re.fullmatch(r"\d+(?:\.\d+)?|\.\d+", text) else None
    except ValueError:
        return None


def find_figures(text: str) -> list[float]:
    """All numbers in digits or as fractions, in order. A number that is part of a word, a clock time or a version is none."""
    values = [read_figure(match.group(1)) for match in _NUMBER.finditer(re.sub(_CLOCK, " : ", text))]
    return [value for value in values if value is not None]


def find_durations(text: str) -> list[Stated]:
    """All stated durations and clock times in order; ``2-3 minutes`` and ``90 s to 2 min`` are ranges, ``1 min 30 s`` is one."""
    found: list[Stated] = []
    for match in _TOKEN.finditer(text):
        if _LIST.search(text, 0, match.start()):  # "2 and 3 minutes" is neither a range nor one duration
            continue
        if match.group("shared"):
            scale = _SECONDS[match.group("shared")[0].lower()]
            low, high = read_figure(match.group("low")), read_figure(match.group("high"))
            if low is None or high is None or low > high:
                continue
            stated = Duration(low * scale, high * scale)
        elif match.group("clock"):
            seconds = clock_seconds(match.group("clock"))
            stated = Duration(seconds, seconds)
        else:
            total = _compound_seconds(match.group("compound"))
            if total is None:
                continue
            stated = Duration(total, total)
        token = Stated(stated, match.start(), match.end())
        if found and _JOIN.fullmatch(text[found[-1].end : token.start]) and found[-1].duration.low_s < stated.high_s:
            previous = found.pop()
            token = Stated(Duration(previous.duration.low_s, stated.high_s), previous.start, token.end)
        found.append(token)
    return found


def clock_seconds(text: str) -> float:
    """Seconds of ``m:ss``, ``mm:ss.f`` or ``h:mm:ss``."""
    seconds = 0.0
    for part in text.split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def _compound_seconds(text: str) -> float | None:
    """Seconds of ``1 minute 30 seconds``, ``half an hour``, ``an hour and a half``; None where units repeat or grow."""
    total, last = 0.0, float("inf")
    for match in _ONE.finditer(text):
        scale = _SECONDS[match.group("unit")[0].lower()]
        said = " ".join(match.group(1).lower().split())
        figure = 0.5 if "half" in said and "and" not in said else 1.0 if said in ("a", "an") else read_figure(said)
        if figure is None or scale >= last:
            return None
        total += (figure + (0.5 if match.group(3) else 0.0)) * scale
        last = scale
    return total if last < float("inf") else None
