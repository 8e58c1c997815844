"""Prompts of measurement mistakes."""

from typing import Final

from ml.counterfactuals.prompts.shared import CHOICE, FEEDBACK_FORM, JUST_TEXT, STEP, SYSTEM, TIMELINE
from ml.counterfactuals.prompts.template import Prompts
from ml.vocabulary import Direction

_CHANGE: Final = (
    STEP + "The step uses this quantity: $quantity. The ingredient is: $ingredient.\n"
    "Name another sensible quantity for this step that is clearly {0} than $quantity. Keep the way of writing and the units; if the "
    "quantity "
    "is a range, stay outside the whole range; if it is given in two units, change both alike. Answer with the quantity alone, or "
    "with None "
    "if no sensible {0} quantity exists."
)
PROMPTS: Final = Prompts(
    system=SYSTEM,
    extract=STEP
    + "Does the step ask for measured or counted amounts of ingredients (spoons, cups, weights, volumes, numbers of pieces)? Only "
    "amounts that the "
    "text states in numbers count. Durations, temperatures, sizes of cuts and of vessels, and 'to taste' do not.\n"
    "If so, answer with a dict {'measurements': [{'ingredient': ..., 'quantity': ...}, ...]}, quantities word for word. If not, "
    "answer None.",
    change={Direction.SMALLER: _CHANGE.format("smaller"), Direction.GREATER: _CHANGE.format("greater")},
    instruct=STEP
    + "Rewrite the step so that it asks for $counterfactual_quantity of $ingredient instead of $quantity, and change nothing else. "
    + JUST_TEXT,
    feedback={
        Direction.SMALLER: "The instruction asks for $counterfactual_quantity of $ingredient, but the person uses more: $quantity.\n"
        + FEEDBACK_FORM,
        Direction.GREATER: "The instruction asks for $counterfactual_quantity of $ingredient, but the person uses less: $quantity.\n"
        + FEEDBACK_FORM,
    },
    timestamp={
        Direction.SMALLER: TIMELINE
        + "The instruction asks for $counterfactual_quantity of $ingredient. The person goes on to $quantity. Find the time at which "
        "it becomes clear that "
        "the person takes more than $counterfactual_quantity: when the first portion beyond it is being added.\n" + CHOICE,
        Direction.GREATER: TIMELINE
        + "The instruction asks for $counterfactual_quantity of $ingredient. The person uses only $quantity. Find the time at which "
        "it becomes clear that "
        "the person will not add any more: the ingredient is put away, closed, or the person goes on to something else for good. Do "
        "not answer earlier, "
        "while more could still follow.\n" + CHOICE,
    },
)
