"""Preparation mistakes: the thing is got ready by another method, with another utensil or ingredient."""

from typing import Final

from ml.counterfactuals.mistake_rules import MistakeRules, no_bar
from ml.counterfactuals.moments import read_one_moment
from ml.counterfactuals.prompts.preparation import PROMPTS
from ml.counterfactuals.reading import Attributes, Fields, one_attribute
from ml.counterfactuals.ways import check_way
from ml.vocabulary import Direction, MistakeType

FIELDS: Final = ("method", "object", "method_duration")
PROPOSED: Final = ("counterfactual_method", "counterfactual_method_duration")


def read_attributes(reply: str) -> Attributes:
    """The five fields of one dict; without an alternative the attribute stays, and its counterfactual has a reason."""
    return one_attribute(reply, ("method",), (*FIELDS, *PROPOSED), "the step has no preparation method")


def check(instruction: str, fields: Fields, direction: Direction, minimum_change_s: float) -> str | None:
    return check_way(fields["method"], fields["counterfactual_method"])


RULES: Final = MistakeRules(
    MistakeType.PREPARATION, FIELDS, "method", PROMPTS, read_attributes, no_bar, check, read_one_moment, proposed=PROPOSED
)
