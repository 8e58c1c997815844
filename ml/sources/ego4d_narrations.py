"""Ego4D narrations importer: two passes of point narrations per video, each an annotator of its own. The video gives no steps.

File ``narration.json`` (or ``all_narrations_redacted.json``), keyed by video uid. ``timestamp_sec`` decides; ``timestamp_frame`` counts
frames of the canonical 30 fps video and is compared with it; ``_unmapped_timestamp_sec`` is another time line and is not read.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from ml.errors import InputError
from ml.sources.ego4d_videos import read_durations
from ml.sources.imported import ImportedSource, Problems, natural_key
from ml.sources.point_narrations import Point, clean_text, narration_rows
from ml.sources.reading import Record, TimeUnit, keyed_records, read_json, stated_licence
from ml.sources.video_files import videos_by_stem
from ml.tables.declarations.sources import IMPORTED_NARRATIONS, IMPORTED_RECORDINGS
from ml.vocabulary import Status

LICENCE = "Ego4D licence agreement"
RATE = Fraction(30)
FILES = ("narration.json", "narrations.json", "all_narrations_redacted.json")
PASSES = ("narration_pass_1", "narration_pass_2")


def read_ego4d_narrations(
    annotations: Path, videos: Path | None, *, source: str, durations_s: Mapping[str, float] | None = None
) -> ImportedSource:
    """Recordings and narrations of every video in the file; ``durations_s`` bounds the last narration where a length is known;
    without it ``ego4d.json`` beside the annotations is read where present.

    A pass that is absent is no error. Raises ``InputError`` where none of ``FILES`` is there or the layout is another.
    """
    path = next((annotations / name for name in FILES if (annotations / name).is_file()), None)
    if path is None:
        raise InputError("there is no narration file", file=annotations, remedy=f"Expected one of {', '.join(FILES)}")
    lengths = dict(durations_s) if durations_s is not None else read_durations(annotations)
    problems, found = Problems(), videos_by_stem(videos)
    value = read_json(path)
    if isinstance(value, dict) and isinstance(value.get("videos"), dict):
        value = value["videos"]  # releases differ in whether the videos are wrapped
    licence = stated_licence(annotations, {}, default=LICENCE)
    recordings: list[dict[str, object]] = []
    narrations: list[dict[str, object]] = []
    for uid, video in sorted(keyed_records(value, path, "video"), key=lambda item: natural_key(item[0])):
        recording_id = f"{source}/{uid}"
        count = 0
        for name in PASSES:
            if not video.has(name):
                continue
            points = _points(recording_id, Record.of(video.value[name], path, f"video {uid}, {name}"), problems)
            narrations += narration_rows(recording_id, name, points, end_s=lengths.get(uid))
            count += len(points)
        recordings.append(
            {
                "recording_id": recording_id,
                "source": source,
                "native_id": uid,
                "licence": licence,
                "video_path": str(found[uid]) if uid in found else None,
                "annotated_duration_s": lengths.get(uid),
                "members": [],
                "status": Status.OK if count else Status.EMPTY,
                "reason": None if count else f"no narration (status {video.optional_text('status') or 'not stated'})",
            }
        )
    return ImportedSource(IMPORTED_RECORDINGS.rows(recordings), narrations=IMPORTED_NARRATIONS.rows(narrations), problems=problems.frame())


def _points(recording_id: str, annotator: Record, problems: Problems) -> list[Point]:
    points = []
    disagreeing = 0
    for narration in annotator.items("narrations"):
        t_s = narration.time("timestamp_sec", TimeUnit.SECONDS)
        if narration.has("timestamp_frame"):
            frame_s = narration.time("timestamp_frame", TimeUnit.FRAMES, rate=RATE)
            disagreeing += abs(frame_s - t_s) > 1 / RATE
        text = clean_text(narration.optional_text("narration_text") or "")
        if t_s < 0 or not text:
            detail = f"{t_s} s: {text!r}"
            problems.add("unusable_narration", detail, "left out", recording_id=recording_id, record=narration.record)
            continue
        points.append(Point(t_s, text))
    if disagreeing:
        detail = f"{disagreeing} narrations differ by more than a frame between timestamp_sec and timestamp_frame"
        problems.add("seconds_and_frames_disagree", detail, "seconds decide", recording_id=recording_id, record=annotator.record)
    if any(b.t_s < a.t_s for a, b in pairwise(points)):
        problems.add("unsorted_narrations", annotator.record, "sorted by time, ties in file order", recording_id=recording_id)
    return points
