"""The truth log of planned recordings as tables, keyed by source folder and native id. Computing truth belongs to `truth`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from ml.sample_kitchen.plan import Entry
from ml.sample_kitchen.truth import counterfactuals, window_narration
from ml.sample_kitchen.wording import feedback_text, instruction_text
from ml.sample_kitchen.world import MISTAKE_TYPE

WINDOW_S = 10.0
STRIDE_S = 5.0

_KEY = {"source": pl.String, "native_id": pl.String}
_STEP = _KEY | {"step_index": pl.Int64}
SCHEMAS: dict[str, dict[str, type[pl.DataType]]] = {
    "recordings": _KEY
    | {
        "part": pl.String,
        "split": pl.String,
        "behaviour": pl.String,
        "activity": pl.String,
        "view": pl.String,
        "rate": pl.String,
        "video": pl.String,
        "duration_s": pl.Float64,
        "seed": pl.Int64,
    },
    "actions": _STEP
    | {"name": pl.String, "item": pl.String, "value": pl.String, "start_s": pl.Float64, "end_s": pl.Float64, "moment_s": pl.Float64},
    "steps": _STEP
    | {
        "kind": pl.String,
        "attribute_type": pl.String,
        "instruction": pl.String,
        "item": pl.String,
        "value": pl.String,
        "performed_value": pl.String,
        "start_s": pl.Float64,
        "end_s": pl.Float64,
        "success_s": pl.Float64,
        "mistake_type": pl.String,
        "apparent_s": pl.Float64,
        "feedback": pl.String,
        "corrected_s": pl.Float64,
    },
    "counterfactuals": _STEP
    | {
        "instruction": pl.String,
        "counterfactual_instruction": pl.String,
        "mistake_type": pl.String,
        "direction": pl.String,
        "value": pl.String,
        "counterfactual_value": pl.String,
        "apparent_s": pl.Float64,
        "reason": pl.String,
        "feedback": pl.String,
    },
    "narrations": _KEY
    | {
        "start_s": pl.Float64,
        "end_s": pl.Float64,
        "text": pl.String,
        "main_verb": pl.String,
        "main_object": pl.String,
        "main_attribute": pl.String,
    },
}


def truth_tables(entries: Sequence[Entry]) -> dict[str, pl.DataFrame]:
    """All truth tables by name. Counterfactuals are given for both directions of every step, not one drawn from them."""
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in SCHEMAS}
    for entry in entries:
        key = (str(entry.source), entry.native_id)
        recording = entry.recording
        rows["recordings"].append(
            (
                *key,
                entry.part,
                str(entry.split),
                str(entry.behaviour),
                entry.recipe.name,
                str(recording.look.view),
                f"{entry.rate.numerator}/{entry.rate.denominator}",
                f"{entry.source}/{entry.video}",
                recording.duration_s,
                entry.seed,
            )
        )
        for step in recording.steps:
            text = instruction_text(step.instruction)
            for action in step.actions:
                rows["actions"].append(
                    (*key, step.index, str(action.name), action.item, str(action.value), action.start_s, action.end_s, action.moment_s)
                )
            mistake = step.mistake
            rows["steps"].append(
                (
                    *key,
                    step.index,
                    str(step.instruction.kind),
                    str(MISTAKE_TYPE[step.instruction.kind]),
                    text,
                    step.instruction.item,
                    str(step.instruction.value),
                    str(step.performed.value),
                    step.start_s,
                    step.end_s,
                    step.success_s,
                    str(mistake.mistake_type) if mistake else None,
                    mistake.apparent_s if mistake else None,
                    feedback_text(step.instruction, step.performed) if mistake else None,
                    mistake.corrected_s if mistake else None,
                )
            )
            for changed in counterfactuals(step):
                rows["counterfactuals"].append(
                    (
                        *key,
                        step.index,
                        text,
                        instruction_text(changed.instruction),
                        str(changed.mistake_type),
                        str(changed.direction),
                        str(step.instruction.value),
                        str(changed.instruction.value),
                        changed.apparent_s,
                        changed.reason or None,
                        changed.feedback,
                    )
                )
        for start_s, end_s in narration_windows(recording.duration_s):
            told = window_narration(recording, start_s, end_s)
            main = told.main
            attribute = None if main is None or main.attribute is None else str(main.attribute)
            rows["narrations"].append(
                (*key, start_s, end_s, told.text, main.verb if main else None, main.object if main else None, attribute)
            )
    return {name: pl.DataFrame(found, schema=SCHEMAS[name], orient="row") for name, found in rows.items()}


def narration_windows(duration_s: float) -> list[tuple[float, float]]:
    """Ten seconds every five, the last one reaching the end."""
    count = max(1, math.ceil((duration_s - WINDOW_S) / STRIDE_S) + 1)
    return [(STRIDE_S * i, min(STRIDE_S * i + WINDOW_S, duration_s)) for i in range(count)]
