"""Prediction files of others as ``predictions`` rows: canonical Parquet or CSV, QICD's JSON. GuideMe's JSON is read in ``guideme``.

Every unit of a recording that a file covers counts as run; recordings that it lacks are missing.
"""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ml.benchmarks.ego.units import Feed, feed_of
from ml.benchmarks.text_overlap import rouge_l
from ml.errors import InputError
from ml.tables.declared import PREDICTIONS
from ml.vocabulary import MessageKind, Status

PREFIXES = {
    "Instruction: ": MessageKind.INSTRUCTION,
    "Feedback: ": MessageKind.FEEDBACK,
    "Success: ": MessageKind.SUCCESS,
}
_NAMES = {
    "recording_id": ("recording_id", "video_id", "video"),
    "t_s": ("t_s", "timestamp", "time_s", "time"),
    "kind": ("kind", "type"),
    "text": ("text", "message"),
    "unit_id": ("unit_id", "step"),
}
Row = dict[str, Any]


def read_predictions(path: Path, benchmark_steps: pl.DataFrame, *, experiment: str, protocol: str) -> pl.DataFrame:
    """Read by suffix: ``.parquet`` (the predictions table), ``.csv``, ``.json`` (QICD: video_id, pred_texts, pred_timestamps).

    Recording ids of a file are matched whole, with or without the source's prefix. Raises ``InputError`` with file, record and field.
    """
    if not path.exists():
        raise InputError("there is no such file", file=path)
    match path.suffix.lower():
        case ".parquet":
            frame = pl.read_parquet(path)
            absent = set(PREDICTIONS.polars_schema) - set(frame.columns)
            if absent:
                raise InputError("not a predictions table: a column is missing", file=path, field=sorted(absent)[0])
            renamed = frame.with_columns(experiment=pl.lit(experiment), protocol=pl.lit(protocol))
            return PREDICTIONS.check(renamed.select(PREDICTIONS.polars_schema.names()))
        case ".csv":
            rows = _from_csv(path, benchmark_steps)
        case ".json":
            rows = _from_qicd(path, benchmark_steps)
        case suffix:
            raise InputError(f"predictions of the kind {suffix!r} are not known", file=path, remedy="Use .parquet, .csv or .json")
    return _table(rows, benchmark_steps, experiment, protocol)


def _table(rows: Sequence[Row], benchmark_steps: pl.DataFrame, experiment: str, protocol: str) -> pl.DataFrame:
    """Rows in time order per recording, with a row without message for every unit of a covered recording that has none."""
    steps = benchmark_steps.sort("recording_id", "position").to_dicts()
    by_recording: dict[str, list[Row]] = {}
    for row in rows:
        by_recording.setdefault(row["recording_id"], []).append(row)
    made: list[Row] = []
    for recording_id, own in by_recording.items():
        own_steps = [step for step in steps if step["recording_id"] == recording_id]
        for row in own:
            if row["unit_id"] is None and feed_of(protocol) is Feed.PER_STEP and row["t_s"] is not None:
                row["unit_id"] = _step_at(own_steps, row["t_s"])["unit_id"]
        said = {row["unit_id"] for row in own}
        own += [_silent(recording_id, step["unit_id"]) for step in own_steps if step["unit_id"] not in said]
        ordered = sorted((r for r in own if r["kind"] != "covered"), key=lambda r: (r["t_s"] is None, r["t_s"] or 0.0))
        common = {"experiment": experiment, "protocol": protocol, "score": None, "status": Status.OK.value, "reason": None}
        made += [{**common, **row, "message_index": index} for index, row in enumerate(ordered)]
    return PREDICTIONS.check(PREDICTIONS.rows(made))


def _silent(recording_id: str, unit_id: str) -> Row:
    return {"recording_id": recording_id, "unit_id": unit_id, "t_s": None, "kind": None, "text": None}


def _step_at(steps: Sequence[Row], t_s: float) -> Row:
    begun = [step for step in steps if step["start_s"] <= t_s]
    return begun[-1] if begun else steps[0]


class _Recordings:
    """Recording ids of a benchmark by whole id or native id; "1" never finds "11"."""

    def __init__(self, path: Path, benchmark_steps: pl.DataFrame) -> None:
        self._path = path
        self._known: dict[str, set[str]] = {}
        for recording_id in benchmark_steps["recording_id"].unique():
            for name in {recording_id, recording_id.split("/", 1)[-1]}:
                self._known.setdefault(name, set()).add(recording_id)

    def find(self, name: object, record: str) -> str:
        wanted = str(name).removesuffix(".mp4")
        found = self._known.get(wanted, set())
        if len(found) != 1:
            problem = "is not in the benchmark" if not found else f"could be any of {sorted(found)}"
            raise InputError(f"recording {name!r} {problem}", file=self._path, record=record, field="recording_id")
        return next(iter(found))


def _time(value: object, path: Path, record: str, field: str) -> float:
    try:
        t_s = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{value!r} is no time in seconds", file=path, record=record, field=field) from None
    if not math.isfinite(t_s) or t_s < 0:
        raise InputError(f"{t_s} is no time on a recording", file=path, record=record, field=field)
    return t_s


def _from_csv(path: Path, benchmark_steps: pl.DataFrame) -> list[Row]:
    frame = pl.read_csv(path, infer_schema=False)
    columns: dict[str, str | None] = {}
    for wanted, names in _NAMES.items():
        columns[wanted] = next((name for name in names if name in frame.columns), None)
        if columns[wanted] is None and wanted != "unit_id":
            raise InputError(f"no column {wanted}", file=path, field=wanted, remedy=f"Name it one of {', '.join(names)}")
    recordings = _Recordings(path, benchmark_steps)
    rows: list[Row] = []
    for number, raw in enumerate(frame.iter_rows(named=True), 2):
        record = f"line {number}"
        kind = (raw[str(columns["kind"])] or "").strip().lower()
        if kind not in (MessageKind.FEEDBACK, MessageKind.SUCCESS):
            raise InputError(f"kind {kind!r} is not allowed", file=path, record=record, field="kind", remedy="Allowed: feedback, success")
        rows.append(
            {
                "recording_id": recordings.find(raw[str(columns["recording_id"])], record),
                "unit_id": raw[columns["unit_id"]] if columns["unit_id"] is not None else None,
                "t_s": _time(raw[str(columns["t_s"])], path, record, "t_s"),
                "kind": kind,
                "text": raw[str(columns["text"])] or "",
            }
        )
    return rows


def _from_qicd(path: Path, benchmark_steps: pl.DataFrame) -> list[Row]:
    items = load_json_list(path)
    recordings = _Recordings(path, benchmark_steps)
    rows: list[Row] = []
    seen: set[str] = set()
    for number, item in enumerate(items):
        record = f"item {number}"
        for field in ("video_id", "pred_texts", "pred_timestamps"):
            if not isinstance(item, dict) or field not in item:
                raise InputError("field is missing", file=path, record=record, field=field)
        texts, times = item["pred_texts"], item["pred_timestamps"]
        if len(texts) != len(times):
            raise InputError(f"{len(texts)} texts and {len(times)} timestamps", file=path, record=record, field="pred_timestamps")
        recording_id = recordings.find(item["video_id"], record)
        if recording_id in seen:
            raise InputError(f"recording {item['video_id']!r} comes twice", file=path, record=record, field="video_id")
        seen.add(recording_id)
        steps = benchmark_steps.filter(pl.col("recording_id") == recording_id).sort("position").to_dicts()
        rows.append({"recording_id": recording_id, "unit_id": None, "t_s": None, "kind": "covered", "text": None})
        rows += _qicd_rows(texts, times, steps, path, record)
    return rows


def load_json_list(path: Path) -> list[Any]:
    """A file that holds one JSON list."""
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"not JSON: {error}", file=path) from None
    if not isinstance(items, list):
        raise InputError(f"a list is expected, not a {type(items).__name__}", file=path)
    return items


def _qicd_rows(texts: Sequence[str], times: Sequence[object], steps: Sequence[Row], path: Path, record: str) -> Iterable[Row]:
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
        t_s, said, kind = _time(time, path, where, "pred_timestamps"), str(text).removeprefix(prefix), PREFIXES[prefix]
        if kind is MessageKind.INSTRUCTION:
            unit_id = max(steps, key=lambda s: (round(rouge_l(said, s["instruction"]), 9), -abs(s["start_s"] - t_s)))["unit_id"]
            continue
        if unit_id is None:
            raise InputError("the first text is no instruction", file=path, record=where, field="pred_texts")
        rows.append({"recording_id": steps[0]["recording_id"], "unit_id": unit_id, "t_s": t_s, "kind": kind.value, "text": said})
    return rows
