"""Preparation mistakes: the thing is got ready by another method, with another utensil or ingredient."""

from collections.abc import Mapping
from typing import Final

from ml.counterfactuals.mistake_rules import MistakeRules, Rule, no_bar
from ml.counterfactuals.moments import read_one_moment
from ml.counterfactuals.prompts.preparation import PROMPTS
from ml.counterfactuals.reading import Attributes, Fields, one_attribute
from ml.counterfactuals.ways import check_way, check_way_feedback, check_way_instruction
from ml.vocabulary import Direction, MistakeType

FIELDS: Final = ("method", "object", "method_duration")
PROPOSED: Final = ("counterfactual_method", "counterfactual_method_duration")


def read_attributes(reply: str) -> Attributes:
    """The five fields of one dict; without an alternative the attribute stays, and its counterfactual has a reason."""
    return one_attribute(reply, ("method",), (*FIELDS, *PROPOSED), "the step has no preparation method")


def check(instruction: str, fields: Fields, direction: Direction, minimum_change_s: float) -> str | None:
    return check_way(instruction, fields["method"], fields["counterfactual_method"])


def check_instruction(instruction: str, fields: Fields, changed: str) -> str | None:
    return check_way_instruction(instruction, fields["method"], fields["counterfactual_method"], changed)


def check_feedback(instruction: str, fields: Fields, feedback: str) -> str | None:
    return check_way_feedback(instruction, fields["method"], fields["counterfactual_method"], feedback)


def offline() -> Mapping[str, Rule]:
    """The rules backend's answers."""
    from ml.counterfactuals.rules import functions, timestamps, wording

    return {
        "extract": functions.extract_preparation,
        "instruct": functions.instruct_preparation,
        "feedback": wording.preparation_feedback,
        "timestamp": timestamps.timestamp_way,
    }


RULES: Final = MistakeRules(
    mistake_type=MistakeType.PREPARATION,
    about="how something is got ready: cut, mixed, greased, cleaned, or with what utensil or ingredient",
    directions=(Direction.ALTERNATIVE,),
    fields=FIELDS,
    changed="method",
    prompts=PROMPTS,
    read_attributes=read_attributes,
    bars=no_bar,
    check=check,
    read_moment=read_one_moment,
    offline=offline,
    check_instruction=check_instruction,
    check_feedback=check_feedback,
    proposed=PROPOSED,
)
