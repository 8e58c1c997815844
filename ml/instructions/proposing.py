"""Steps proposed from narrations, for recordings without a recipe. A proposal is a row with its outcome; only ok ones become steps.

A long recording is asked about in parts. Times are never moved to fit: a step that leaves its part or has no length is an outcome.
"""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import polars as pl

from ml.instructions.prompts import PROPOSE_SCHEMA, PROPOSE_SYSTEM, key_of, propose_prompt
from ml.llm.parsed import Said
from ml.llm.replies import read_dict, read_text, read_timestamp
from ml.llm.requests import Request
from ml.llm.stage import Asks, Progress
from ml.sources.imported import StepDraft, number_steps, text_id
from ml.tables.declarations.recordings import PROPOSED_STEPS
from ml.tables.declarations.sources import IMPORTED_STEPS
from ml.vocabulary import Status

TASK: Final = "propose.steps"
PART_S: Final = 600.0  # 120 windows of 10 s every 5 s: a prompt of some 5,000 tokens
MAX_TOKENS: Final = 4000  # some 40 tokens a step, up to 100 steps in ten minutes
JOIN_S: Final = 5.0  # a step that a part's border cut is one again when its halves are no further apart: one window stride
TOLERANCE_S: Final = 0.05
LONGEST: Final = 300
Row = dict[str, Any]


def propose_steps(recordings: pl.DataFrame, narrations: pl.DataFrame, client: Asks, progress: Progress | None = None) -> pl.DataFrame:
    """Rows of ``proposed_steps`` for ``recordings`` without a recipe, in time order.

    One without narrations is a row that waits for them, or that has the status of its video where that cannot be narrated.
    """
    requests: dict[str, Request] = {}
    parts: list[tuple[str, float, float, str]] = []
    rows: list[Row] = []
    for recording_id, video_status in recordings.select("recording_id", "video_status").iter_rows():
        told = narrations.filter(pl.col("recording_id") == recording_id).sort("window_index")
        good = told.filter((pl.col("status") == Status.OK) & pl.col("text").is_not_null())
        if good.is_empty():
            rows.append(_row(recording_id, client.model, None, None, **_untold(told, Status(video_status))))
            continue
        for start_s, end_s, windows in _parts(good):
            inputs: dict[str, object] = {"narrations": windows, "start_s": start_s, "end_s": end_s}
            key = key_of(TASK, inputs)
            check = partial(_unreadable, start_s, end_s)
            prompt = propose_prompt(inputs)
            requests[key] = Request(key, TASK, inputs, PROPOSE_SYSTEM, prompt, schema=PROPOSE_SCHEMA, max_tokens=MAX_TOKENS, check=check)
            parts.append((recording_id, start_s, end_s, key))
    replies = {reply.key: reply for reply in client.run(list(requests.values()), progress)} if requests else {}
    for recording_id, start_s, end_s, key in parts:
        found = read_proposals(replies[key], start_s, end_s)
        rows += [_row(recording_id, client.model, start_s, end_s, **one) for one in found]
    return PROPOSED_STEPS.rows(_numbered(rows))


def _untold(told: pl.DataFrame, video_status: Status) -> Row:
    if told.is_empty() and video_status is not Status.OK:
        return {"status": video_status, "reason": f"nothing to propose from: the video is {video_status}"}
    if told.is_empty():
        return {"status": Status.WAITING, "reason": "there are no narrations yet"}
    first = told.row(0, named=True)
    return {"status": Status(first["status"]), "reason": first["reason"] or "the narrations are empty"}


def _parts(told: pl.DataFrame) -> Iterator[tuple[float, float, list[Row]]]:
    """Start and end of each part and its windows: parts of about equal length, which overlap as far as their windows do."""
    windows = told.select("start_s", "end_s", "text").to_dicts()
    count = max(1, math.ceil((windows[-1]["end_s"] - windows[0]["start_s"]) / PART_S))
    for index in range(count):
        mine = windows[len(windows) * index // count : len(windows) * (index + 1) // count]
        if mine:
            yield float(mine[0]["start_s"]), max(float(window["end_s"]) for window in mine), mine


def _unreadable(start_s: float, end_s: float, text: str) -> str | None:
    first = read_proposals(text, start_s, end_s)[0]
    return first["reason"] if first["status"] is Status.UNPARSABLE and "instruction" not in first else None


def read_proposals(reply: Said, start_s: float, end_s: float) -> list[Row]:
    """Proposals of one part, or the one row that says why there are none."""
    parsed = read_dict(reply, ("steps",))
    if parsed.value is None:
        status = Status.UNPARSABLE if parsed.status is Status.NOT_APPLICABLE else parsed.status
        return [{"status": status, "reason": parsed.reason}]
    listed = parsed.value["steps"]
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        return [{"status": Status.UNPARSABLE, "reason": "'steps' is not a list of objects"}]
    if not listed:
        return [{"status": Status.NOT_APPLICABLE, "reason": "no cooking in this part"}]
    return [_proposal(one, start_s, end_s) for one in listed]


def _proposal(one: Mapping[str, object], part_start_s: float, part_end_s: float) -> Row:
    text = one.get("instruction")
    line = read_text(text if isinstance(text, str) else None)
    start_s, end_s = _seconds(one.get("start_s")), _seconds(one.get("end_s"))
    row: Row = {"instruction": line.value, "start_s": start_s, "end_s": end_s}
    if line.value is None:
        return row | {"status": Status.EMPTY, "reason": "the step has no instruction"}
    if len(line.value) > LONGEST:
        return row | {"status": Status.UNPARSABLE, "reason": f"the instruction has {len(line.value)} characters, more than {LONGEST}"}
    if start_s is None or end_s is None:
        return row | {"status": Status.UNPARSABLE, "reason": f"{one.get('start_s')!r} to {one.get('end_s')!r} are no times"}
    if end_s <= start_s:
        return row | {"status": Status.INCONSISTENT, "reason": f"{start_s:g} to {end_s:g} s is no stretch of time"}
    if start_s < part_start_s - TOLERANCE_S or end_s > part_end_s + TOLERANCE_S:
        reason = f"{start_s:g} to {end_s:g} s leaves the part, {part_start_s:g} to {part_end_s:g} s"
        return row | {"status": Status.OUT_OF_CLIP, "reason": reason}
    return row | {"status": Status.OK, "reason": None}


def _seconds(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    return read_timestamp(value).value if isinstance(value, str) else None


def _row(recording_id: str, model: str, part_start_s: float | None, part_end_s: float | None, **one: object) -> Row:
    return {"recording_id": recording_id, "model": model, "part_start_s": part_start_s, "part_end_s": part_end_s} | one


def _numbered(rows: list[Row]) -> list[Row]:
    counts: dict[str, int] = {}
    for row in rows:
        row["proposal_index"] = counts.get(row["recording_id"], 0)
        counts[row["recording_id"]] = row["proposal_index"] + 1
    return rows


def steps_of_proposals(proposals: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``imported_steps`` from the ok proposals of one recording, marked as proposed."""
    good = proposals.filter(pl.col("status") == Status.OK).sort("start_s", "end_s", maintain_order=True)
    if good.is_empty():
        return IMPORTED_STEPS.empty()
    drafts: list[StepDraft] = []
    part_ends: list[float] = []
    for row in good.iter_rows(named=True):
        text, start_s, end_s = str(row["instruction"]), float(row["start_s"]), float(row["end_s"])
        before = drafts[-1] if drafts else None
        is_same = before is not None and text_id(before.instruction) == text_id(text)
        if before is not None and is_same and part_ends[-1] < row["part_end_s"] and start_s - (before.end_s or start_s) <= JOIN_S:
            before.end_s, part_ends[-1] = end_s, row["part_end_s"]
            continue
        drafts.append(StepDraft(text_id(text), text, start_s, end_s, is_proposed=True))
        part_ends.append(row["part_end_s"])
    return IMPORTED_STEPS.rows(number_steps(str(good["recording_id"][0]), drafts))
