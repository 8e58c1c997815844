"""The three questions of the EGO-CoMist study's validity check (arXiv 2606.09547, section 4.3), shared by the model's check and by people.

A pair is invalid when its counterfactual instruction 1. is not semantically different from the action in the clip, 2. is not feasible
with the ingredients at hand, or 3. does not belong to the annotated mistake type.
"""

from collections.abc import Mapping
from typing import Final

from ml.counterfactuals.registry import MISTAKE_RULES
from ml.vocabulary import MistakeType

QUESTIONS: Final = ("different", "feasible", "of_type")
VALID: Final = "valid"
PUBLISHED_VALID_SHARE: Final = 0.871
"""Share of 500 pairs that the study's users found valid."""

MEANING: Final[Mapping[MistakeType, str]] = {kind: rules.about for kind, rules in MISTAKE_RULES.items()}
"""What differs between instruction and action in a mistake of each type."""
