"""Message timelines of EGO-MC-Bench and QICD as canonical benchmark tables. Reading files is the importers' work, scoring the scorers'."""

from itertools import pairwise
from typing import Any

import polars as pl

from ml.errors import InputError
from ml.tables.declarations.benchmarks import BENCHMARK_MESSAGES, BENCHMARK_STEPS
from ml.vocabulary import MessageKind

Row = dict[str, Any]
_SCORED = (MessageKind.FEEDBACK, MessageKind.SUCCESS)


def benchmark_from_messages(
    recordings: pl.DataFrame, steps: pl.DataFrame, messages: pl.DataFrame, benchmark: str, *, keep_trailing: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """``(benchmark_steps, benchmark_messages)`` from imported ``recordings``, ``steps`` and ``messages``.

    Every instruction message opens a unit; it ends at the next instruction or at the finish message, else at the end of the recording
    (its duration, else its last message or step). The other messages belong to the unit in which they fall. A trailing instruction that
    nothing follows is left out, as in the QICD loader, unless ``keep_trailing``. A recording whose messages hold no instruction takes
    its units from ``steps``. Raises ``InputError`` for feedback or success before the first instruction and for times that go back.
    """
    by_recording = {key[0]: part for key, part in messages.partition_by("recording_id", as_dict=True).items()}
    steps_of = {key[0]: part for key, part in steps.partition_by("recording_id", as_dict=True).items()}
    step_rows: list[Row] = []
    message_rows: list[Row] = []
    for recording in recordings.sort("recording_id").iter_rows(named=True):
        recording_id = recording["recording_id"]
        if recording_id not in by_recording:
            continue
        timeline = by_recording[recording_id].sort("t_s", "message_index", maintain_order=True).to_dicts()
        own_steps = steps_of[recording_id].to_dicts() if recording_id in steps_of else []
        units = _units_by_instruction(recording_id, timeline, keep_trailing) or _units_by_step(recording_id, own_steps, timeline)
        if not units:
            raise InputError("messages hold no instruction and there are no steps", record=recording_id, field="messages")
        last_s = _end_of(recording, timeline, own_steps)
        for position, unit in enumerate(units):
            unit_id = f"{recording_id}/{position}"
            end_s = unit["end_s"] if unit["end_s"] is not None else max(last_s, unit["start_s"])
            types = [m["mistake_type"] for m in unit["messages"] if m["kind"] == MessageKind.FEEDBACK and m["mistake_type"]]
            step_rows.append(
                {
                    "benchmark": benchmark,
                    "unit_id": unit_id,
                    "recording_id": recording_id,
                    "position": position,
                    "start_s": unit["start_s"],
                    "end_s": end_s,
                    "instruction": unit["instruction"],
                    "mistake_type": types[0] if types else None,
                    "completed": None,
                    "video_path": recording.get("video_path"),
                }
            )
            message_rows += [
                {
                    "benchmark": benchmark,
                    "unit_id": unit_id,
                    "message_index": index,
                    "t_s": message["t_s"],
                    "kind": message["kind"],
                    "text": message["text"],
                    "mistake_type": message["mistake_type"],
                }
                for index, message in enumerate(unit["messages"])
            ]
    unknown = set(by_recording) - set(recordings["recording_id"])
    if unknown:
        raise InputError("messages of a recording that is not listed", record=sorted(unknown)[0], field="recording_id")
    return BENCHMARK_STEPS.check(BENCHMARK_STEPS.rows(step_rows)), BENCHMARK_MESSAGES.check(BENCHMARK_MESSAGES.rows(message_rows))


def _units_by_instruction(recording_id: str, timeline: list[Row], keep_trailing: bool) -> list[Row]:
    # At one time stamp, what closes a step comes before what opens the next.
    ordered = sorted(timeline, key=lambda m: (m["t_s"], m["kind"] == MessageKind.INSTRUCTION))
    if not any(m["kind"] == MessageKind.INSTRUCTION for m in ordered):
        return []
    units: list[Row] = []
    early: list[Row] = []
    is_finished = False
    for message in ordered:
        if message["kind"] == MessageKind.INSTRUCTION:
            if units and units[-1]["end_s"] is None:
                units[-1]["end_s"] = message["t_s"]
            units.append(_unit(message["t_s"], None, message["text"]))
        elif message["kind"] == MessageKind.FINISH:
            is_finished = True
            if units and units[-1]["end_s"] is None:
                units[-1]["end_s"] = message["t_s"]
        elif not units and message["kind"] in _SCORED:
            raise InputError(
                f"{message['kind']} at {message['t_s']:g} s comes before the first instruction",
                record=f"{recording_id} message {message['message_index']}",
                field="t_s",
            )
        else:
            (units[-1]["messages"] if units else early).append(message)
    units[0]["messages"] = early + units[0]["messages"]
    if not keep_trailing and not is_finished and not units[-1]["messages"]:
        units.pop()
    return units


def _units_by_step(recording_id: str, steps: list[Row], timeline: list[Row]) -> list[Row]:
    performed = sorted((s for s in steps if s["start_s"] is not None), key=lambda s: (s["start_s"], s["position"]))
    units = [_unit(s["start_s"], None, s["instruction"], s["step_uid"]) for s in performed]
    for unit, following in pairwise(units):
        unit["end_s"] = following["start_s"]
    for message in timeline:
        if message["kind"] == MessageKind.FINISH:
            continue
        named = [u for u in units if u["step_uid"] == message["step_uid"] and message["step_uid"] is not None]
        begun = [u for u in units if u["start_s"] <= message["t_s"]]
        if not named and not begun:
            raise InputError(
                f"message at {message['t_s']:g} s lies before the first step",
                record=f"{recording_id} message {message['message_index']}",
                field="t_s",
            )
        (named or begun[-1:])[0]["messages"].append(message)
    return units


def _unit(start_s: float, end_s: float | None, instruction: str, step_uid: str | None = None) -> Row:
    return {"start_s": start_s, "end_s": end_s, "instruction": instruction, "step_uid": step_uid, "messages": []}


def _end_of(recording: Row, timeline: list[Row], steps: list[Row]) -> float:
    for name in ("duration_s", "annotated_duration_s"):
        if recording.get(name) is not None:
            return float(recording[name])
    ends = [m["t_s"] for m in timeline] + [s["end_s"] for s in steps if s["end_s"] is not None]
    return float(max(ends))
