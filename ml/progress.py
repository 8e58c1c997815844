"""Progress of long work, as a small file that anyone may poll: stage, done, total, seconds left. No display here."""

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

WRITE_EVERY_S = 0.3


@dataclass(frozen=True)
class Snapshot:
    stage: str
    done: int
    total: int
    elapsed_s: float
    left_s: float | None

    @classmethod
    def since(cls, started: float, stage: str, done: int, total: int, *, before: int = 0) -> "Snapshot":
        """A snapshot of now; ``started`` is the monotonic clock when the work began, with ``before`` items done by an earlier run."""
        elapsed, here = time.monotonic() - started, done - before
        return cls(stage, done, total, elapsed, elapsed / here * (total - done) if here > 0 else None)

    def text(self) -> str:
        left = "" if self.left_s is None else f", {format_seconds(self.left_s)} left"
        return f"{self.stage}: {self.done}/{self.total} ({format_seconds(self.elapsed_s)}{left})"


@dataclass
class Progress:
    """Counts done items of ``total`` and writes ``<folder>/<stage>.json`` at most every 0.3 s; call it as ``progress(done, total)``.

    What the first call tells was done before: the time left goes by the rest.
    """

    folder: Path
    stage: str
    total: int = 0
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    written: float = 0.0
    before: int | None = None

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        self.before = done if self.before is None else self.before
        if done >= total or time.monotonic() - self.written >= WRITE_EVERY_S:
            self._write()

    def advance(self, count: int = 1) -> None:
        self(self.done + count, self.total)

    def snapshot(self) -> Snapshot:
        return Snapshot.since(self.started, self.stage, self.done, self.total, before=self.before or 0)

    def _write(self) -> None:
        self.written = time.monotonic()
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{self.stage}.{os.getpid()}.tmp"
        temporary.write_text(json.dumps(self.snapshot().__dict__))
        temporary.replace(self.folder / f"{self.stage}.json")


def read_progress(folder: Path, stage: str) -> Snapshot | None:
    try:
        return Snapshot(**json.loads((folder / f"{stage}.json").read_text()))
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def format_seconds(seconds: float) -> str:
    """``42 s``, ``3 min 05 s``, ``2 h 10 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
