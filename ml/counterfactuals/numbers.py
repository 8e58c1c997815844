"""Numbers and ranges in recipe text: reading them, and writing them back in the style of the original."""

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

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
_DOZENS = r"(?:half\s+a|an?|one|two|three|four|five|six)\s+dozen"
SINGLE = (
    rf"(?:\b{_DOZENS}\b|\d+\s?[{_VULGAR_CLASS}]|[{_VULGAR_CLASS}]|\d+(?:\s+|-|\s+and\s+)\d+\s?[/⁄]\s?\d+|\d+\s?[/⁄]\s?\d+|\d+(?:[.,]\d+)?"
    rf"|\b{_WORD}(?:\s+and\s+(?:a|one)\s+(?:half|quarter))?\b)"
)
_NUMBER = re.compile(
    rf"(?<![\w.,])(?<!\d[/⁄])(?P<low>{SINGLE})(?:(?P<join>\s*(?:-|–|—|\bto\b|\bor\b)\s*)(?P<high>{SINGLE}))?(?![/⁄]\d)",
    re.IGNORECASE,
)


def _read_single(text: str) -> tuple[Fraction, Style] | None:
    text = text.strip().lower().replace("⁄", "/")
    if text in WORDS:
        return WORDS[text], Style.WORD
    if re.fullmatch(_DOZENS, text):
        many = text.split()[0]
        return 12 * WORDS.get(many, Fraction(1)), Style.WORD
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
