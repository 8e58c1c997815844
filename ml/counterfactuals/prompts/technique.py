"""Prompts of technique mistakes."""

from typing import Final

from ml.counterfactuals.prompts.shared import CHOICE, FEEDBACK_FORM, JUST_TEXT, STEP, SYSTEM, TIMELINE
from ml.counterfactuals.prompts.template import Prompts
from ml.vocabulary import Direction

PROMPTS: Final = Prompts(
    system=SYSTEM,
    extract=STEP
    + "Which cooking technique does the step use, and on what? Techniques are for example rolling, patting, squeezing, measuring, "
    "adding, transferring, "
    "chopping, cutting, peeling, spiralizing, flipping, stirring, whisking, beating.\n"
    "Answer with a dict {'technique': ..., 'item': ...}, word for word from the step, or with None if it uses no cooking technique.",
    change={
        Direction.ALTERNATIVE: STEP
        + "The step uses this technique: $technique, on: $item. Name another technique that would be realistic for this step, looks "
        "different when watched and "
        "is not another word for the same thing. Answer with the technique alone, or with None if there is none."
    },
    instruct=STEP
    + "Rewrite the step so that it uses this technique instead of '$technique': $counterfactual_technique. Change nothing else. "
    + JUST_TEXT,
    feedback={
        Direction.ALTERNATIVE: "The instruction asks for this technique on $item: $counterfactual_technique. The person uses this "
        "one: $technique.\n" + FEEDBACK_FORM
    },
    timestamp={
        Direction.ALTERNATIVE: TIMELINE
        + "The instruction asks for this technique on $item: $counterfactual_technique. The person uses the wrong one: $technique. "
        "Find the time at which the "
        "person starts to use the wrong technique and plainly does not mean to use the right one.\n" + CHOICE
    },
)
