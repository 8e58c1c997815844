"""Writes message timelines as QICD and EGO-MC-Bench publish them: parquet, a row per video, parallel arrays.

QICD: the person errs and goes on; a mistake message stands where it became visible, no success follows. EGO-MC-Bench: the person
is told and puts it right; the success comes after the correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ml.sample_kitchen.plan import Entry
from ml.sample_kitchen.wording import FINISH_ALL, feedback_text, instruction_text, success_text

SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "video_id": pl.String,
    "activity_name": pl.String,
    "output_texts": pl.List(pl.String),
    "output_timestamps": pl.List(pl.Float64),
    "output_types": pl.List(pl.String),
    "output_actions": pl.List(pl.String),
    "remaining_plan": pl.List(pl.List(pl.String)),
}


@dataclass(frozen=True)
class TimelineMessage:
    """One entry of the parallel arrays; `left` is the recipe from the first step that is not done."""

    at_s: float
    type: str
    text: str
    left: tuple[str, ...]


def timeline(entry: Entry) -> tuple[TimelineMessage, ...]:
    """The messages of a recording: each instruction when the step before it ends, the first at the first step's start."""
    recording = entry.recording
    texts = tuple(instruction_text(step.instruction) for step in recording.steps)
    messages = []
    said_s = recording.steps[0].start_s
    for step in recording.steps:
        messages.append(TimelineMessage(said_s, "instruction", texts[step.index], texts[step.index :]))
        if step.mistake:
            kind = f"feedback_action_aligned_mistake_{step.mistake.mistake_type}_error"
            text = feedback_text(step.instruction, step.performed)
            messages.append(TimelineMessage(step.mistake.apparent_s, kind, text, texts[step.index :]))
        if step.success_s is not None:
            text = success_text(step.instruction)
            messages.append(TimelineMessage(step.end_s, "feedback_action_aligned_success", text, texts[step.index + 1 :]))
        said_s = step.end_s
    messages.append(TimelineMessage(said_s, "feedback_finish_all", FINISH_ALL, ()))
    return tuple(messages)


def table(entries: Sequence[Entry]) -> pl.DataFrame:
    """One row per recording."""
    rows = []
    for entry in entries:
        messages = timeline(entry)
        rows.append(
            {
                "video_id": entry.native_id,
                "activity_name": entry.recipe.name,
                "output_texts": [m.text for m in messages],
                "output_timestamps": [m.at_s for m in messages],
                "output_types": [m.type for m in messages],
                "output_actions": [None] * len(messages),
                "remaining_plan": [list(m.left) for m in messages],
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA)


def parquet_name(folder: Path, config: str, split: str) -> Path:
    """`main/train-00000-of-00001.parquet`, as the hub lays out the splits of a configuration."""
    return folder / config / f"{split}-00000-of-00001.parquet"
