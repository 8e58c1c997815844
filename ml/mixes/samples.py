"""Training samples from finished pairs, message timelines and steps. Weights, refusals and sampling are the matter of ``mix``.

A sample is one stream: a clip, the instruction given at its start, and what the assistant should say, with times on the recording's time
line. Samples whose video is missing are made here and refused, counted, by ``mix``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from ml.comist.splits import unit_interval
from ml.errors import InputError
from ml.tables.declarations.training import TRAINING_MIX
from ml.vocabulary import MessageKind, Status

EGO_COMIST = "ego_comist"
ORIGIN = ("source", "licence", "split", "split_file", "split_sha256")
# A sample is a row of ``training_mix`` before it belongs to a mix: split and video may still be missing.
SAMPLE_SCHEMA = pl.Schema({name: dtype for name, dtype in TRAINING_MIX.polars_schema.items() if name not in ("mix", "weight")})


class Twins(StrEnum):
    """Which clean samples accompany the counterfactual ones."""

    PER_PAIR = "per_pair"  # one for each pair: as many right as wrong streams, and each pair shows both readings of one clip
    PER_STEP = "per_step"  # one for each step of a recording
    NONE = "none"


@dataclass(frozen=True)
class SampleSettings:
    """``success_texts``: one is drawn by hash of the sample id. ``join_gap_s``: longest pause over which a continued step is one stream."""

    twins: Twins = Twins.PER_PAIR
    success_texts: Sequence[str] = ("Good, that step is done.", "Well done.", "That is right, this step is finished.")
    join_gap_s: float = 30.0

    def success(self, sample_id: str) -> str:
        return self.success_texts[int(unit_interval("success", sample_id) * len(self.success_texts))]


@dataclass(frozen=True)
class Samples:
    """``frame`` of ``SAMPLE_SCHEMA``; ``left_out`` counts, by reason, what no sample was made of."""

    frame: pl.DataFrame
    left_out: Mapping[str, int]


def comist_samples(pairs: pl.DataFrame, recordings: pl.DataFrame, settings: SampleSettings | None = None) -> Samples:
    """Two kinds of sample from ``ego_comist``: the counterfactual instruction with feedback when due and no success, and the clean twin,
    the same clip with the original instruction and success at its end. Both carry the pair id (per step, the twin that of its first pair).
    """
    settings = settings or SampleSettings()
    videos = _videos(recordings)
    rows: list[dict[str, object]] = []
    steps: set[tuple[str, str]] = set()
    for pair in pairs.sort("recording_id", "step_uid", "pair_id").iter_rows(named=True):
        base = {
            "dataset": EGO_COMIST,
            "recording_id": pair["recording_id"],
            "pair_id": pair["pair_id"],
            **{name: pair[name] for name in ORIGIN},
            "video_path": videos.get(pair["recording_id"]),
            "start_s": pair["clip_start_s"],
            "end_s": pair["clip_end_s"],
        }
        feedback = _message(pair["t_s"], MessageKind.FEEDBACK, pair["feedback"])
        rows.append(
            {
                **base,
                "sample_id": f"{EGO_COMIST}/{pair['pair_id']}/counterfactual",
                "instruction": pair["counterfactual_instruction"],
                "messages": [feedback],
                "mistake_type": pair["mistake_type"],
            }
        )
        step = (pair["recording_id"], pair["step_uid"])
        if settings.twins is Twins.NONE or (settings.twins is Twins.PER_STEP and step in steps):
            continue
        steps.add(step)
        sample_id = f"{EGO_COMIST}/{pair['pair_id']}/clean"
        success = _message(pair["clip_end_s"], MessageKind.SUCCESS, settings.success(sample_id))
        rows.append({**base, "sample_id": sample_id, "instruction": pair["instruction"], "messages": [success], "mistake_type": None})
    return Samples(_frame(rows), {})


def message_samples(messages: pl.DataFrame, recordings: pl.DataFrame, dataset: str) -> Samples:
    """One sample per instruction of a message timeline (``imported_messages``): feedback and success up to the next instruction.

    The stream ends at the next instruction or the closing message, else at its last message, and where a success was said no later than
    that. At one time feedback stands before success before the next instruction. An instruction that nothing follows is left out, as
    QICD's own loader does (dataset-formats, section 5); clarifications and comments are not the assistant's to give unasked and are
    left out too, counted. ``messages`` holds one dataset's rows.
    """
    known = {row["recording_id"]: row for row in recordings.select("recording_id", *ORIGIN, "video_path").iter_rows(named=True)}
    rows: list[dict[str, object]] = []
    left_out: dict[str, int] = {}
    order = {MessageKind.FEEDBACK: 0, MessageKind.SUCCESS: 1}
    for (recording_id,), timeline in messages.group_by("recording_id", maintain_order=True):
        recording = known.get(str(recording_id))
        if recording is None:
            raise InputError("no such recording", file="recordings", record=str(recording_id), remedy="Import the dataset's recordings too")
        ordered = sorted(timeline.iter_rows(named=True), key=lambda m: (m["t_s"], order.get(m["kind"], 2), m["message_index"]))
        for instruction, said, closed_s in _segments(ordered):
            spoken = [m for m in said if m["kind"] in order]
            for reason, count in (("clarification_or_comment", len(said) - len(spoken)), ("instruction_without_answer", not spoken)):
                if count:
                    left_out[reason] = left_out.get(reason, 0) + int(count)
            if not spoken:
                continue
            succeeded = [m["t_s"] for m in spoken if m["kind"] == MessageKind.SUCCESS]
            last = max(m["t_s"] for m in spoken)
            rows.append(
                {
                    "sample_id": f"{dataset}/{recording_id}/{instruction['message_index']}",
                    "dataset": dataset,
                    "recording_id": recording_id,
                    "pair_id": None,
                    **{name: recording[name] for name in ORIGIN},
                    "video_path": recording["video_path"],
                    "start_s": instruction["t_s"],
                    "end_s": last if succeeded or closed_s is None else closed_s,
                    "instruction": instruction["text"],
                    "messages": [_message(m["t_s"], m["kind"], m["text"]) for m in spoken],
                    "mistake_type": next((m["mistake_type"] for m in spoken if m["mistake_type"]), None),
                }
            )
    return Samples(_frame(rows), left_out)


def _segments(ordered: Sequence[dict[str, object]]) -> list[tuple[dict, list[dict], float | None]]:
    """(instruction, messages until it is closed, time of closing or None)."""
    out: list[tuple[dict, list[dict], float | None]] = []
    current: dict | None = None
    said: list[dict] = []
    for message in ordered:
        if message["kind"] in (MessageKind.INSTRUCTION, MessageKind.FINISH):
            if current is not None:
                out.append((current, said, float(str(message["t_s"]))))
            current, said = (message if message["kind"] == MessageKind.INSTRUCTION else None), []
        elif current is not None:
            said.append(message)
    if current is not None:
        out.append((current, said, None))
    return out


def step_samples(
    steps: pl.DataFrame,
    recordings: pl.DataFrame,
    dataset: str,
    settings: SampleSettings | None = None,
) -> Samples:
    """One sample per leaf step: its instruction at the start, success at the end (Goal-Step's part of the mix, EGO-MC-Bench appendix).

    ``steps`` holds one dataset's rows. A continued segment is joined to the segment it continues when the pause is at most
    ``join_gap_s``; after a longer pause only the last part can be called done, and the earlier part is left out. Descriptions, and
    irrelevant, untimed and not clean steps are left out. All counted.
    """
    settings = settings or SampleSettings()
    known = {row["recording_id"]: row for row in recordings.select("recording_id", *ORIGIN, "video_path").iter_rows(named=True)}
    parents = set(steps.filter(pl.col("parent_uid").is_not_null()).select("recording_id", "parent_uid").iter_rows())
    left_out: dict[str, int] = {}
    usable: list[dict[str, object]] = []
    for step in steps.sort("recording_id", "start_s", "step_uid", nulls_last=True).iter_rows(named=True):
        text = step["instruction"] if step["is_instruction"] else None
        reason = _unusable(step, text, (step["recording_id"], step["step_uid"]) in parents)
        if reason is None:
            usable.append({**step, "text": text})
        else:
            left_out[reason] = left_out.get(reason, 0) + 1
    rows = []
    for step in _joined(usable, settings.join_gap_s, left_out):
        recording = known.get(str(step["recording_id"]))
        if recording is None:
            raise InputError("no such recording", file="recordings", record=str(step["recording_id"]), remedy="Import its recordings too")
        sample_id = f"{dataset}/{step['recording_id']}/{step['step_uid']}"
        rows.append(
            {
                "sample_id": sample_id,
                "dataset": dataset,
                "recording_id": step["recording_id"],
                "pair_id": None,
                **{name: recording[name] for name in ORIGIN},
                "video_path": recording["video_path"],
                "start_s": step["start_s"],
                "end_s": step["end_s"],
                "instruction": step["text"],
                "messages": [_message(step["end_s"], MessageKind.SUCCESS, settings.success(sample_id))],
                "mistake_type": None,
            }
        )
    return Samples(_frame(rows), left_out)


def _unusable(step: Mapping[str, object], text: str | None, is_parent: bool) -> str | None:
    if is_parent:
        return "has_substeps"
    if step["status"] != Status.OK:
        return f"status_{step['status']}"
    if step["start_s"] is None or step["end_s"] is None:
        return "untimed"
    if not step["is_clean"]:
        return "not_clean"
    if step["relevance"] == "irrelevant":
        return "irrelevant"
    return None if text else "describes_without_instruction"


def _joined(steps: Sequence[dict[str, object]], gap_s: float, left_out: dict[str, int]) -> list[dict[str, object]]:
    """Continued segments joined to the latest segment of the same text in the recording; ``steps`` are sorted by start."""
    out: list[dict[str, object] | None] = []
    latest: dict[tuple[object, object], int] = {}
    for step in steps:
        key = (step["recording_id"], step["native_step_id"] or step["text"])
        place = latest.get(key)
        earlier = out[place] if place is not None and step["is_continued"] else None
        if place is not None and earlier is not None:
            if float(str(step["start_s"])) - float(str(earlier["end_s"])) <= gap_s:
                out[place] = {**earlier, "end_s": max(float(str(earlier["end_s"])), float(str(step["end_s"])))}
                continue
            out[place] = None
            left_out["continued_later"] = left_out.get("continued_later", 0) + 1
        latest[key] = len(out)
        out.append(step)
    return [step for step in out if step is not None]


def _videos(recordings: pl.DataFrame) -> dict[str, str | None]:
    return dict(recordings.select("recording_id", "video_path").iter_rows())


def _message(t_s: object, kind: str, text: object) -> dict[str, object]:
    return {"t_s": t_s, "kind": str(kind), "text": text}


def _frame(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SAMPLE_SCHEMA, orient="row", strict=True) if rows else pl.DataFrame(schema=SAMPLE_SCHEMA)
