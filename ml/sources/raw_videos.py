"""Raw videos: noticing files that have arrived in a folder, and reading given ones with the recipe beside them.

``scan_folder`` is what a sensor calls every tick: it looks at sizes and times for a limited while, and remembers. Nothing is decoded.

What is remembered lies in a ledger (an SQLite file, a row per file of about 100 bytes); the cursor holds a number and a name, whatever
the size of the folder. A recording is handed out again until a cursor that comes after it is passed in, so that a tick that dies loses
nothing; its ``version`` lets the caller start one run per version.

Sidecar ``<video without suffix>.steps.json``, times in seconds from the first displayed frame of the (first) video::

    {"activity": "Tomato soup", "licence": "own recording",
     "steps": [{"instruction": "Chop the onion", "start_s": 3.5, "end_s": 41.0}, ...]}
"""

import json
import os
import sqlite3
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ml.databases import whole_database
from ml.errors import InputError
from ml.sources.imported import ImportedSource, Problems, StepDraft, number_steps, text_id
from ml.sources.joined_videos import join_videos
from ml.sources.raw_folder import SIDECAR_SUFFIX, RawFolder, RawVideo, list_raw_videos
from ml.sources.reading import Record, TimeUnit, read_json
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import Status

LICENCE = "not stated"
_LEDGER = """
create table if not exists files (
    name blob primary key, bytes integer not null, mtime_ns integer not null, unchanged integer not null, arrival integer
) without rowid
"""


@dataclass(frozen=True)
class Cursor:
    """What a tick hands to the next: the last arrival that was handed out, and the recording at which looking goes on."""

    delivered: int = 0
    resume_after: str = ""

    def to_text(self) -> str:
        return json.dumps([self.delivered, self.resume_after])

    @classmethod
    def from_text(cls, text: str | None) -> "Cursor":
        """The cursor of ``to_text``; a new one for None. A text that is none is refused, since starting over would hand out everything."""
        if text is None:
            return cls()
        try:
            delivered, resume_after = json.loads(text)
        except (ValueError, TypeError):
            raise InputError(f"{text[:40]!r} is no cursor", remedy="Reset the sensor's cursor") from None
        if not isinstance(delivered, int) or not isinstance(resume_after, str):
            raise InputError(f"{text[:40]!r} is no cursor", remedy="Reset the sensor's cursor")
        return cls(delivered, resume_after)


@dataclass(frozen=True)
class Arrival:
    """A recording whose files are all complete. ``version`` changes with the size or time of any of them, the sidecar included."""

    video: RawVideo
    version: str


@dataclass(frozen=True)
class ScanResult:
    ready: tuple[Arrival, ...]
    cursor: Cursor
    looked_at: int  # recordings looked at in this tick
    recordings: int  # recordings in the folder
    waiting: int  # of those looked at, recordings that are not complete yet
    refused: tuple[tuple[str, str], ...]  # file name and reason


class _Seen(NamedTuple):
    bytes: int
    mtime_ns: int
    unchanged: int
    arrival: int | None


def scan_folder(
    folder: Path,
    cursor: Cursor,
    ledger: Path,
    *,
    budget_s: float = 20.0,
    stable_ticks: int = 2,
    chunk: int = 100,
    clock: Callable[[], float] = time.monotonic,
) -> ScanResult:
    """Look at the files of ``folder`` for ``budget_s`` seconds, going on where ``cursor`` stopped, and hand out what has arrived.

    A file is complete once ``stable_ticks`` looks in a row, each in another tick, found the size and time of the look before, and it is
    not empty. Times are compared for being equal, never with the clock, so a file copied with its old time arrives like any other. A file
    that changes starts anew. At most ``chunk`` recordings are handed out; the rest come with the next ticks. One process at a time per
    ledger. Raises ``InputError`` where ``folder`` is none.
    """
    if not folder.is_dir():
        raise InputError("there is no such folder", file=folder, remedy="Make it, or mend `raw_videos.folder` in the settings")
    began_s = clock()
    listed = list_raw_videos(folder)
    ledger.parent.mkdir(parents=True, exist_ok=True)
    broken = whole_database(ledger, "ledger of raw videos", "Move it away: the files are looked at anew, and none is taken in twice")
    with broken, closing(sqlite3.connect(ledger)) as database, database:
        database.execute(_LEDGER)
        seen = {row[0]: _Seen(*row[1:]) for row in database.execute("select name, bytes, mtime_ns, unchanged, arrival from files")}
        arrivals = max([cursor.delivered, *(s.arrival for s in seen.values() if s.arrival is not None)])
        changed: dict[bytes, _Seen] = {}
        looked_at = waiting = 0
        for video in _from(listed.videos, cursor.resume_after):
            if looked_at and clock() - began_s >= budget_s:
                break
            looked_at += 1
            for name in map(os.fsencode, video.all_names):
                before = seen.get(name)
                now = _look(os.path.join(os.fsencode(folder), name), before, stable_ticks)
                if now is None:
                    continue
                if now.unchanged >= stable_ticks and now.arrival is None:
                    arrivals += 1
                    now = now._replace(arrival=arrivals)
                if now != before:
                    seen[name] = changed[name] = now
            waiting += _version(video, seen) is None
            resume_after = video.native_id
        if looked_at:
            cursor = replace(cursor, resume_after=resume_after)
        if looked_at == len(listed.videos):
            cursor = replace(cursor, resume_after="")
        database.executemany(
            "insert or replace into files values (?, ?, ?, ?, ?)",
            [(name, s.bytes, s.mtime_ns, s.unchanged, s.arrival) for name, s in changed.items()],
        )
        _forget_unfinished(database, listed, seen)
    ready = _ready(listed, seen, cursor.delivered)[:chunk]
    if ready:
        cursor = replace(cursor, delivered=ready[-1][0])
    return ScanResult(tuple(arrival for _, arrival in ready), cursor, looked_at, len(listed.videos), waiting, listed.refused)


def _from(videos: Sequence[RawVideo], resume_after: str) -> Sequence[RawVideo]:
    """All videos once, beginning with the first behind ``resume_after``; they are in the order of their ids."""
    start = bisect_right(videos, resume_after, key=lambda video: video.native_id)
    return [*videos[start:], *videos[:start]]


def _look(path: bytes, before: _Seen | None, stable_ticks: int) -> _Seen | None:
    """What is known of the file after one more look; None where it cannot be looked at (it may just have been moved)."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    if before is None or (stat.st_size, stat.st_mtime_ns) != (before.bytes, before.mtime_ns) or not stat.st_size:
        return _Seen(stat.st_size, stat.st_mtime_ns, 0, None)
    return before if before.unchanged >= stable_ticks else before._replace(unchanged=before.unchanged + 1)


def _version(video: RawVideo, seen: Mapping[bytes, _Seen]) -> tuple[int, str] | None:
    """Latest arrival among the files of ``video`` and its version; None while one of them is not complete."""
    parts, latest = [], 0
    for name in video.all_names:
        known = seen.get(os.fsencode(name))
        if known is None or known.arrival is None:
            return None
        latest = max(latest, known.arrival)
        parts.append(f"{name}:{known.bytes}:{known.mtime_ns}")
    return latest, "\x1f".join(parts)


def _ready(listed: RawFolder, seen: Mapping[bytes, _Seen], delivered: int) -> list[tuple[int, Arrival]]:
    """Complete recordings of which some file arrived after ``delivered``, by the arrival of their last file."""
    ready = []
    for video in listed.videos:
        known = _version(video, seen)
        if known is not None and known[0] > delivered:
            ready.append((known[0], Arrival(video, sha256(known[1].encode()).hexdigest()[:16])))
    return sorted(ready, key=lambda item: item[0])


def _forget_unfinished(database: sqlite3.Connection, listed: RawFolder, seen: Mapping[bytes, _Seen]) -> None:
    """Drop files that went away before they were complete, such as a name that a copy tool used for a while."""
    unfinished = {name for name, known in seen.items() if known.arrival is None}
    if unfinished:
        unfinished.difference_update(os.fsencode(name) for video in listed.videos for name in video.all_names)
    database.executemany("delete from files where name = ?", [(name,) for name in unfinished])


def read_raw_videos(
    videos: Sequence[RawVideo],
    *,
    source: str,
    joined: Path | None = None,
    length_of: Callable[[Path], float | None] | None = None,
    are_proposed: bool = False,
) -> ImportedSource:
    """Recordings of ``videos``, with the steps of their sidecars. One without sidecar is ``waiting``, with what to do as the reason;
    ``are_proposed`` says that its steps will be proposed from its narrations.

    Chapters become one recording: ``length_of`` gives the length of a file in seconds (None: unknown) and the playlist that plays them as
    one is written below ``joined``; without the two the recording is ``skipped``. Raises ``InputError`` for a sidecar that does not fit.
    """
    problems = Problems()
    recordings: list[dict[str, object]] = []
    steps: list[dict[str, object]] = []
    for video in videos:
        recording_id = f"{source}/{video.native_id}"
        row: dict[str, object] = {
            "recording_id": recording_id,
            "source": source,
            "native_id": video.native_id,
            "licence": LICENCE,
            "video_path": str(video.videos[0]) if len(video.videos) == 1 else None,
            "members": [],
        }
        if video.sidecar is None:
            wanted = f"{video.native_id.rpartition('.')[0].rpartition('/')[2]}{SIDECAR_SUFFIX}"
            otherwise = ", or narrate it and materialize proposed_steps" if are_proposed else ""
            row |= {"status": Status.WAITING, "reason": f"no recipe: put {wanted} beside the video{otherwise}"}
        else:
            sidecar = Record.of(read_json(video.sidecar), video.sidecar, "sidecar")
            drafts = [_draft(step) for step in sidecar.items("steps")]
            steps += number_steps(recording_id, drafts)
            row |= {
                "activity": sidecar.optional_text("activity"),
                "licence": sidecar.optional_text("licence") or LICENCE,
                "status": Status.OK if drafts else Status.WAITING,
                "reason": None if drafts else f"no recipe: {video.sidecar.name} lists no steps",
            }
        if len(video.videos) > 1:
            row |= _join(recording_id, video, joined, length_of, problems)
        recordings.append(row)
    return ImportedSource(IMPORTED_RECORDINGS.rows(recordings), IMPORTED_STEPS.rows(steps), problems=problems.frame())


def _draft(step: Record) -> StepDraft:
    text = step.text("instruction")
    start_s, end_s = step.time("start_s", TimeUnit.SECONDS), step.time("end_s", TimeUnit.SECONDS)
    if not 0 <= start_s < end_s:
        step.fail("end_s", f"{start_s} to {end_s} s is no stretch of time", "Give 0 <= start_s < end_s, in seconds")
    return StepDraft(text_id(text), text, start_s, end_s)


def _join(
    recording_id: str, video: RawVideo, joined: Path | None, length_of: Callable[[Path], float | None] | None, problems: Problems
) -> dict[str, object]:
    lengths_s = [length_of(path) if length_of is not None else None for path in video.videos]
    known = [length_s for length_s in lengths_s if length_s is not None]
    members: list[dict[str, object]] = []
    offset_s: float | None = 0.0
    for path, length_s in zip(video.videos, lengths_s, strict=True):
        members.append({"video_uid": path.name, "offset_s": offset_s})
        offset_s = offset_s + length_s if offset_s is not None and length_s is not None else None
    if len(known) == len(lengths_s) and joined is not None:
        return {"members": members, "video_path": str(join_videos(video.videos, known, joined)), "annotated_duration_s": sum(known)}
    reason = f"the lengths of {len(lengths_s) - len(known)} of {len(lengths_s)} chapters are unknown"
    problems.add("unresolved_group", reason, "skipped", recording_id=recording_id)
    return {"members": members, "status": Status.SKIPPED, "reason": reason}
