"""From imported rows and a video probe to ``recordings`` and ``steps``: lengths, order, and times checked against the video.

Nothing is read from disk here. A time that does not fit the video is never moved to fit, but for the rounding of catalogues.
"""

from typing import Any

import polars as pl

from ml.errors import InputError
from ml.tables.declarations.recordings import RECORDINGS, STEPS, VIDEO_PROBE
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import Status

TOLERANCE_S = 0.05  # annotated ends pass a rounded length by up to 5 ms (CaptainCook4D); one frame at 30 fps is 33 ms


def place_recording(imported: pl.DataFrame, probe: pl.DataFrame | None) -> pl.DataFrame:
    """One row of ``recordings`` from one row of ``imported_recordings`` and the ``video_probe`` row of its video, if it was probed.

    ``duration_s`` is the decodable length, else the annotated one. ``video_status`` is the probe's status, ``no_video`` without a file.
    ``status`` stays that of the import: text stages run without a video.
    """
    row = _one(imported, IMPORTED_RECORDINGS.name)
    if imported.columns != IMPORTED_RECORDINGS.polars_schema.names():
        IMPORTED_RECORDINGS.check(imported)
    duration_s, reason = row["annotated_duration_s"], row["reason"]
    if row["video_path"] is None:
        video_status = Status.NO_VIDEO
        without = f"no file joins its {len(row['members'])} videos" if row["members"] else "no video file"
        reason = reason or without
    elif probe is None or probe.is_empty():
        video_status, reason = Status.SKIPPED, reason or "the video was not probed"
    else:
        seen = _one(probe, VIDEO_PROBE.name)
        if seen["recording_id"] != row["recording_id"]:
            raise InputError(f"the probe is of {seen['recording_id']}", file=VIDEO_PROBE.name, record=row["recording_id"])
        video_status = Status(seen["status"])
        if video_status is Status.OK and seen["decodable_s"] is not None:
            duration_s = seen["decodable_s"]
        reason = reason or seen["reason"]
    return RECORDINGS.check(RECORDINGS.rows([row | {"duration_s": duration_s, "video_status": video_status, "reason": reason}]))


def place_steps(imported: pl.DataFrame, recording: pl.DataFrame, *, tolerance_s: float = TOLERANCE_S) -> pl.DataFrame:
    """The steps of one recording (rows of ``imported_steps``) on its time line, ordered by start, steps without times last.

    An end up to ``tolerance_s`` past the length becomes the length, a start as little below 0 becomes 0. Times further out are kept and
    the row is ``out_of_clip`` with the excess, unless it has another status already; a negative start (such as -1) is taken out.
    As many rows leave as came in. Raises ``InputError`` for a step of another recording.
    """
    about = _one(recording, RECORDINGS.name)
    rows = []
    for row in imported.iter_rows(named=True):
        if row["recording_id"] != about["recording_id"]:
            raise InputError(
                f"the step belongs to {row['recording_id']}, not to {about['recording_id']}",
                file=IMPORTED_STEPS.name,
                record=row["step_uid"],
                remedy="Pass the steps of one recording",
            )
        rows.append(_placed(row, about["duration_s"], tolerance_s))
    rows.sort(key=_order)
    for position, row in enumerate(rows):
        row["position"] = position
    return STEPS.check(STEPS.rows(rows))


def _placed(row: dict[str, object], duration_s: float | None, tolerance_s: float) -> dict[str, object]:
    start_s, end_s = row["start_s"], row["end_s"]
    if not isinstance(start_s, float):
        return row | {"start_s": None, "end_s": None}
    if start_s < -tolerance_s or (isinstance(end_s, float) and end_s <= start_s):
        return _marked(row, Status.CONTRADICTION, f"{start_s} to {end_s} s is no stretch of time") | {"start_s": None, "end_s": None}
    placed = row | {"start_s": max(start_s, 0.0)}
    if duration_s is None:
        return placed
    last_s = end_s if isinstance(end_s, float) else start_s
    excess_s = last_s - duration_s
    if excess_s <= 0:
        return placed
    if excess_s <= tolerance_s and start_s < duration_s:
        return placed | ({"end_s": duration_s} if isinstance(end_s, float) else {})
    return _marked(placed, Status.OUT_OF_CLIP, f"reaches {excess_s:.3f} s past the video, which ends at {duration_s:.3f} s")


def _marked(row: dict[str, object], status: Status, reason: str) -> dict[str, object]:
    """The row, not clean, with ``status``; a status that it has already stays, and the reason is added."""
    if row["status"] == Status.OK:
        return row | {"status": status, "reason": reason, "is_clean": False}
    return row | {"reason": f"{row['reason']}; {reason}" if row["reason"] else reason, "is_clean": False}


def _order(row: dict[str, object]) -> tuple[bool, float, float, int]:
    start_s, end_s, position = row["start_s"], row["end_s"], row["position"]
    return (
        not isinstance(start_s, float),
        start_s if isinstance(start_s, float) else 0.0,
        end_s if isinstance(end_s, float) else 0.0,
        position if isinstance(position, int) else 0,
    )


def _one(frame: pl.DataFrame, name: str) -> dict[str, Any]:
    if frame.height != 1:
        raise InputError(f"{frame.height} rows where one belongs", file=name)
    return frame.row(0, named=True)
