"""Rows of ``narrations``: from the dataset where it narrates, else from a narrator that sees the windows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import polars as pl

from ml.errors import InputError
from ml.narration.imported import choose_annotator, narrations_in_windows
from ml.narration.narrator import Narration, Narrator
from ml.tables.declarations.recordings import NARRATIONS
from ml.video.reader import VideoReader
from ml.video.windows import Window, WindowFrames, make_windows, read_windows
from ml.vocabulary import Status

REPEATS_FROM = 3  # so many windows in a row with one text are a repetition


@dataclass(frozen=True)
class ToNarrate:
    """One recording to narrate: ``duration_s`` is the decodable length where there is a video; ``imported`` its ``imported_narrations``.

    ``video_status`` and ``video_reason`` are those of ``recordings``: a video that is not ok is not read.
    """

    recording_id: str
    video_path: Path | None
    duration_s: float | None
    imported: pl.DataFrame | None = None
    video_status: Status = Status.OK
    video_reason: str | None = None


def narrate_recordings(recordings: Sequence[ToNarrate], get_narrator: Callable[[], Narrator]) -> dict[str, pl.DataFrame]:
    """Rows of ``narrations`` for windows of 10 s every 5 s of each recording, by recording id.

    Where ``imported`` has rows, they are used and no video is read; a missing ``duration_s`` is then the end of the last of them. Else
    ``get_narrator`` is called, once and only then, and describes the windows; windows of several recordings share a call, which is what
    fills a batch of a small model. Without either a video or imported narrations there is one row over the recording, with the status of
    its video (``no_video``, ``bad_video``), or ``empty`` where a video has no length.

    A window that fails is a row with its status; so is every window of a file that cannot be opened (``bad_video``). Raises
    ``InputError`` only for what would fail for every recording alike (see ``Narrator``).
    """
    made: dict[str, pl.DataFrame] = {}
    seen: list[ToNarrate] = []
    for recording in recordings:
        if recording.imported is not None and recording.imported.height:
            made[recording.recording_id] = _from_dataset(recording, recording.imported)
        elif recording.video_path is None or recording.video_status is not Status.OK or not recording.duration_s:
            made[recording.recording_id] = _unseen(recording)
        else:
            seen.append(recording)
    if seen:
        made |= _from_videos(seen, get_narrator())
    return made


def narrate_recording(
    recording_id: str,
    video_path: Path | None,
    duration_s: float | None,
    get_narrator: Callable[[], Narrator],
    *,
    imported: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """``narrate_recordings`` for one recording."""
    return narrate_recordings([ToNarrate(recording_id, video_path, duration_s, imported)], get_narrator)[recording_id]


def _from_dataset(recording: ToNarrate, imported: pl.DataFrame) -> pl.DataFrame:
    length_s = recording.duration_s or imported.select(pl.max_horizontal(pl.col("end_s").max(), pl.col("start_s").max())).item()
    windows = make_windows(length_s)
    annotator = choose_annotator(imported)
    return _frame(recording.recording_id, f"dataset/{annotator}", windows, narrations_in_windows(imported, windows, annotator))


def _unseen(recording: ToNarrate) -> pl.DataFrame:
    """The one row of a recording that nobody can narrate."""
    match recording.video_status:
        case Status.OK if recording.video_path is not None:
            status, reason = Status.EMPTY, "the video has no length and the dataset has no narrations"
        case Status.OK:
            status, reason = Status.NO_VIDEO, "no video file, and the dataset has no narrations"
        case _:
            status, reason = recording.video_status, recording.video_reason or f"the video is {recording.video_status}"
    whole = Window(0, 0.0, recording.duration_s or 0.0)
    return _frame(recording.recording_id, "none", [whole], [Narration(None, status, reason)])


def _from_videos(recordings: Sequence[ToNarrate], narrator: Narrator) -> dict[str, pl.DataFrame]:
    windows = {recording.recording_id: make_windows(recording.duration_s or 0.0) for recording in recordings}
    told: dict[str, list[Narration]] = {recording.recording_id: [] for recording in recordings}
    for batch in _batches(_all_windows(recordings, windows, told, narrator), narrator.windows_per_call):
        for (recording_id, _), narration in zip(batch, _describe(narrator, [window for _, window in batch]), strict=True):
            told[recording_id].append(narration)
    return {recording_id: _frame(recording_id, narrator.name, windows[recording_id], told[recording_id]) for recording_id in told}


def _all_windows(
    recordings: Sequence[ToNarrate], windows: dict[str, list[Window]], told: dict[str, list[Narration]], narrator: Narrator
) -> Iterator[tuple[str, WindowFrames]]:
    """Windows of one recording after the other; a file that cannot be opened is told as ``bad_video`` here and gives none."""
    plan = narrator.plan
    for recording in recordings:
        mine = windows[recording.recording_id]
        try:
            reader = VideoReader(recording.video_path or Path())
        except InputError as error:
            told[recording.recording_id] = [Narration(None, Status.BAD_VIDEO, error.problem)] * len(mine)
            continue
        with reader:
            for window in read_windows(reader, mine, plan.fps, plan.frame_size((reader.width, reader.height)), plan.max_frames):
                yield recording.recording_id, window


def mark_repeats(texts: Sequence[str | None]) -> list[bool]:
    """Which texts repeat the one before within a run of at least three equal ones; letter case and blanks do not count."""
    plain = [None if text is None else " ".join(text.lower().split()) for text in texts]
    marks = [False] * len(plain)
    start = 0
    for index in range(1, len(plain) + 1):
        if index == len(plain) or plain[index] is None or plain[index] != plain[start]:
            if index - start >= REPEATS_FROM:
                marks[start + 1 : index] = [True] * (index - start - 1)
            start = index
    return marks


def _describe(narrator: Narrator, batch: list[WindowFrames]) -> list[Narration]:
    """Asks the narrator for the windows that hold frames; an empty one is a row without a call."""
    full = [window for window in batch if len(window.times_s)]
    answers = iter(narrator.describe(full) if full else [])
    nothing = Narration(None, Status.SKIPPED, "no frame of the video is shown in this window")
    return [next(answers) if len(window.times_s) else nothing for window in batch]


def _batches(windows: Iterator[tuple[str, WindowFrames]], size: int) -> Iterator[list[tuple[str, WindowFrames]]]:
    while batch := list(islice(windows, size)):
        yield batch


def _frame(recording_id: str, narrator: str, windows: list[Window], narrations: list[Narration]) -> pl.DataFrame:
    repeats = mark_repeats([n.text if n.status is Status.OK else None for n in narrations])
    return NARRATIONS.rows(
        [
            {
                "recording_id": recording_id,
                "window_index": window.index,
                "start_s": window.start_s,
                "end_s": window.end_s,
                "text": narration.text,
                "narrator": narrator,
                "is_repeat": is_repeat,
                "status": narration.status,
                "reason": narration.reason,
            }
            for window, narration, is_repeat in zip(windows, narrations, repeats, strict=True)
        ]
    )
