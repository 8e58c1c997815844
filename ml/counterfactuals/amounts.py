"""Amounts in recipe text: a number with its unit, or the same in several units; reading and changing them.

Stated times live in ``durations``, heat settings in ``heat``. Which amounts of a step are meant is decided elsewhere.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from ml.counterfactuals.editing import Edit, apply_edits
from ml.counterfactuals.lexicon.units import SIZE_WORDS, Unit, UnitKind, find_unit, inflect_unit
from ml.counterfactuals.numbers import Number, Style, find_numbers, write_number


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


# "1 (14-ounce) can": how large one is, no second way of saying how much.
SIZE_IN_BRACKETS: Final = re.compile(r"\s*\(\s*(?:about\s+)?\d[^()]*\)(?=\s*[A-Za-z])")


def read_part(text: str, number: Number) -> Part:
    """The part that begins with ``number``: the unit right after it, if any."""
    sized = SIZE_IN_BRACKETS.match(text, number.end)
    match = _UNIT_AFTER.match(text, number.end if sized is None else sized.end())
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
        if part.start < kept[-1].end or (kept[-1].unit is None and SIZE_IN_BRACKETS.match(text, kept[-1].end)):
            continue
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


def _part_edits(text: str, part: Part, value: Fraction) -> list[Edit]:
    style = part.number.style
    if style is Style.WHOLE and value.denominator != 1:
        style = Style.SLASH
    edits: list[Edit] = [(part.number.start, part.number.end, write_number(value, style))]
    if part.unit_span is not None:
        start, end = part.unit_span
        edits.append((start, end, inflect_unit(text[start:end], singular=value <= 1)))
    return edits
