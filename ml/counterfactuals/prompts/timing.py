"""Prompts of timing mistakes."""

from typing import Final

from ml.counterfactuals.prompts.shared import FEEDBACK_FORM, JUST_TEXT, STEP, SYSTEM, TIMELINE
from ml.counterfactuals.prompts.template import Prompts
from ml.vocabulary import Direction

_THINGS: Final = "What is cooked or left: $food_item. Appliance or vessel: $kitchen_item.\n"
_CHANGE: Final = (
    STEP + _THINGS + "It takes this long: $amount_of_time.\n"
    "Name another sensible time for this step that is {0} than $amount_of_time by at least $minimum_change_s seconds, outside the "
    "whole range if one is "
    "stated. Keep the way of writing. Answer with the time alone, or with None if there is none."
)
_CHOICE: Final = (
    "Allowed times, in seconds: $options\n"
    "Answer with a dict {'start_timestamp': <seconds>, 'critical_timestamp': <seconds>}, both among the allowed times, or with None "
    "if you are not sure of "
    "either. No other text."
)
PROMPTS: Final = Prompts(
    system=SYSTEM,
    extract=STEP + "Does the step cook, heat or rest something for a stated time?\n"
    "If so, answer with a dict {'kitchen_item': ..., 'amount_of_time': ..., 'food_item': ...}, word for word from the step and None "
    "for what it does not name. "
    "If not, answer None.",
    change={Direction.SMALLER: _CHANGE.format("shorter"), Direction.GREATER: _CHANGE.format("longer")},
    instruct=STEP
    + _THINGS
    + "Rewrite the step so that this takes $counterfactual_amount_of_time instead of $amount_of_time. Change nothing else. "
    + JUST_TEXT,
    feedback={
        Direction.SMALLER: _THINGS
        + "The instruction asks to do this for $counterfactual_amount_of_time, but the person goes on for longer.\n"
        + FEEDBACK_FORM,
        Direction.GREATER: _THINGS + "The instruction asks to do this for $counterfactual_amount_of_time, but the person stops after only "
        "$amount_of_time: not long enough.\n" + FEEDBACK_FORM,
    },
    timestamp={
        Direction.SMALLER: TIMELINE
        + _THINGS
        + "The instruction asks to do this for $counterfactual_amount_of_time. The person goes on for "
        "$amount_of_time. First find the time at which the cooking starts (start_timestamp). Then find the first time that lies at least "
        "$counterfactual_amount_of_time after it while the cooking still goes on (critical_timestamp): there it is clear that the person "
        "cooks too long.\n" + _CHOICE,
        Direction.GREATER: TIMELINE
        + _THINGS
        + "The instruction asks to do this for $counterfactual_amount_of_time. The person stops after "
        "$amount_of_time. First find the time at which the cooking starts (start_timestamp). Then find the time at which the person ends "
        "the cooking (critical_timestamp), about $amount_of_time after the start: there it is clear that it was too short.\n" + _CHOICE,
    },
)
