"""Sentences that the prompts of several mistake types share."""

from typing import Final

SYSTEM: Final = (
    "You know cooking well and help to build training data for a cooking assistant. Answer in exactly the form asked "
    "for, without any other words."
)
STEP: Final = "Recipe step: $instruction\n\n"
JUST_TEXT: Final = "Answer with that text alone, on one line."
FEEDBACK_FORM: Final = (
    "Write what an assistant would say to the person at that moment: one short line in the second person that names what is wrong "
    "and what the instruction asks for. " + JUST_TEXT
)
TIMELINE: Final = (
    "You gave a person this instruction: $counterfactual_instruction\n\n"
    "Below is what the person did, told in overlapping time windows on one time line, in seconds. The clip lasts from $clip_start_s "
    "s to $clip_end_s s.\n\n"
    "$narrations\n\n"
)
CHOICE: Final = (
    "Allowed times, in seconds: $options\n"
    "Answer with one of them as a dict {'timestamp': <seconds>}, or with None if the mistake never becomes visible. No other text."
)
