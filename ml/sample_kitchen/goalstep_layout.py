"""Writes Ego4D Goal-Step's annotation files for planned recordings (format of goalstep_valid.json, 231129)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ml.sample_kitchen.captaincook4d_layout import WriteText
from ml.sample_kitchen.hands import Act, Action
from ml.sample_kitchen.plan import Entry, video_uid
from ml.sample_kitchen.script import Step
from ml.sample_kitchen.wording import goalstep_text, unit_phrase
from ml.sample_kitchen.world import Kind

_FILES = {"train": "goalstep_train.json", "val": "goalstep_valid.json"}


def write_annotations(folder: Path, entries: Sequence[Entry], write: WriteText) -> None:
    """goalstep_train.json, goalstep_valid.json and the map of grouped videos."""
    for part, name in _FILES.items():
        content = {
            "version": "1.0",
            "date": "231129",
            "description": f"Ego4D Goal-Step ({part}), sample kitchen",
            "split": part,
            "videos": [_video(entry) for entry in entries if entry.part == part],
        }
        write(folder / name, json.dumps(content, indent=1))
    lines = ["university\tvideo_group"]
    for entry in entries:
        if entry.native_id.startswith("grp-"):
            uids = [entry.native_id.removeprefix("grp-"), video_uid(entry.seed, "second video of the group")]
            lines.append(f"kitchen\t{uids!r}")
    write(folder / "goalstep_video_groups.tsv", "\n".join(lines) + "\n")


def _video(entry: Entry) -> dict[str, Any]:
    recording = entry.recording
    segments = [segment for step in recording.steps for segment in _segments(step)]
    return {
        "video_uid": entry.native_id,
        "start_time": 0.021,
        "end_time": recording.duration_s,
        "goal_category": f"COOKING:MAKE_{entry.recipe.name.split()[-1].upper() if entry.recipe.name[-1].isalpha() else 'DISH'}",
        "goal_description": f"Makes the {entry.recipe.name.lower()}",
        "goal_wikihow_url": "",
        "summary": [goalstep_text(step.instruction) for step in recording.steps],
        "is_procedural": True,
        "segments": segments,
    }


def _segment(
    text: str, category: str, start_s: float, end_s: float, relevant: str = "essential", continued: bool = False
) -> dict[str, Any]:
    return {
        "start_time": start_s,
        "end_time": end_s,
        "step_category": category,
        "step_description": text,
        "is_continued": continued,
        "is_procedural": relevant == "essential",
        "is_relevant": relevant,
        "summary": [],
    }


def _category(kind: Kind, text: str) -> str:
    return (
        f"General cooking activity: {text[0].upper()}{text[1:]}" if kind is not Kind.COOK else f"Make recipes: {text[0].upper()}{text[1:]}"
    )


def _segments(step: Step) -> list[dict[str, Any]]:
    """The step; in two parts when the work was interrupted; side work as an irrelevant segment of its own."""
    text = goalstep_text(step.instruction)
    category = _category(step.instruction.kind, text)
    made = []
    for action in step.actions:
        if action.name in (Act.WIPE, Act.CUP):
            aside = "wipe the counter" if action.name is Act.WIPE else "lift a cup"
            made.append(_segment(aside, "General activity: Other", action.start_s, action.end_s, "irrelevant") | {"segments": []})
    hold = next((a for a in step.actions if a.name is Act.HOLD), None)
    spans = [(step.start_s, step.end_s)] if hold is None else [(step.start_s, hold.start_s), (hold.end_s, step.end_s)]
    for number, (start_s, end_s) in enumerate(spans):
        parts = [_substep(a, step) for a in step.actions if start_s <= a.start_s < end_s and a.name in _SUBSTEPS]
        made.append(_segment(text, category, start_s, end_s, continued=number > 0) | {"segments": parts})
    return sorted(made, key=lambda segment: segment["start_time"])


_SUBSTEPS = {
    Act.SCOOP: "add {unit} of {item}",
    Act.PLACE: "put {unit} of {item} on the plate",
    Act.AWAY: "put the {item} away",
    Act.PUT_ON: "put the {item} on the burner",
    Act.TAKE_OFF: "take the {item} off the burner",
}


def _substep(action: Action, step: Step) -> dict[str, Any]:
    text = _SUBSTEPS[action.name].format(unit=unit_phrase(step.instruction), item=step.instruction.item)
    return _segment(text, _category(step.instruction.kind, text), action.start_s, action.end_s)
