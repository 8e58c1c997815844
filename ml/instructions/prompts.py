"""What models are asked: to turn one described step into an instruction, and narrated windows into steps. Wording and reply forms only."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from ml.counterfactuals.prompts.template import fill, fill_hash

PARSER_VERSION: Final = "1"

INSTRUCT_SYSTEM: Final = (
    "You know cooking well and turn notes on what a person did in a video into the instructions that a cooking assistant would have "
    "given before. Answer in exactly the form asked for, without any other words."
)
INSTRUCT: Final = """A note on one stretch of a video says what the person did.

Note: $description
Kind of activity, as the dataset files it: $category
Larger step that it is a part of: $parent
Goal of the whole video: $activity

First decide whether this is a step of cooking: something done to food or drink, or to the vessel, tool or appliance that it is made with. \
Cleaning up, washing hands or dishes, tidying, walking about, using a phone, waiting or talking is none, nor is any other work.
If it is one, write it as a recipe instruction: one short sentence in the imperative, beginning with its verb. Say what the note says, \
completed from the larger step only where the note leaves out what is worked on. Invent no amounts, times, temperatures, tools or \
ingredients.
Answer with a JSON object: {"is_cooking": true or false, "instruction": "<the sentence, or an empty text if it is no cooking>"}"""
INSTRUCT_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"is_cooking": {"type": "boolean"}, "instruction": {"type": "string"}},
    "required": ["is_cooking", "instruction"],
    "additionalProperties": False,
}

PROPOSE_SYSTEM: Final = (
    "You know cooking well and write down the recipe that a person followed, from notes on what their hands did. Answer in exactly the "
    "form asked for, without any other words."
)
PROPOSE: Final = """Below is what a person did in a part of a video, told in overlapping time windows, in seconds of the whole video. \
The part lasts from $start_s s to $end_s s.

$narrations

Write the recipe steps that the person carried out in this part, in the order in which they began. A step is one thing to do that a recipe \
would list, such as cutting one ingredient or adding something to the pan; taking up tools and moments in between belong to the step that \
they serve, and what is no cooking is left out. A step that goes on after an interruption is listed again. Give each step as one short \
sentence in the imperative, with the times at which it began and ended, both within the part and read off the windows. Invent no amounts, \
times, temperatures, tools or ingredients.
Answer with a JSON object: {"steps": [{"start_s": <seconds>, "end_s": <seconds>, "instruction": "<sentence>"}, ...]}, with an empty list \
if there is no cooking."""
PROPOSE_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"start_s": {"type": "number"}, "end_s": {"type": "number"}, "instruction": {"type": "string"}},
                "required": ["start_s", "end_s", "instruction"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["steps"],
    "additionalProperties": False,
}


def instruct_prompt(inputs: Mapping[str, object]) -> str:
    """``inputs``: description, and activity, category and parent where known."""
    return fill(INSTRUCT, inputs)


def propose_prompt(inputs: Mapping[str, object]) -> str:
    """``inputs``: narrations, start_s, end_s."""
    return fill(PROPOSE, inputs)


def _hash(*texts: object) -> str:
    return hashlib.sha256(json.dumps([PARSER_VERSION, fill_hash(), texts], sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:12]


def instruct_hash() -> str:
    """12 hex digits over all that models are asked for one described step."""
    return _hash(INSTRUCT_SYSTEM, INSTRUCT, INSTRUCT_SCHEMA)


def propose_hash() -> str:
    """12 hex digits over all that models are asked for steps of a part."""
    return _hash(PROPOSE_SYSTEM, PROPOSE, PROPOSE_SCHEMA)


def key_of(task: str, inputs: Mapping[str, object] | Sequence[object]) -> str:
    """Identity of a question: equal inputs make equal questions."""
    return hashlib.sha256(json.dumps([task, inputs], sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:24]
