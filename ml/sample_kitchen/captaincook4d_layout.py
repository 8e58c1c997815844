"""Writes CaptainCook4D's annotation files for planned recordings. Videos are written elsewhere.

The files look like the published ones (annotations at a8a920a), their habits included: verbs before step texts, `-1.0` for what
was not done, errors in error_annotations.json only, ids as strings.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from ml.sample_kitchen.plan import Entry
from ml.sample_kitchen.script import Recipe, Step
from ml.sample_kitchen.wording import feedback_text, instruction_text, verb
from ml.sample_kitchen.world import Behaviour, Instruction
from ml.vocabulary import MistakeType

TAGS: Final[dict[str, int]] = {
    "Preparation Error": 0,
    "Measurement Error": 1,
    "Order Error": 2,
    "Timing Error": 3,
    "Technique Error": 4,
    "Temperature Error": 5,
    "Missing Step": 6,
    "Other": 7,
}
SKIPPED: Final = "Skipped this step"
OPTIONAL: Final = "Wipe-Wipe the counter if needed"
NOT_DONE: Final = -1.0

WriteText = Callable[[Path, str], None]


def step_text(instruction: Instruction) -> str:
    """`Add-Add 3 scoops of cocoa to the bowl.`"""
    return f"{verb(instruction)}-{instruction_text(instruction)}"


def tag_of(mistake_type: MistakeType) -> str:
    return f"{mistake_type.value.capitalize()} Error"


def write_annotations(folder: Path, entries: Sequence[Entry], write: WriteText) -> None:
    """All annotation files of `entries` under `folder`, each through `write(path, text)`."""
    ids = _step_ids(entries)
    rows = {entry.native_id: _rows(entry, ids) for entry in entries}
    complete: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    errors: list[dict[str, Any]] = []
    for entry in entries:
        steps = [_complete_step(row) for row in rows[entry.native_id]]
        plain[entry.native_id] = {"recording_id": entry.native_id, "steps": steps}
        complete[entry.native_id] = {
            "recording_id": entry.native_id,
            "activity_id": entry.activity_id,
            "activity_name": entry.recipe.name,
            "person_id": person(entry),
            "environment": environment(entry),
            "steps": steps,
        }
        errors.append(
            {
                "recording_id": entry.native_id,
                "activity_id": entry.activity_id,
                "is_error": any("errors" in row for row in rows[entry.native_id]),
                "step_annotations": rows[entry.native_id],
            }
        )
    by_activity: dict[str, list[int]] = {}
    for entry in entries:
        # The published file concatenates over recordings; it is no list of unique steps.
        by_activity.setdefault(str(entry.activity_id), []).extend(row["step_id"] for row in rows[entry.native_id])
    files = {
        "complete_step_annotations": complete,
        "step_annotations": plain,
        "error_annotations": errors,
        "step_idx_description": {str(step_id): text for text, step_id in ids.items()},
        "activity_idx_step_idx": by_activity,
        "error_category_idx": TAGS,
        "recording_id_step_idx": {native_id: [row["step_id"] for row in found] for native_id, found in rows.items()},
    }
    for name, content in files.items():
        write(folder / "annotation_json" / f"{name}.json", json.dumps(content, indent=4))
    for recipe in dict.fromkeys(entry.recipe for entry in entries):
        write(folder / "task_graphs" / f"{recipe.name.lower().replace(' ', '')}.json", json.dumps(task_graph(recipe)))
    _write_splits(folder / "data_splits", entries, write)
    write(folder / "metadata" / "video_information.csv", _video_information(entries))


def _step_ids(entries: Sequence[Entry]) -> dict[str, int]:
    """Step texts and their ids; steps are shared between recipes."""
    texts = dict.fromkeys(step_text(instruction) for entry in entries for instruction in entry.recipe.instructions)
    texts[OPTIONAL] = None
    return {text: number for number, text in enumerate(texts, start=1)}


def _rows(entry: Entry, ids: dict[str, int]) -> list[dict[str, Any]]:
    """Rows of error_annotations.json: the performed steps, then what was not done."""
    recording = entry.recording
    rows = [_row(step, step_text(step.instruction), ids) for step in recording.steps]
    if entry.swapped is not None:
        for row, index in zip(rows, entry.order, strict=True):
            if index in (entry.swapped, entry.swapped + 1):
                row.setdefault("errors", []).append({"tag": "Order Error", "description": "Done in the wrong order"})
    if entry.omitted is not None:
        text = step_text(entry.recipe.instructions[entry.omitted])
        rows.append(
            {
                "description": text,
                "step_id": ids[text],
                "errors": [{"tag": "Missing Step", "description": SKIPPED}],
                "start_time": NOT_DONE,
                "end_time": NOT_DONE,
                "modified_description": SKIPPED,
            }
        )
    if entry.behaviour is Behaviour.CLEAN and entry.seed % 10 == 0:
        # An optional step that was left out: no times and no error, first in the list as in some published recordings.
        rows.insert(0, {"description": OPTIONAL, "step_id": ids[OPTIONAL], "start_time": NOT_DONE, "end_time": NOT_DONE})
    return [{key: row[key] for key in _KEYS if key in row} for row in rows]


_KEYS = ("description", "step_id", "errors", "start_time", "end_time", "modified_description")


def _row(step: Step, text: str, ids: dict[str, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"description": text, "step_id": ids[text], "start_time": step.start_s, "end_time": step.end_s}
    if step.mistake:
        description = feedback_text(step.instruction, step.performed)
        row["errors"] = [{"tag": tag_of(step.mistake.mistake_type), "description": description}]
        row["modified_description"] = step_text(step.performed)
    elif step.index == 0 and int(step.phase * 1000) % 20 == 0:
        # Published rows exist whose changed text equals the original and that carry no error.
        row["modified_description"] = text
    return row


def _complete_step(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "step_id": row["step_id"],
        "start_time": row["start_time"],
        "end_time": row["end_time"],
        "description": row["description"],
        "has_errors": "errors" in row,
    }


def person(entry: Entry) -> int:
    """1..8."""
    return 1 + entry.seed % 8


def environment(entry: Entry) -> int:
    """1..10, the kitchen's class and view."""
    return 1 + entry.recipe.kitchen * 2 + (entry.seed // 8) % 2


def task_graph(recipe: Recipe) -> dict[str, Any]:
    """The recipe as a chain. Node ids are local to the recipe; edge [a, b]: a before b."""
    count = len(recipe.instructions)
    steps = {"0": "START"} | {str(i): step_text(instruction) for i, instruction in enumerate(recipe.instructions, start=1)}
    return {"steps": steps | {str(count + 1): "END"}, "edges": [[i, i + 1] for i in range(count + 1)]}


def _write_splits(folder: Path, entries: Sequence[Entry], write: WriteText) -> None:
    parts = ("train", "val", "test")
    combined = {part: [e.native_id for e in entries if e.part == part] for part in parts}
    normal = {part: [e.native_id for e in entries if e.part == part and e.behaviour is Behaviour.CLEAN] for part in parts}
    for name, split in (("combined", combined), ("normal", normal)):
        write(folder / f"recordings_data_split_{name}.json", json.dumps(split))
        # The published recipe splits are empty.
        write(folder / f"recipes_data_split_{name}.json", json.dumps({part: [] for part in parts}))


def _video_information(entries: Sequence[Entry]) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["recording_id", "environment_id", "person_id", "duration(min)", "duration(sec)"])
    for entry in entries:
        seconds = entry.recording.duration_s
        table.writerow([entry.native_id, environment(entry), person(entry), round(seconds / 60, 2), round(seconds, 2)])
    return out.getvalue()
