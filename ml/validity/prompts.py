"""Prompt of the independent check. It does not say that the pair was made by a model, nor what an earlier stage thought of it."""

import hashlib
import json
from typing import Final

from ml.counterfactuals.prompts.template import fill_hash
from ml.validity.questions import MEANING

READER_VERSION: Final = "1"
NO_ACCOUNT: Final = "(nothing is told of this clip)"
SYSTEM: Final = (
    "You review examples for a cooking assistant, one at a time, as a careful and sceptical editor. Judge only what you are shown. Answer "
    "in exactly the form asked for."
)
PROMPT: Final = (
    "A person was filmed while doing this recipe step:\n$instruction\n\n"
    "What the person does, told in overlapping time windows, in seconds:\n$narrations\n\n"
    "The example pretends that the person had been given this instruction instead:\n$counterfactual_instruction\n\n"
    "It calls the person's action a $mistake_type mistake, and the assistant says:\n$feedback\n\n"
    "Answer three questions, each by itself:\n"
    "different: Would a cook who follows the instruction do something that visibly differs from what the person does? False for other "
    "words that mean the same, for an equal amount in another unit, and for a change that nobody could see in the result or on the way.\n"
    "feasible: Could the instruction be followed in this kitchen, with the food and the tools that the step and the account mention or "
    "that every kitchen has? False if it contradicts itself, makes no sense, or needs something that is evidently not there.\n"
    "of_type: Is the difference one of $mistake_type, that is, of $meaning?\n\n"
    'Answer with a JSON object: {"different": true or false, "feasible": true or false, "of_type": true or false, "why": "one short '
    'sentence on whatever is false, else an empty text"}. Use null for a question that cannot be told from what is given.'
)
_VERDICT: Final = {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {"different": _VERDICT, "feasible": _VERDICT, "of_type": _VERDICT, "why": {"type": "string"}},
    "required": ["different", "feasible", "of_type", "why"],
    "additionalProperties": False,
}


def prompt_hash() -> str:
    """12 hex digits over prompt, all that is filled into it by name, schema and reader: part of the asset's code version."""
    texts = [READER_VERSION, SYSTEM, PROMPT, SCHEMA, NO_ACCOUNT, MEANING, fill_hash()]
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()[:12]
