"""Technique mistakes: the thing is worked on in another way."""

from typing import Final

from ml.counterfactuals.mistake_rules import MistakeRules, no_bar
from ml.counterfactuals.moments import read_one_moment
from ml.counterfactuals.prompts.technique import PROMPTS
from ml.counterfactuals.reading import Attributes, Fields, one_attribute
from ml.counterfactuals.ways import check_way
from ml.vocabulary import Direction, MistakeType

FIELDS: Final = ("technique", "item")


def read_attributes(reply: str) -> Attributes:
    return one_attribute(reply, ("technique",), FIELDS, "the step uses no cooking technique")


def check(instruction: str, fields: Fields, direction: Direction, minimum_change_s: float) -> str | None:
    return check_way(fields["technique"], fields["counterfactual_technique"])


RULES: Final = MistakeRules(MistakeType.TECHNIQUE, FIELDS, "technique", PROMPTS, read_attributes, no_bar, check, read_one_moment)
