"""Writes a GuideMe benchmark in the published subset's layout from recordings in which the person errs, is told, and puts it right.

Whole seconds, one JSON list, a user's request first. Every turn names its category, which the published subset does not. The videos are
those of the recordings that are there already.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from ml.sample_kitchen.plan import Entry
from ml.sample_kitchen.script import Recording, Step
from ml.sample_kitchen.wording import FINISH_ALL, feedback_text, instruction_text, success_text
from ml.sample_kitchen.world import Kind

FOLDER: Final = "guideme"
FILE: Final = "annotation_test.json"
VIDEOS: Final = 12
CORRECTION_AFTER_S: Final = 2

WriteText = Callable[[Path, str], None]
Turn = tuple[int, str, str]  # second, category, text


def write_guideme(folder: Path, entries: Sequence[Entry], write: WriteText) -> None:
    """The annotation file of the first ``VIDEOS`` of ``entries``."""
    items = [item(entry) for entry in entries[:VIDEOS]]
    write(folder / FILE, json.dumps(items, indent=1, ensure_ascii=False))


def item(entry: Entry) -> dict[str, Any]:
    """One item of the list."""
    recording = entry.recording
    asked = f"I am making {entry.recipe.name}. Tell me what to do, step by step."
    conversations: list[dict[str, Any]] = [{"from": "user", "value": asked, "timestamp": 0}]
    conversations += [
        {"from": "assistant", "value": text, "timestamp": second, "category": category} for second, category, text in answers(recording)
    ]
    knowledge = "\n".join(f"{number}. {instruction_text(step.instruction)}" for number, step in enumerate(recording.steps, start=1))
    return {
        "videos": [Path(entry.video).name],
        "video_id": entry.native_id,
        "type": "sample_kitchen",
        "conversations": conversations,
        "inferred_goal": f"Make {entry.recipe.name}",
        "inferred_knowledge": knowledge,
    }


def answers(recording: Recording) -> list[Turn]:
    """What the assistant says: the next instruction (with praise for the step before), the error, what to do instead."""
    turns: list[Turn] = []
    praise = ""
    second = max(1, int(recording.steps[0].start_s))
    for step in recording.steps:
        turns.append((second, "instruction", f"{praise}{_next(step, is_first=not turns)}"))
        if step.mistake is not None:
            noticed = int(step.mistake.apparent_s)
            wrong, _, remedy = _told(step)
            turns.append((noticed, "error", wrong))
            turns.append((noticed + CORRECTION_AFTER_S, "correction", remedy))
        praise = f"{success_text(step.instruction)} " if step.success_s is not None else ""
        second = int(step.end_s) + 1
    turns.append((second, "instruction", f"{praise}{FINISH_ALL}"))
    return _one_a_second(turns)


def _next(step: Step, is_first: bool) -> str:
    text = instruction_text(step.instruction)
    return text if is_first else f"Now {text[0].lower()}{text[1:]}"


def _told(step: Step) -> tuple[str, str, str]:
    """The feedback in its two halves: what is wrong, and what to do."""
    text = feedback_text(step.instruction, step.performed)
    wrong, comma, remedy = text.partition(", ")
    if step.instruction.kind in (Kind.SCOOP, Kind.PLACE) and int(step.performed.value) > int(step.instruction.value):
        remedy = f"take out what is too much and {remedy}"
    return f"{wrong}.", comma, f"{remedy[0].upper()}{remedy[1:]}"


def _one_a_second(turns: Sequence[Turn]) -> list[Turn]:
    """In order, each at a second of its own: one that falls on another waits a second."""
    spread: list[Turn] = []
    last = -1
    for second, category, text in turns:
        last = max(second, last + 1)
        spread.append((last, category, text))
    return spread
