"""Temperature mistakes: a lower or higher heat setting, or another thermal state."""

from collections.abc import Mapping
from typing import Final

from ml.counterfactuals.heat import HeatKind, Turn, read_heat, turns
from ml.counterfactuals.heat_scales import LEAST_GAP, gaps_between, scale_of
from ml.counterfactuals.mistake_rules import MistakeRules, Rule, no_bar
from ml.counterfactuals.moments import read_one_moment
from ml.counterfactuals.prompts.temperature import PROMPTS
from ml.counterfactuals.reading import Attributes, Fields, one_attribute
from ml.counterfactuals.said import check_setting_feedback, check_setting_instruction
from ml.vocabulary import Direction, MistakeType

FIELDS: Final = ("kitchen_item", "heat_setting", "food_item")


def read_attributes(reply: str) -> Attributes:
    return one_attribute(reply, ("heat_setting",), FIELDS, "the step names no heat setting")


def check(instruction: str, fields: Fields, direction: Direction, minimum_change_s: float) -> str | None:
    """The new setting must be of the same kind, lower or higher as asked, by a difference that can be seen; of two units both change."""
    used, asked = fields["heat_setting"], fields["counterfactual_heat_setting"]
    old, new = read_heat(used), read_heat(asked)
    if " ".join(used.lower().split()) == " ".join(asked.lower().split()):
        return "the setting is unchanged"
    if old is None or new is None:
        return f"{used if old is None else asked!r} is no heat setting that can be read"
    if scale_of(old) != scale_of(new):
        return f"{asked!r} cannot be compared with {used!r}"
    if old.kind is HeatKind.TURN:
        wanted = Turn.DOWN if direction is Direction.LOWER else Turn.UP
        return None if set(turns(new.text)) == {wanted} != set(turns(old.text)) else f"{asked!r} is not {direction} than {used!r}"
    if len(old.readings) > len(new.readings):
        return f"{used!r} states two units, {asked!r} does not"
    gaps = gaps_between(old, new, is_lower=direction is Direction.LOWER)
    if min(gaps) <= 0:
        return f"{asked!r} is not {direction} than {used!r}"
    least = LEAST_GAP[old.kind]
    return f"{asked!r} differs too little from {used!r} to be seen" if min(gaps) < least else None


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
    check_instruction=check_setting_instruction,
    check_feedback=check_setting_feedback,
)
