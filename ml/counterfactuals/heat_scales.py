"""Which heat settings can be compared, and how far apart two are. Reading a setting is in ``heat``."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from ml.counterfactuals.heat import Heat, HeatKind, Reading

# The top and the bottom of a dial have several names: "high", "full" and "maximum" are one setting to an onlooker.
_DIAL: Final = (1, 5)
# Degrees are compared in °F: the same oven heat written in the other unit and rounded differs by up to 8 °F (400 °F is sold as 200 °C).
LEAST_GAP: Final[Mapping[HeatKind, float]] = {
    HeatKind.LEVEL: 1,
    HeatKind.DEGREES: 10,
    HeatKind.PERCENT: 10,
    HeatKind.SETTING: 1,
    HeatKind.STATE: 1,
}


def scale_of(heat: Heat) -> tuple[HeatKind, bool]:
    """Settings of one scale can be compared: gas marks with gas marks, levels with levels, degrees with degrees."""
    return heat.kind, heat.kind is HeatKind.SETTING and "gas" in heat.text.lower()


def gaps_between(old: Heat, new: Heat, *, is_lower: bool) -> list[float]:
    """How far the new setting lies outside the old one's range on the asked side, in each unit; negative on the wrong side.

    Levels and states in places of a dial of 5, degrees in °F, percent and dial numbers as they are.
    """
    if not old.readings or not new.readings:
        before, after = (min(max(heat.rank, _DIAL[0]), _DIAL[1]) if heat.kind is HeatKind.LEVEL else heat.rank for heat in (old, new))
        return [before - after if is_lower else after - before]
    pairs = [(reading, _counterpart(reading, index, new)) for index, reading in enumerate(old.readings)]
    return [_gap(a, b, old.kind, is_lower=is_lower) for a, b in pairs]


def _counterpart(reading: Reading, index: int, new: Heat) -> Reading:
    """The reading of the new setting in the same unit, else the one in the same place."""
    same = [other for other in new.readings if other.unit == reading.unit]
    return same[0] if len(same) == 1 else new.readings[min(index, len(new.readings) - 1)]


def _gap(old: Reading, new: Reading, kind: HeatKind, *, is_lower: bool) -> float:
    if kind is not HeatKind.DEGREES:
        return float(old.number.low - new.number.high if is_lower else new.number.low - old.number.high)
    unit = old.unit or new.unit or "F"
    low, high = (_fahrenheit(value, unit) for value in (old.number.low, old.number.high))
    new_low, new_high = (_fahrenheit(value, new.unit or unit) for value in (new.number.low, new.number.high))
    return low - new_high if is_lower else new_low - high


def _fahrenheit(value: Fraction, unit: str) -> float:
    return float(value * Fraction(9, 5) + 32 if unit == "C" else value)
