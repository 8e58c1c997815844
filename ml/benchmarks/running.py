"""Running the units of a benchmark (recordings, videos, samples): several at once, kept as they finish, resumed after a kill.

What a unit is and how it is run is the protocol's business.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from ml.benchmarks.assistants.interface import LookAheadError
from ml.errors import InputError
from ml.vocabulary import Status

Row = dict[str, Any]
Progress = Callable[[int, int], None]


class AssistantUnusableError(RuntimeError):
    """No unit could be run: no such model, a wrong key, a spent budget. The run stops; what is finished is kept."""


STOPS_THE_RUN = (LookAheadError, AssistantUnusableError)


class RunJournal:
    """Finished units of a run that goes on: one JSON line each, under a first line that names what the run is made from.

    A journal of another run is begun anew. A line that a kill cut short is dropped. Units with a failed row are run again. For threads.
    """

    def __init__(self, path: Path, made_from: str) -> None:
        self.path, self._made_from = path, made_from
        self.finished: dict[str, list[Row]] = {}
        self._lock = Lock()
        self._read()

    def keep(self, key: str, rows: Sequence[Row]) -> None:
        """The unit is done: on disk for any later process when this returns."""
        with self._lock:
            self.finished[key] = list(rows)
            if not self.path.exists():
                self._append({"made_from": self._made_from})
            self._append({"unit": key, "rows": list(rows)})

    def remove(self) -> None:
        """The run is whole and stored elsewhere."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> None:
        lines = self.path.read_bytes().split(b"\n") if self.path.exists() else []
        whole = [_parsed(line) for line in lines[:-1]]
        if not whole or whole[0] is None or whole[0].get("made_from") != self._made_from:
            self.path.unlink(missing_ok=True)
            return
        for entry in whole[1:]:
            if entry is not None and all(row.get("status") == Status.OK for row in entry["rows"]):
                self.finished[entry["unit"]] = entry["rows"]
        if lines[-1]:  # a line without its end: whatever comes next must begin on a line of its own
            self._append(None)

    def _append(self, entry: Mapping[str, Any] | None) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = "\n" if entry is None else json.dumps(entry, ensure_ascii=False) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def check_run(predictions: pl.DataFrame, file: Path | None = None) -> None:
    """Raise ``InputError`` when there are rows and none of them is ok: a run whose items all failed is a failed run. ``file``: its own."""
    if predictions.height and not (predictions["status"] == Status.OK).any():
        first = predictions.row(0, named=True)
        record = first.get("recording_id") or first.get("sample_id")
        raise InputError(f"all {predictions.height} items failed, the first with: {first['reason']}", file=file, record=record)


class Units:
    """The units of a run as they end: those of the journal are there from the start, and finished ones go into it. For one thread."""

    def __init__(self, keys: Sequence[str], journal: RunJournal | None = None, progress: Progress | None = None) -> None:
        self._keys, self._journal, self._progress = keys, journal, progress
        held = journal.finished if journal is not None else {}
        self._done: dict[str, list[Row]] = {key: held[key] for key in keys if key in held}
        self.todo = [key for key in keys if key not in self._done]
        self._tell()

    def finish(self, key: str, rows: Sequence[Row]) -> None:
        self._done[key] = list(rows)
        if self._journal is not None:
            self._journal.keep(key, rows)
        self._tell()

    def rows(self) -> dict[str, list[Row]]:
        """Rows of every unit, in the order of the keys. For the end, when all are finished."""
        return {key: self._done[key] for key in self._keys}

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(len(self._done), len(self._keys))


def run_units(
    keys: Sequence[str],
    run_one: Callable[[str], list[Row]],
    *,
    workers: int = 1,
    journal: RunJournal | None = None,
    progress: Progress | None = None,
) -> dict[str, list[Row]]:
    """Rows of every unit, in the order of ``keys``; those in the journal are not run again, and finished ones go into it.

    ``run_one`` turns its own failures into rows; what it raises ends the run. With ``workers`` above 1 it is called from threads.
    """
    units = Units(keys, journal, progress)
    if workers <= 1:
        for key in units.todo:
            units.finish(key, run_one(key))
    else:
        _run_in_threads(units.todo, run_one, units.finish, workers)
    return units.rows()


def _run_in_threads(
    todo: Sequence[str], run_one: Callable[[str], list[Row]], finish: Callable[[str, list[Row]], None], workers: int
) -> None:
    """At most ``workers`` at a time; after a unit that raises no further one is begun, and those that finish are still kept."""
    waiting = iter(todo)
    running: dict[Future[list[Row]], str] = {}
    failed: BaseException | None = None
    pool = ThreadPoolExecutor(workers, thread_name_prefix="benchmark")
    try:
        while True:
            while failed is None and len(running) < workers and (key := next(waiting, None)) is not None:
                running[pool.submit(run_one, key)] = key
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                key = running.pop(future)
                error = future.exception()
                if error is None:
                    finish(key, future.result())
                else:
                    failed = failed or error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C nobody waits for the units under way
    if failed is not None:
        raise failed
