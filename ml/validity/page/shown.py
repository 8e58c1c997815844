"""What a reviewer sees of one pair, and the clips that go with it. Pages and answers are elsewhere."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ml.errors import InputError
from ml.tables.declarations.pairs import VALIDITY_SAMPLE
from ml.video.clips import cut_clip
from ml.vocabulary import Status

AHEAD = 3  # clips made ready before they are asked for


@dataclass(frozen=True)
class Narrated:
    """One narration, on the recording's time line."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Shown:
    """One pair of the sample with the narrations of its clip. Times are on the recording's time line."""

    position: int
    pair_id: str
    shown_sha256: str
    recording_id: str
    mistake_type: str
    direction: str
    instruction: str
    counterfactual_instruction: str
    feedback: str
    clip_start_s: float
    clip_end_s: float
    t_s: float
    video_path: str
    narrations: tuple[Narrated, ...]

    @property
    def length_s(self) -> float:
        return self.clip_end_s - self.clip_start_s

    def share(self, t_s: float) -> float:
        """Place of a time on the clip's time line, 0 to 100; what lies outside is put at its edge."""
        return min(100.0, max(0.0, 100 * (t_s - self.clip_start_s) / self.length_s))


def shown_pairs(sample: pl.DataFrame, narrations: pl.DataFrame) -> list[Shown]:
    """The rows of ``validity_sample`` in order of position, with the ok narrations that overlap each clip."""
    good = narrations.filter((pl.col("status") == Status.OK) & pl.col("text").is_not_null()).sort("recording_id", "start_s")
    told: dict[str, list[dict[str, Any]]] = {}
    for row in good.select("recording_id", "start_s", "end_s", "text").iter_rows(named=True):
        told.setdefault(row["recording_id"], []).append(row)
    ordered = VALIDITY_SAMPLE.check(sample).sort("position")
    return [_shown(row, told.get(row["recording_id"], [])) for row in ordered.iter_rows(named=True)]


def _shown(row: Mapping[str, Any], told: Sequence[Mapping[str, Any]]) -> Shown:
    fields = {name: row[name] for name in Shown.__dataclass_fields__ if name != "narrations"}
    inside = (n for n in told if n["end_s"] > row["clip_start_s"] and n["start_s"] < row["clip_end_s"])
    return Shown(**fields, narrations=tuple(Narrated(n["start_s"], n["end_s"], n["text"]) for n in inside))


class ClipStore:
    """Clips cut on demand below ``folder``, once each, with the next few made ready in the background."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._locks: dict[Path, threading.Lock] = {}
        self._guard = threading.Lock()
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="clips")

    def path(self, shown: Shown) -> Path:
        video = Path(shown.video_path)
        stat = video.stat() if video.exists() else None
        parts = (shown.video_path, stat and stat.st_size, stat and stat.st_mtime_ns, shown.clip_start_s, shown.clip_end_s)
        return self.folder / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}.mp4"

    def get(self, shown: Shown) -> Path:
        """The clip's file. Raises ``InputError`` where the video cannot be read."""
        path = self.path(shown)
        with self._guard:
            lock = self._locks.setdefault(path, threading.Lock())
        with lock:
            if not path.exists():
                cut_clip(Path(shown.video_path), shown.clip_start_s, shown.clip_end_s, path)
        return path

    def make_ready(self, following: Sequence[Shown]) -> None:
        """Cut these in the background; one that fails is told about when it is asked for."""
        for shown in following[:AHEAD]:
            if not self.path(shown).exists():
                self._ahead.submit(self._try, shown)

    def _try(self, shown: Shown) -> None:
        try:
            self.get(shown)
        except InputError:
            return

    def close(self) -> None:
        self._ahead.shutdown(wait=False, cancel_futures=True)
