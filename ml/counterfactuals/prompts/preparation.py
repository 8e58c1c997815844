"""Prompts of preparation mistakes. One question extracts the method and proposes the other one."""

from typing import Final

from ml.counterfactuals.prompts.shared import CHOICE, FEEDBACK_FORM, JUST_TEXT, STEP, SYSTEM, TIMELINE
from ml.counterfactuals.prompts.template import Prompts
from ml.vocabulary import Direction

PROMPTS: Final = Prompts(
    system=SYSTEM,
    extract=STEP
    + "Find the preparation method of the step and the food or utensil that it is applied to, and think of another method that a "
    "cook might be told to use "
    "there: another way to blend, whisk, mix or beat, other utensils or ingredients for the same purpose, another way to handle a "
    "liquid, another "
    "way to cut. It must look different when watched and must not be another word for the same thing.\n"
    "Answer with a dict {'method': ..., 'object': ..., 'counterfactual_method': ..., 'method_duration': ..., "
    "'counterfactual_method_duration': ...}. "
    "Keep the methods very short. The two durations are for methods that heat for a stated time, else None. If the step has no "
    "preparation method, answer None.",
    change={},
    instruct=STEP + "Rewrite the step so that $object is prepared this way instead of '$method': $counterfactual_method (for: "
    "$counterfactual_method_duration). "
    "Keep the style and everything else. " + JUST_TEXT,
    feedback={
        Direction.ALTERNATIVE: "The instruction asks for this preparation of $object: $counterfactual_method. The person does this "
        "instead: $method.\n" + FEEDBACK_FORM
    },
    timestamp={
        Direction.ALTERNATIVE: TIMELINE
        + "The instruction asks for: $counterfactual_method. The person prepares $object in the wrong way: $method. Find the time at "
        "which the person starts "
        "to do it the wrong way. Fetching things or using the same utensil for something else is not yet a mistake.\n" + CHOICE
    },
)
