"""Amounts written in words set into digits, so that the readers of amounts, times and settings find them. Reading is theirs."""

import re
from fractions import Fraction
from typing import Final

from ml.counterfactuals.lexicon.units import SIZE_WORDS, UNITS
from ml.counterfactuals.numbers import VULGAR, WORDS

_TENS: Final = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_SMALL: Final = {word: int(value) for word, value in WORDS.items() if value.denominator == 1 and 0 < value < 20 and word != "dozen"}
_ONES: Final = "|".join(word for word, value in _SMALL.items() if value < 10)
_BELOW_HUNDRED: Final = rf"(?:(?:{'|'.join(_TENS)})(?:[\s-]+(?:{_ONES}))?|{'|'.join(sorted(_SMALL, key=len, reverse=True))})"
_SPELLED: Final = re.compile(
    rf"\b(?:(?P<hundreds>{_ONES}|a)\s+hundred(?:\s+(?:and\s+)?(?P<rest>{_BELOW_HUNDRED}))?|(?P<tens>{'|'.join(_TENS)})(?:[\s-]+(?P<ones>{_ONES}))?)\b",
    re.IGNORECASE,
)
_PARTS: Final = {"half": "1/2", "halves": "1/2", "quarter": "1/4", "quarters": "1/4", "third": "1/3", "thirds": "1/3"}
_PART: Final = r"(half|quarters?|thirds?)"
_UNIT: Final = "|".join(
    sorted({re.escape(word) for word in UNITS if word.isalpha() and len(word) > 1 and word != "in"}, key=len, reverse=True)
)
_SIZE: Final = "|".join(sorted(SIZE_WORDS, key=len, reverse=True))
_OF: Final = r"(?:\s+of)?(?:\s+(?:an?|the))?(?=\s)"
_MARKS: Final = "".join(VULGAR)


def _below_hundred(text: str) -> int:
    return sum(_TENS.get(word) or _SMALL.get(word) or 0 for word in re.split(r"[\s-]+", text.lower()))


def _spelled(match: re.Match[str]) -> str:
    if match["hundreds"]:
        return str(100 * (_SMALL.get(match["hundreds"].lower()) or 1) + _below_hundred(match["rest"] or ""))
    return str(_below_hundred(match["tens"]) + _below_hundred(match["ones"] or ""))


def _several_parts(match: re.Match[str]) -> str:
    return str(_SMALL.get(match[1].lower(), 1) * Fraction(_PARTS[match[2].lower()]))


def _and_a_half(match: re.Match[str]) -> str:
    return f"{_SMALL.get(match[1].lower(), match[1])} 1/2"


def in_digits(text: str) -> str:
    """``text`` with spelled amounts in digits: ``half a cup`` is ``1/2 cup``, ``a minute and a half`` ``1 1/2 minute``.

    Made for comparing, not for showing; places in the text move.
    """
    text = _SPELLED.sub(_spelled, text)
    text = re.sub(rf"\b(?:an?|one|1)\s+({_UNIT})\s+or\s+(?:two|2)\b", r"1-2 \1s", text, flags=re.IGNORECASE)
    text = re.sub(r"\bbetween\s+(\d+)\s*(?:°\s*[FC]?)?\s*and\s+(\d+)", r"\1-\2", text)
    text = re.sub(r"\b(?:an?\s+)?half-(?=hour|minute)", "1/2 ", text, flags=re.IGNORECASE)
    text = re.sub(r"\bhalf\s+an?\s+dozen\b", "6", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(?:an?\s+)?(?:couple|pair)(?:\s+of)?(?=\s)", "2", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(?:an?\s+)?dozen\b", "12", text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(?:an?|one|1)\s+({_UNIT})\s+and\s+a\s+half\b", r"1 1/2 \1", text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(\d+|{'|'.join(_SMALL)})\s+and\s+an?\s+half\b", _and_a_half, text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(one|two|three)[\s-]+{_PART}{_OF}", _several_parts, text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(?:an?\s+)?{_PART}{_OF}", lambda match: _PARTS[match[1].lower()], text, flags=re.IGNORECASE)
    text = re.sub(rf"([\d{_MARKS}])\s+of\s+an?\s+(?={_UNIT})", r"\1 ", text, flags=re.IGNORECASE)
    return re.sub(rf"\b(?:an?|a single|single)\s+(?=(?:(?:{_SIZE})\s+)*(?:{_UNIT})\b)", "1 ", text, flags=re.IGNORECASE)
