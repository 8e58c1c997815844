"""Records of a prediction file, whatever its format, and reading single values of them. What rows mean is the readers' matter."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ml.errors import InputError
from ml.sources.reading import LATEST_S, is_plain_file, read_csv, read_json_lines, read_json_list
from ml.vocabulary import Status

ALIASES = {
    "recording_id": ("recording_id", "video_id", "video"),
    "t_s": ("t_s", "timestamp", "endpoint_timestamp", "time_s", "time"),
    "kind": ("kind", "type"),
    "text": ("text", "message"),
    "unit_id": ("unit_id", "step"),
    "said": ("said", "prediction", "text", "message"),
    "sample_id": ("sample_id", "id"),
    "hint": ("hint",),
    "answer": ("answer", "response", "prediction", "text"),
    "status": ("status",),
    "reason": ("reason",),
    "score": ("score",),
}


@dataclass(frozen=True)
class Entry:
    """One record of a file, with the words that locate it."""

    values: Mapping[str, Any]
    record: str


def entries_of(path: Path) -> list[Entry]:
    if not is_plain_file(path):
        raise InputError("there is no such file", file=path, remedy="Give a Parquet, JSON, JSONL or CSV file of predictions")
    match path.suffix.lower():
        case ".parquet":
            try:
                frame = pl.read_parquet(path)
            except pl.exceptions.PolarsError as error:
                raise InputError(f"not a whole Parquet file: {str(error).splitlines()[0]}", file=path, remedy="Write it again") from None
            return [Entry(row, f"row {number}") for number, row in enumerate(frame.iter_rows(named=True))]
        case ".csv":
            return [Entry({k: v if v != "" else None for k, v in cells.items()}, place) for cells, place in read_csv(path).named()]
        case ".jsonl":
            return [_object(value, path, place) for value, place in read_json_lines(path)]
        case ".json":
            return [_object(item, path, f"item {number}") for number, item in enumerate(read_json_list(path))]
        case suffix:
            raise InputError(f"predictions of the kind {suffix!r} are not known", file=path, remedy="Use .parquet, .json, .jsonl or .csv")


def _object(value: object, path: Path, record: str) -> Entry:
    if not isinstance(value, dict):
        raise InputError(f"an object is expected, not a {type(value).__name__}", file=path, record=record)
    return Entry(value, record)


def only_value(entries: Sequence[Entry], name: str, path: Path) -> str | None:
    found = {str(entry.values[name]) for entry in entries if entry.values.get(name) is not None}
    if len(found) > 1:
        raise InputError(f"{len(found)} values: {', '.join(sorted(found)[:5])}", file=path, field=name, remedy="Keep one run per file")
    return next(iter(found), None)


def field_of(name: str, entries: Sequence[Entry], path: Path, *, is_needed: bool = True) -> str | None:
    """The name under which the file's records hold a field: that of the first alias that any record has."""
    for alias in ALIASES[name]:
        if any(alias in entry.values for entry in entries):
            return alias
    if is_needed:
        found = ", ".join(entries[0].values)
        raise InputError(f"no field {name}", file=path, field=name, remedy=f"Name it one of {', '.join(ALIASES[name])}. Found: {found}")
    return None


class Names:
    """Ids of a benchmark by whole id or by what follows the benchmark's name; "1" never finds "11"."""

    def __init__(self, path: Path, ids: Iterable[str], field: str) -> None:
        self._path, self._field = path, field
        self._known: dict[str, set[str]] = {}
        for whole in ids:
            for name in {whole, whole.split("/", 1)[-1]}:
                self._known.setdefault(name, set()).add(whole)

    def find(self, name: object, record: str) -> str:
        found = self._known.get(str(name)) or self._known.get(str(name).removesuffix(".mp4"), set())
        if len(found) != 1:
            problem = "is not in the benchmark" if not found else f"could be any of {', '.join(sorted(found))}"
            some = ", ".join(list(self._known)[:3])
            raise InputError(
                f"{name!r} {problem}", file=self._path, record=record, field=self._field, remedy=f"The benchmark has {some}, ..."
            )
        return next(iter(found))


def time_of(value: object, path: Path, record: str, field: str) -> float:
    try:
        if isinstance(value, bool) or (isinstance(value, str) and "_" in value):  # which Python would pass over
            raise TypeError
        t_s = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{_short(value)} is no time in seconds", file=path, record=record, field=field) from None
    if not 0 <= t_s <= LATEST_S:
        raise InputError(f"{t_s:g} is no time in seconds on a recording", file=path, record=record, field=field)
    return t_s


def number_of(value: object, path: Path, record: str, field: str) -> float | None:
    """A finite number; None where there is none, which tables also write as NaN."""
    try:
        if isinstance(value, bool) or (isinstance(value, str) and "_" in value):  # which Python would pass over
            raise TypeError
        number = None if value is None else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{_short(value)} is no number", file=path, record=record, field=field) from None
    if number is not None and math.isinf(number):
        raise InputError(f"{number} is no number", file=path, record=record, field=field)
    return None if number is None or math.isnan(number) else number


def index_of(value: object, path: Path, record: str, field: str) -> int | None:
    """A whole number from 0 on; None where there is none."""
    number = number_of(value, path, record, field)
    if number is not None and (number < 0 or number != int(number)):
        raise InputError(f"{number:g} is no whole number from 0 on", file=path, record=record, field=field)
    return None if number is None else int(number)


def _short(value: object) -> str:
    shown = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a whole number of over thirty digits"
    return shown if len(shown) <= 80 else f"{shown[:80]} ..."


def text_of(value: object, path: Path, record: str, field: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InputError(f"{_short(value)} is no text", file=path, record=record, field=field)


def outcome_of(entries: Sequence[Entry], path: Path) -> Callable[[Entry], dict[str, Any]]:
    """Reader of status and reason, where the file has them; else all is ok."""
    status, reason = (field_of(name, entries, path, is_needed=False) for name in ("status", "reason"))

    def read(entry: Entry) -> dict[str, Any]:
        value = entry.values.get(status) if status else None
        if value is not None and str(value) not in set(Status):
            raise InputError(
                f"{value!r} is no status", file=path, record=entry.record, field="status", remedy=f"Allowed: {', '.join(Status)}"
            )
        why = entry.values.get(reason) if reason else None
        return {"status": str(value or Status.OK.value), "reason": None if why is None else str(why)}

    return read
