"""Temperature mistakes: a lower or higher heat setting, or another thermal state."""

from collections.abc import Mapping
from typing import Final

from ml.counterfactuals.heat import Heat, HeatKind, read_heat
from ml.counterfactuals.mistake_rules import MistakeRules, Rule, no_bar
from ml.counterfactuals.moments import read_one_moment
from ml.counterfactuals.prompts.temperature import PROMPTS
from ml.counterfactuals.reading import Attributes, Fields, one_attribute
from ml.vocabulary import Direction, MistakeType

FIELDS: Final = ("kitchen_item", "heat_setting", "food_item")


def read_attributes(reply: str) -> Attributes:
    return one_attribute(reply, ("heat_setting",), FIELDS, "the step names no heat setting")


def check(instruction: str, fields: Fields, direction: Direction, minimum_change_s: float) -> str | None:
    """The new setting must be lower or higher as asked; of two units both must change."""
    old, new = read_heat(fields["heat_setting"]), read_heat(fields["counterfactual_heat_setting"])
    if fields["heat_setting"].lower() == fields["counterfactual_heat_setting"].lower():
        return "the setting is unchanged"
    if old is None or new is None or HeatKind.TURN in (old.kind, new.kind) or old.kind is not new.kind:
        return None  # settings of unlike kinds ("high" and "180 °C") have no common scale
    wanted = new.rank < old.rank if direction is Direction.LOWER else new.rank > old.rank
    if not wanted:
        return f"{new.text!r} is not {direction} than {old.text!r}"
    if len(old.readings) > 1:
        return _both_changed(old, new, direction)
    return None


def _both_changed(old: Heat, new: Heat, direction: Direction) -> str | None:
    if len(old.readings) != len(new.readings):
        return f"{old.text!r} states two units, {new.text!r} does not"
    for before, after in zip(old.readings, new.readings, strict=True):
        outside = after.number.high < before.number.low if direction is Direction.LOWER else after.number.low > before.number.high
        if not outside:
            return f"{new.text!r} leaves a unit of {old.text!r} inside its range"
    return None


def offline() -> Mapping[str, Rule]:
    """The rules backend's answers."""
    from ml.counterfactuals.rules import functions, timestamps, wording

    return {
        "extract": functions.extract_temperature,
        "change": functions.change_temperature,
        "instruct": functions.instruct_temperature,
        "feedback": wording.temperature_feedback,
        "timestamp": timestamps.timestamp_temperature,
    }


RULES: Final = MistakeRules(
    mistake_type=MistakeType.TEMPERATURE,
    about="a heat or temperature setting",
    directions=(Direction.LOWER, Direction.HIGHER),
    fields=FIELDS,
    changed="heat_setting",
    prompts=PROMPTS,
    read_attributes=read_attributes,
    bars=no_bar,
    check=check,
    read_moment=read_one_moment,
    offline=offline,
)
