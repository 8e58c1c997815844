"""The LLM stages of the graph, listed once: whatever works on "each stage" or on "a stage by name" goes through here.

A further stage is one entry here, one section in ``ml.setting_sections.models`` and one asset. What a stage asks and how it
reads the replies is in the stage's own room.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import polars as pl

from ml.counterfactuals.prompt_hashes import rules_hash, stage_hash
from ml.errors import InputError
from ml.instructions.prompts import instruct_hash, propose_hash
from ml.llm.stage import Asks, Inputs, LLMStage, Rules
from ml.setting_sections.sources import source_of
from ml.validity.prompts import prompt_hash as validity_prompt_hash
from ml.vocabulary import MistakeType


def _attributes(inputs: Inputs, client: Asks) -> pl.DataFrame:
    """Only the mistake types that a recording's source is detailed enough for are asked about."""
    from ml.counterfactuals.stages import extract_attributes

    about = inputs["steps"].group_by("recording_id", maintain_order=True).agg(pl.col("is_proposed").any())
    by_types: dict[tuple[MistakeType, ...], list[str]] = {}
    for recording_id, is_proposed in about.iter_rows():
        types = inputs.settings.mistake_types(source_of(recording_id), is_proposed=is_proposed)
        by_types.setdefault(types, []).append(recording_id)
    made = [extract_attributes(inputs["steps"].filter(pl.col("recording_id").is_in(ids)), client, types) for types, ids in by_types.items()]
    return pl.concat(made) if made else extract_attributes(inputs["steps"], client)


def _instructions(inputs: Inputs, client: Asks) -> pl.DataFrame:
    from ml.instructions.described import instruct_descriptions

    return instruct_descriptions(inputs["imported_steps"], inputs["imported_recordings"], client)


def _proposed_steps(inputs: Inputs, client: Asks) -> pl.DataFrame:
    """Recordings without a recipe, of raw videos and of sources that only narrate, where the settings want it."""
    from ml.instructions.proposing import propose_steps

    known = inputs["imported_steps"]["recording_id"].unique().to_list()
    waiting = inputs["recordings"].filter(~pl.col("recording_id").is_in(known))
    sources = [source for source in waiting["source"].unique().to_list() if inputs.settings.proposes_steps(source)]
    return propose_steps(waiting.filter(pl.col("source").is_in(sources)), inputs["narrations"], client)


def _instruction_rules() -> Rules:
    from ml.instructions.rules import RULES

    return RULES


def _instruction_rules_hash() -> str:
    from ml.instructions.rules import source_hash

    return source_hash()


def _counterfactuals(inputs: Inputs, client: Asks) -> pl.DataFrame:
    from ml.counterfactuals.stages import make_counterfactuals

    attributes = inputs["attributes"]
    by_minimum: dict[float, list[str]] = {}
    for recording_id in attributes["recording_id"].unique().sort():
        by_minimum.setdefault(inputs.settings.minimum_timing_change_s(source_of(recording_id)), []).append(recording_id)
    made = [
        make_counterfactuals(attributes.filter(pl.col("recording_id").is_in(ids)), client, minimum_timing_change_s=minimum_s)
        for minimum_s, ids in by_minimum.items()
    ]
    return pl.concat(made) if made else make_counterfactuals(attributes, client)


def _feedback_timestamps(inputs: Inputs, client: Asks) -> pl.DataFrame:
    from ml.counterfactuals.stages import infer_feedback_timestamps

    return infer_feedback_timestamps(inputs["counterfactuals"], inputs["steps"], inputs["narrations"], client)


def _counterfactual_rules() -> Rules:
    from ml.counterfactuals.registry import offline_rules

    return offline_rules()


def _validity_check(inputs: Inputs, client: Asks) -> pl.DataFrame:
    from ml.validity.check import check_pairs

    return check_pairs(inputs["counterfactuals"], inputs["feedback_timestamps"], inputs["narrations"], client)


def _validity_rules() -> Rules:
    from ml.validity.rules import rules

    return rules()


def _validity_rules_hash() -> str:
    from ml.validity.rules import rules_hash

    return rules_hash()


def _of_counterfactuals(name: str, about: str, reads: tuple[str, ...], make: Callable[[Inputs, Asks], pl.DataFrame]) -> LLMStage:
    return LLMStage(name, about, reads, make, partial(stage_hash, name), _counterfactual_rules, rules_hash)


LLM_STAGES: Final[Mapping[str, LLMStage]] = {
    stage.name: stage
    for stage in (
        LLMStage(
            "instructions",
            "descriptions filtered to cooking and turned into instructions",
            ("imported_recordings", "imported_steps"),
            _instructions,
            instruct_hash,
            _instruction_rules,
            _instruction_rules_hash,
        ),
        LLMStage(
            "proposed_steps",
            "steps of recordings without a recipe, from their narrations",
            ("recordings", "imported_steps", "narrations"),
            _proposed_steps,
            propose_hash,
            _instruction_rules,
            _instruction_rules_hash,
        ),
        _of_counterfactuals("attributes", "what each step says about the mistake types", ("steps",), _attributes),
        _of_counterfactuals("counterfactuals", "changed attribute, instruction and feedback", ("attributes",), _counterfactuals),
        _of_counterfactuals(
            "feedback_timestamps", "when the feedback is due", ("counterfactuals", "steps", "narrations"), _feedback_timestamps
        ),
        LLMStage(
            "validity_check",
            "whether pairs are different, feasible and of their type",
            ("counterfactuals", "feedback_timestamps", "narrations"),
            _validity_check,
            validity_prompt_hash,
            _validity_rules,
            _validity_rules_hash,
        ),
    )
}


def llm_stage(name: str) -> LLMStage:
    """A stage by name. Raises ``InputError`` that names the stages that there are."""
    if name not in LLM_STAGES:
        raise InputError(f"no LLM stage {name!r}", field="stage", remedy=f"Stages: {', '.join(LLM_STAGES)}")
    return LLM_STAGES[name]
