"""Prompts of temperature mistakes."""

from typing import Final

from ml.counterfactuals.prompts.shared import CHOICE, FEEDBACK_FORM, JUST_TEXT, STEP, SYSTEM, TIMELINE
from ml.counterfactuals.prompts.template import Prompts
from ml.vocabulary import Direction

_THINGS: Final = "What is heated: $food_item. Appliance or vessel: $kitchen_item.\n"
_CHANGE: Final = (
    STEP + _THINGS + "Its heat setting: $heat_setting.\n"
    "Name another sensible setting for this step that is {0} than $heat_setting. Keep the way of writing; stay outside a stated "
    "range; change both units alike if there are two. Answer with the setting alone, or with None if there is none."
)
_FEEDBACK: Final = (
    _THINGS
    + "The instruction asks for this heat setting: $counterfactual_heat_setting. The person uses a {0} one: $heat_setting.\n"
    + FEEDBACK_FORM
)
_TIMESTAMP: Final = (
    TIMELINE
    + _THINGS
    + "The instruction asks for the heat setting $counterfactual_heat_setting. The person uses a wrong one: $heat_setting. "
    "Find the earliest time at which this is clear, usually when the person starts the appliance or sets its heat.\n" + CHOICE
)
PROMPTS: Final = Prompts(
    system=SYSTEM,
    extract=STEP
    + "Does the step name a temperature, a heat setting of an appliance or burner, or a thermal state of something (hot, cold)?\n"
    "If so, answer with a dict {'kitchen_item': ..., 'heat_setting': ..., 'food_item': ...}, word for word from the step and None "
    "for what it does not name. "
    "If not, answer None.",
    change={Direction.LOWER: _CHANGE.format("lower"), Direction.HIGHER: _CHANGE.format("higher")},
    instruct=STEP
    + _THINGS
    + "Rewrite the step so that it asks for the heat setting $counterfactual_heat_setting there instead of $heat_setting, in every unit in "
    "which the step gives it. Change nothing else. " + JUST_TEXT,
    feedback={Direction.LOWER: _FEEDBACK.format("higher"), Direction.HIGHER: _FEEDBACK.format("lower")},
    timestamp={Direction.LOWER: _TIMESTAMP, Direction.HIGHER: _TIMESTAMP},
)
