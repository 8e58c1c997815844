"""Measurement mistakes: another amount of an ingredient."""

from collections.abc import Mapping
from typing import Final

from ml.counterfactuals.amounts import Amount, read_amount
from ml.counterfactuals.mistake_rules import MistakeRules, Rule, no_bar
from ml.counterfactuals.moments import read_one_moment
from ml.counterfactuals.prompts.measurement import PROMPTS
from ml.counterfactuals.reading import Attributes, Fields, many_attributes
from ml.counterfactuals.said import check_amount_feedback, check_amount_instruction
from ml.vocabulary import Direction, MistakeType

FIELDS: Final = ("ingredient", "quantity")


def read_attributes(reply: str) -> Attributes:
    return many_attributes(reply, "measurements", FIELDS, FIELDS, "the step states no amount of an ingredient")


def check(instruction: str, fields: Fields, direction: Direction, minimum_change_s: float) -> str | None:
    """The new amount must lie outside the whole stated range, on the right side, in the same units."""
    old, new = read_amount(fields["quantity"]), read_amount(fields["counterfactual_quantity"])
    if old is None:
        return f"{fields['quantity']!r} states no number"
    if new is None:
        return f"{fields['counterfactual_quantity']!r} states no number"
    if new.low <= 0:
        return "the new amount is nothing"
    if len(old.parts) == len(new.parts):
        pairs = list(zip(old.parts, new.parts, strict=True))
        if any((a.unit and a.unit.name) != (b.unit and b.unit.name) for a, b in pairs):
            return None if _outside_in_pint(old, new, direction) else f"{new.text!r} cannot be compared with {old.text!r}"
        outside = [b.number.high < a.number.low if direction is Direction.SMALLER else b.number.low > a.number.high for a, b in pairs]
        return None if all(outside) else f"{new.text!r} is not {direction} than {old.text!r}"
    if len(old.parts) > len(new.parts):
        return f"{old.text!r} states two units, {new.text!r} changes only one"
    return None if _outside_in_pint(old, new, direction) else f"{new.text!r} is not {direction} than {old.text!r}"


def _outside_in_pint(old: Amount, new: Amount, direction: Direction) -> bool:
    """Amounts in different units compared through the unit registry: 1 tablespoon is more than 2 teaspoons."""
    import pint

    units = [amount.parts[0].unit for amount in (old, new)]
    if any(unit is None or unit.pint is None for unit in units):
        return False
    registry = pint.get_application_registry()
    (low, high), (new_low, new_high) = (
        (registry.Quantity(float(amount.low), unit.pint), registry.Quantity(float(amount.high), unit.pint))  # type: ignore[union-attr]
        for amount, unit in zip((old, new), units, strict=True)
    )
    if not low.is_compatible_with(new_low):
        return False
    return bool(new_high < low) if direction is Direction.SMALLER else bool(new_low > high)


def offline() -> Mapping[str, Rule]:
    """The rules backend's answers."""
    from ml.counterfactuals.rules import functions, timestamps, wording

    return {
        "extract": functions.extract_measurement,
        "change": functions.change_measurement,
        "instruct": functions.instruct_measurement,
        "feedback": wording.measurement_feedback,
        "timestamp": timestamps.timestamp_measurement,
    }


RULES: Final = MistakeRules(
    mistake_type=MistakeType.MEASUREMENT,
    about="how much or how many of something is used",
    directions=(Direction.SMALLER, Direction.GREATER),
    fields=FIELDS,
    changed="quantity",
    prompts=PROMPTS,
    read_attributes=read_attributes,
    bars=no_bar,
    check=check,
    read_moment=read_one_moment,
    offline=offline,
    check_instruction=check_amount_instruction,
    check_feedback=check_amount_feedback,
    listed="measurements",
)
