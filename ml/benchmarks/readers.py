"""Prediction files as the canonical prediction tables: Parquet, JSON lines, JSON list or CSV, with the field names that others use.

The published shapes are known too: QICD's ``video_id, pred_texts, pred_timestamps`` and GuideMe's merged JSON. Reads nothing into rows
that a file does not say, but for silence where a file covers a recording and ``absent_is_silence`` says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from ml.benchmarks.assistants.interface import SAID_KINDS
from ml.benchmarks.cook_mre.samples import NO_HINT, hints_of, samples_from_table
from ml.benchmarks.data import BenchmarkData
from ml.benchmarks.ego.units import Feed
from ml.benchmarks.families import Family, Hints, parse_protocol
from ml.benchmarks.guideme.data import items_from_tables
from ml.benchmarks.guideme.grids import grid_of
from ml.benchmarks.prediction_files import (
    Entry,
    Names,
    entries_of,
    field_of,
    index_of,
    number_of,
    only_value,
    outcome_of,
    text_of,
    time_of,
)
from ml.benchmarks.text_overlap import rouge_l
from ml.errors import InputError
from ml.tables.declarations.results import CLIP_PREDICTIONS, GUIDANCE_PREDICTIONS, PREDICTIONS
from ml.vocabulary import MessageKind, Status

PREFIXES = {
    "Instruction: ": MessageKind.INSTRUCTION,
    "Feedback: ": MessageKind.FEEDBACK,
    "Success: ": MessageKind.SUCCESS,
}
DEFAULT_FEEDS = {Family.EGO: "per_step", Family.GUIDEME: "dense", Family.COOK_MRE: "default"}
_MISSING = "not in the predictions file"
Row = dict[str, Any]


@dataclass(frozen=True)
class PredictionFile:
    """A run read from a file. ``table`` is the canonical prediction table of the benchmark's family."""

    table: pl.DataFrame
    experiment: str
    protocol: str


def read_predictions(
    path: Path,
    data: BenchmarkData,
    *,
    experiment: str | None = None,
    protocol: str | None = None,
    absent_is_silence: bool = False,
) -> PredictionFile:
    """The run that a file holds. Names of experiment and protocol are by default the file's own, else its stem and the usual feed:
    per_step, dense (anchor where most instants lie more than a second apart), default (hint where the file has hints).

    EGO: every unit of a recording that the file covers counts as run; recordings that it lacks are missing. GuideMe: an instant of the
    file is what was asked; a reference without an instant is missing, or silence with ``absent_is_silence``. Cook-MRE: a sample that the
    file lacks is missing. Recording ids are matched whole, with or without the benchmark's name before them.
    Raises ``InputError`` with file, record and field.
    """
    entries = entries_of(path)
    if not entries:
        raise InputError("the file holds no prediction", file=path)
    own = {name: only_value(entries, name, path) for name in ("experiment", "protocol")}
    chosen = protocol or own["protocol"] or DEFAULT_FEEDS[data.family]
    if protocol is None and own["protocol"] is None:
        if data.family is Family.COOK_MRE and _has_hints(entries):
            chosen = "hint"
        elif data.family is Family.GUIDEME and not absent_is_silence and _is_sampled(entries, path):
            chosen = "anchor"
    name = f"{data.name}.{chosen.split('.', 1)[-1]}"
    try:
        family = parse_protocol(name).family
    except InputError as error:
        raise InputError(error.problem, file=path, field="protocol", remedy=error.remedy) from None
    if family is not data.family:
        raise InputError(f"{chosen!r} is no protocol of {data.family}", file=path, field="protocol", remedy="Name one with --protocol")
    run = experiment or own["experiment"] or path.stem
    match data.family:
        case Family.EGO:
            rows = _ego(entries, path, data, name)
            table = PREDICTIONS
        case Family.GUIDEME:
            rows = _guideme(entries, path, data, name, absent_is_silence)
            table = GUIDANCE_PREDICTIONS
        case Family.COOK_MRE:
            rows = _cook(entries, path, data, name)
            table = CLIP_PREDICTIONS
    common = {"experiment": run, "protocol": name}
    return PredictionFile(table.check(table.rows([{**common, **row} for row in rows])), run, name)


def _is_sampled(entries: Sequence[Entry], path: Path) -> bool:
    """Whether most instants of a GuideMe file lie more than a second after the one before."""
    recording, t_s = (str(field_of(name, entries, path)) for name in ("recording_id", "t_s"))
    times: dict[str, list[float]] = {}
    for entry in entries:
        times.setdefault(str(entry.values.get(recording)), []).append(time_of(entry.values.get(t_s), path, entry.record, t_s))
    gaps = [after - before for own in times.values() for before, after in pairwise(sorted(own))]
    return bool(gaps) and median(gaps) > 1.0


def _ego(entries: Sequence[Entry], path: Path, data: BenchmarkData, protocol: str) -> list[Row]:
    steps = data["benchmark_steps"].sort("recording_id", "position").to_dicts()
    steps_of: dict[str, list[Row]] = {}
    for step in steps:
        steps_of.setdefault(step["recording_id"], []).append(step)
    is_qicd = any("pred_texts" in entry.values for entry in entries)
    names = Names(path, steps_of, "video_id" if is_qicd else str(field_of("recording_id", entries, path)))
    by_recording = _from_qicd(entries, path, names, steps_of) if is_qicd else _messages(entries, path, names, steps)
    per_step = parse_protocol(protocol).feed == Feed.PER_STEP
    made: list[Row] = []
    for recording_id, own in by_recording.items():
        own_steps = steps_of[recording_id]
        for row in own:
            if row["unit_id"] is None and per_step and row["t_s"] is not None:
                row["unit_id"] = _step_at(own_steps, row["t_s"])["unit_id"]
        said = {row["unit_id"] for row in own}
        if per_step:
            own += [_silent(recording_id, step["unit_id"]) for step in own_steps if step["unit_id"] not in said]
        elif not own:
            own.append(_silent(recording_id, None))
        ordered = sorted(own, key=lambda row: (row["t_s"] is None, row["t_s"] or 0.0))
        made += [{**row, "message_index": index} for index, row in enumerate(ordered)]
    return made


def _silent(recording_id: str, unit_id: str | None) -> Row:
    spoken: Row = {"t_s": None, "kind": None, "text": None, "score": None, "status": Status.OK.value, "reason": None}
    return {"recording_id": recording_id, "unit_id": unit_id, **spoken}


def _step_at(steps: Sequence[Row], t_s: float) -> Row:
    begun = [step for step in steps if step["start_s"] <= t_s]
    return begun[-1] if begun else steps[0]


def _messages(entries: Sequence[Entry], path: Path, names: Names, steps: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows with one message each; a row without time and kind says that its step ran in silence, or failed."""
    recording, t_s, kind, text = (str(field_of(name, entries, path)) for name in ("recording_id", "t_s", "kind", "text"))
    unit, score = (field_of(name, entries, path, is_needed=False) for name in ("unit_id", "score"))
    outcome = outcome_of(entries, path)
    recording_of = {str(step["unit_id"]): str(step["recording_id"]) for step in steps}
    units = Names(path, recording_of, unit or "unit_id")
    by_recording: dict[str, list[Row]] = {}
    seen: dict[tuple[str, int], str] = {}
    for entry in entries:
        value = entry.values
        recording_id = names.find(value.get(recording), entry.record)
        index = index_of(value.get("message_index"), path, entry.record, "message_index")
        if index is not None and (first := seen.setdefault((recording_id, index), entry.record)) != entry.record:
            raise InputError(
                f"message {index} of {recording_id} stands in {first} too", file=path, record=entry.record, field="message_index",
                remedy="Keep one: a run that was resumed may have been appended twice",
            )  # fmt: skip
        made = str(value[kind]).strip().lower() if value.get(kind) is not None else None
        if made is not None and made not in SAID_KINDS:
            remedy = f"Allowed: {', '.join(SAID_KINDS)}"
            raise InputError(f"{made!r} is not allowed", file=path, record=entry.record, field="kind", remedy=remedy)
        spoken: Row = {"t_s": None, "kind": None, "text": None}
        if made is not None:
            said = text_of(value.get(text), path, entry.record, "text") or ""
            spoken = {"t_s": time_of(value.get(t_s), path, entry.record, "t_s"), "kind": made, "text": said}
        at = value.get(unit) if unit else None
        unit_id = None if at is None else units.find(at, entry.record)
        if unit_id is not None and recording_of[unit_id] != recording_id:
            raise InputError(
                f"{at!r} is a step of {recording_of[unit_id]}, not of {recording_id}", file=path, record=entry.record, field="unit_id"
            )
        by_recording.setdefault(recording_id, []).append(
            {
                "recording_id": recording_id,
                "unit_id": unit_id,
                **spoken,
                "score": number_of(value.get(score), path, entry.record, "score") if score else None,
                **outcome(entry),
            }
        )
    return by_recording


def _from_qicd(entries: Sequence[Entry], path: Path, names: Names, steps_of: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for entry in entries:
        for field in ("video_id", "pred_texts", "pred_timestamps"):
            if entry.values.get(field) is None:
                raise InputError("field is missing", file=path, record=entry.record, field=field)
        texts, times = entry.values["pred_texts"], entry.values["pred_timestamps"]
        if not isinstance(texts, list) or not isinstance(times, list):
            raise InputError("texts and timestamps are lists", file=path, record=entry.record, field="pred_texts")
        if len(texts) != len(times):
            raise InputError(f"{len(texts)} texts and {len(times)} timestamps", file=path, record=entry.record, field="pred_timestamps")
        recording_id = names.find(entry.values["video_id"], entry.record)
        if recording_id in found:
            raise InputError(
                f"recording {entry.values['video_id']!r} comes twice", file=path, record=entry.record, field="video_id",
                remedy="Keep one of the two",
            )  # fmt: skip
        found[recording_id] = _qicd_rows(texts, times, steps_of[recording_id], path, entry.record)
    return found


def _qicd_rows(texts: Sequence[object], times: Sequence[object], steps: Sequence[Row], path: Path, record: str) -> list[Row]:
    """Messages with the step that the instruction before them means: the most similar text, the nearest start among equals."""
    unit_id: str | None = None
    rows: list[Row] = []
    for index, (text, time) in enumerate(zip(texts, times, strict=True)):
        where = f"{record} text {index}"
        prefix = next((p for p in PREFIXES if str(text).startswith(p)), None)
        if prefix is None:
            allowed = ", ".join(repr(p) for p in PREFIXES)
            raise InputError(
                f"{text!r} has no known prefix", file=path, record=where, field="pred_texts", remedy=f"Begin with one of {allowed}"
            )
        t_s, said, kind = time_of(time, path, where, "pred_timestamps"), str(text).removeprefix(prefix), PREFIXES[prefix]
        if kind is MessageKind.INSTRUCTION:
            unit_id = _step_of_instruction(said, t_s, steps)
            continue
        if unit_id is None:
            raise InputError("the first text is no instruction", file=path, record=where, field="pred_texts")
        rows.append({**_silent(steps[0]["recording_id"], unit_id), "t_s": t_s, "kind": kind.value, "text": said})
    return rows


def _step_of_instruction(said: str, t_s: float, steps: Sequence[Row]) -> str:
    return str(max(steps, key=lambda s: (round(rouge_l(said, s["instruction"]), 9), -abs(s["start_s"] - t_s)))["unit_id"])


def _guideme(entries: Sequence[Entry], path: Path, data: BenchmarkData, protocol: str, absent_is_silence: bool) -> list[Row]:
    """One row per instant of the file, and per reference second or video that the file lacks."""
    items = {item.video_id: item for item in items_from_tables(data["benchmark_dialogues"], data["benchmark_turns"])}
    recording, t_s, said = (str(field_of(name, entries, path)) for name in ("recording_id", "t_s", "said"))
    names = Names(path, items, recording)
    outcome = outcome_of(entries, path)
    found: dict[str, dict[float, Row]] = {}
    for entry in entries:
        recording_id = names.find(entry.values.get(recording), entry.record)
        at = time_of(entry.values.get(t_s), path, entry.record, t_s)
        own = found.setdefault(recording_id, {})
        if at in own:
            raise InputError(
                f"instant {at:g} of {recording_id} comes twice", file=path, record=entry.record, field=t_s,
                remedy="Keep one: a run that was resumed may have been appended twice",
            )  # fmt: skip
        text = text_of(entry.values.get(said), path, entry.record, said)
        row = outcome(entry)
        if text is None and row["status"] == Status.OK:
            row = {"status": Status.ERROR.value, "reason": "the prediction is null"}
        own[at] = {"t_s": at, "said": text if row["status"] == Status.OK else None, **row}
    variant = parse_protocol(protocol).guideme
    assert variant is not None
    rows: list[Row] = []
    for recording_id, item in sorted(items.items()):
        instants = found.get(recording_id, {})
        wanted = {float(int(turn.t_s)) for turn in item.answers if turn.t_s >= item.start_s} if instants else set(grid_of(item, variant))
        silent = absent_is_silence and bool(instants)
        for at in sorted(at for at in wanted if not _is_covered(at, instants, variant.interval_s)):
            absent = {"said": "Silent", "status": Status.OK.value, "reason": None} if silent else None
            instants[at] = {"t_s": at, **(absent or {"said": None, "status": Status.ERROR.value, "reason": _MISSING})}
        if silent:
            for at in grid_of(item, variant):
                if not _is_covered(at, instants, variant.interval_s):
                    instants[at] = {"t_s": at, "said": "Silent", "status": Status.OK.value, "reason": None}
        rows += [{"recording_id": recording_id, "instant_index": index, **instants[at]} for index, at in enumerate(sorted(instants))]
    return rows


def _is_covered(at: float, instants: Mapping[float, Row], interval_s: float) -> bool:
    """Whether the file has an instant that an answer at this second belongs to."""
    return at in instants or any(0 <= at - asked < interval_s - 1e-9 for asked in instants)


def _cook(entries: Sequence[Entry], path: Path, data: BenchmarkData, protocol: str) -> list[Row]:
    samples = {sample.sample_id: sample for sample in samples_from_table(data["benchmark_clips"])}
    sample, answer = (str(field_of(name, entries, path)) for name in ("sample_id", "answer"))
    names = Names(path, samples, sample)
    hint = field_of("hint", entries, path, is_needed=False)
    hints = parse_protocol(protocol).hints
    outcome = outcome_of(entries, path)
    found: dict[tuple[str, str], Row] = {}
    for entry in entries:
        sample_id = names.find(entry.values.get(sample), entry.record)
        named = str(entry.values.get(hint) or NO_HINT).strip().lower() if hint else NO_HINT
        allowed = samples[sample_id].elements if hints is not Hints.NONE else (NO_HINT,)
        if named not in allowed:
            raise InputError(
                f"{named!r} does not fit", file=path, record=entry.record, field="hint", remedy=f"Allowed: {', '.join(allowed)}"
            )
        if (sample_id, named) in found:
            raise InputError(
                f"sample {sample_id} comes twice", file=path, record=entry.record, field=sample,
                remedy="Keep one: a run that was resumed may have been appended twice",
            )  # fmt: skip
        text = text_of(entry.values.get(answer), path, entry.record, answer)
        row = outcome(entry)
        if (text is None or not text.strip()) and row["status"] == Status.OK:
            row = {"status": Status.EMPTY.value, "reason": "the answer is empty"}
        found[sample_id, named] = {"answer": text if row["status"] == Status.OK else None, **row}
    for one in samples.values():
        for asked in hints_of(one, hints):
            absent = {"answer": None, "status": Status.ERROR.value, "reason": _MISSING}
            found.setdefault((one.sample_id, asked or NO_HINT), absent)
    return [{"sample_id": sample_id, "hint": named, **row} for (sample_id, named), row in sorted(found.items())]


def _has_hints(entries: Sequence[Entry]) -> bool:
    return any(str(entry.values.get("hint") or NO_HINT).strip().lower() != NO_HINT for entry in entries)
