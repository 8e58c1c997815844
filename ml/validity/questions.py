"""The three questions of the EGO-CoMist study's validity check (arXiv 2606.09547, section 4.3), shared by the model's check and by people.

A pair is invalid when its counterfactual instruction 1. is not semantically different from the action in the clip, 2. is not feasible
with the ingredients at hand, or 3. does not belong to the annotated mistake type.
"""

from collections.abc import Mapping
from typing import Final

from ml.vocabulary import MistakeType

QUESTIONS: Final = ("different", "feasible", "of_type")
VALID: Final = "valid"
PUBLISHED_VALID_SHARE: Final = 0.871
"""Share of 500 pairs that the study's users found valid."""

MEANING: Final[Mapping[MistakeType, str]] = {
    MistakeType.MEASUREMENT: "how much or how many of something is used",
    MistakeType.PREPARATION: "how something is got ready: cut, mixed, greased, cleaned, or with what utensil or ingredient",
    MistakeType.TECHNIQUE: "the way in which the cooking action itself is done",
    MistakeType.TEMPERATURE: "a heat or temperature setting",
    MistakeType.TIMING: "how long something is cooked or left",
}
"""What differs between instruction and action in a mistake of each type."""
