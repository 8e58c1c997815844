"""Technique mistakes: the thing is worked on in another way."""

from collections.abc import Mapping
from typing import Final

from ml.counterfactuals.mistake_rules import MistakeRules, Rule, no_bar
from ml.counterfactuals.moments import read_one_moment
from ml.counterfactuals.prompts.technique import PROMPTS
from ml.counterfactuals.reading import Attributes, Fields, one_attribute
from ml.counterfactuals.ways import check_way, check_way_feedback, check_way_instruction
from ml.vocabulary import Direction, MistakeType

FIELDS: Final = ("technique", "item")


def read_attributes(reply: str) -> Attributes:
    return one_attribute(reply, ("technique",), FIELDS, "the step uses no cooking technique")


def check(instruction: str, fields: Fields, direction: Direction, minimum_change_s: float) -> str | None:
    return check_way(instruction, fields["technique"], fields["counterfactual_technique"])


def check_instruction(instruction: str, fields: Fields, changed: str) -> str | None:
    return check_way_instruction(instruction, fields["technique"], fields["counterfactual_technique"], changed)


def check_feedback(instruction: str, fields: Fields, feedback: str) -> str | None:
    return check_way_feedback(instruction, fields["technique"], fields["counterfactual_technique"], feedback)


def offline() -> Mapping[str, Rule]:
    """The rules backend's answers."""
    from ml.counterfactuals.rules import functions, timestamps, wording

    return {
        "extract": functions.extract_technique,
        "change": functions.change_technique,
        "instruct": functions.instruct_technique,
        "feedback": wording.technique_feedback,
        "timestamp": timestamps.timestamp_way,
    }


RULES: Final = MistakeRules(
    mistake_type=MistakeType.TECHNIQUE,
    about="the way in which the cooking action itself is done",
    directions=(Direction.ALTERNATIVE,),
    fields=FIELDS,
    changed="technique",
    prompts=PROMPTS,
    read_attributes=read_attributes,
    bars=no_bar,
    check=check,
    read_moment=read_one_moment,
    offline=offline,
    check_instruction=check_instruction,
    check_feedback=check_feedback,
)
