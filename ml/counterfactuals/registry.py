"""The mistake types that there are, prompts rendered by name, schemas of replies."""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from typing import Final

from ml.counterfactuals.mistake_rules import MistakeRules, Rule
from ml.counterfactuals.prompts.template import fill
from ml.errors import InputError
from ml.vocabulary import Direction, MistakeType

MISTAKE_RULES: Final[Mapping[MistakeType, MistakeRules]] = {
    mistake_type: import_module(f"ml.counterfactuals.types.{mistake_type}").RULES for mistake_type in MistakeType
}
DIRECTIONS: Final[Mapping[MistakeType, tuple[Direction, ...]]] = {kind: rules.directions for kind, rules in MISTAKE_RULES.items()}
PARSER_VERSION: Final = "2"


class Stage(StrEnum):
    """Questions of the two stages. ``<stage>.<mistake type>`` is the task name."""

    EXTRACT = "extract"
    CHANGE = "change"
    INSTRUCT = "instruct"
    FEEDBACK = "feedback"
    TIMESTAMP = "timestamp"


def task_name(stage: Stage, mistake_type: MistakeType) -> str:
    return f"{stage}.{mistake_type}"


@lru_cache
def offline_rules() -> Mapping[str, Rule]:
    """The rules backend's answers of every mistake type by task name."""
    return {f"{stage}.{kind}": rule for kind, rules in MISTAKE_RULES.items() for stage, rule in rules.offline().items()}


def render_prompt(stage: Stage | str, mistake_type: MistakeType | str, inputs: Mapping[str, object]) -> tuple[str, str]:
    """System text and prompt of one question. ``inputs`` are the fields and, for stage 2, narrations, options and clip times.

    Raises ``InputError`` for an unknown stage or type, or a direction that the type does not have.
    """
    try:
        stage, mistake_type = Stage(stage), MistakeType(mistake_type)
    except ValueError as error:
        raise InputError(str(error), remedy=f"Stages: {', '.join(Stage)}. Types: {', '.join(MistakeType)}") from error
    prompts = MISTAKE_RULES[mistake_type].prompts
    if stage is Stage.EXTRACT:
        return prompts.system, fill(prompts.extract, inputs)
    if stage is Stage.INSTRUCT:
        return prompts.system, fill(prompts.instruct, inputs)
    by_direction = {Stage.CHANGE: prompts.change, Stage.FEEDBACK: prompts.feedback, Stage.TIMESTAMP: prompts.timestamp}[stage]
    if not by_direction:
        raise InputError(f"{mistake_type} has no {stage} prompt: its extraction proposes the change", field="stage", remedy="Use extract")
    direction = inputs.get("direction", next(iter(by_direction)) if len(by_direction) == 1 else None)
    if direction not in by_direction:
        raise InputError(
            f"{direction!r} is no direction of {mistake_type}", field="direction", remedy=f"Use one of {', '.join(by_direction)}"
        )
    return prompts.system, fill(by_direction[Direction(str(direction))], inputs)


def reply_schema(stage: Stage, mistake_type: MistakeType) -> dict[str, object] | None:
    """JSON schema of a reply; None for free text. What a prompt calls None is a null in every field, or an empty list."""
    rules = MISTAKE_RULES[mistake_type]
    if stage is Stage.TIMESTAMP:
        return _object(dict.fromkeys(rules.moments, _or_null("number")))
    if stage is not Stage.EXTRACT:
        return None
    fields = _object(dict.fromkeys((*rules.fields, *rules.proposed), _or_null("string")))
    return fields if rules.listed is None else _object({rules.listed: {"type": "array", "items": fields}})


def _or_null(kind: str) -> dict[str, object]:
    return {"anyOf": [{"type": kind}, {"type": "null"}]}


def _object(properties: dict[str, dict[str, object]]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
