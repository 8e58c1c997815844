"""Ego-Exo4D importer: keysteps as steps, atomic descriptions as narrations, one annotator each. Float seconds on 30 fps takes.

Files ``keystep_{train,val}.json`` and ``atomic_descriptions_{train,val}.json``, each optional but for at least one keystep file. Documented
prose and published samples differ; the sample's shape is read and the prose's names are accepted beside it. Keystep texts describe.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ml.errors import InputError
from ml.sources.imported import ImportedSource, Problems, StepDraft, natural_key, number_steps, overlaps, text_id
from ml.sources.point_narrations import Point, clean_text, narration_rows
from ml.sources.reading import Record, TimeUnit, file_sha256, keyed_records, read_json, records, stated_licence
from ml.sources.split_leaks import report_split_leaks
from ml.sources.video_files import videos_by_stem
from ml.tables.declarations.sources import IMPORTED_NARRATIONS, IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import Split, Status

LICENCE = "Ego-Exo4D licence agreement"
_SPLITS = {"train": Split.TRAIN, "val": Split.VALIDATION, "test": Split.TEST}


def read_egoexo4d(annotations: Path, videos: Path | None, *, source: str) -> ImportedSource:
    """Takes with keysteps, and the descriptions of those takes. ``videos`` is the dataset's root with ``takes.json``, or a folder in which
    a video is named after take name or uid.

    Raises ``InputError`` where no keystep file is there or the layout is another.
    """
    files = [path for name in _SPLITS if (path := annotations / f"keystep_{name}.json").is_file()]
    if not files:
        raise InputError("there is no keystep_<split>.json", file=annotations, remedy="Put keystep_train.json or keystep_val.json there")
    problems, licence = Problems(), stated_licence(annotations, {}, default=LICENCE)
    located = _Videos(annotations, videos)
    recordings: dict[str, dict[str, object]] = {}
    steps: list[dict[str, object]] = []
    for path in files:
        sha256 = file_sha256(path)
        for take in _takes(path):
            uid = take.text("take_uid")
            if uid in recordings:
                take.fail("take_uid", f"{uid} stands in {recordings[uid]['split_file']} too", "Keep one of the two")
            recording_id = f"{source}/{uid}"
            drafts = [_draft(recording_id, segment, problems) for segment in take.items("segments")]
            steps += number_steps(recording_id, drafts)
            timed = [(d.start_s, d.end_s) for d in drafts if d.start_s is not None and d.end_s is not None]
            if count := overlaps(timed):
                problems.add("overlapping_steps", f"{count} in this recording", "kept as they are", recording_id=recording_id)
            name = take.optional_text("take_name")
            recordings[uid] = {
                "recording_id": recording_id,
                "source": source,
                "native_id": uid,
                "activity": take.optional_text("scenario"),
                "split": _SPLITS[path.stem.removeprefix("keystep_")],
                "split_file": path.name,
                "split_sha256": sha256,
                "licence": licence,
                "video_path": located.find(uid, name),
                "members": [],
                "status": Status.OK if drafts else Status.EMPTY,
                "reason": None if drafts else "no keystep",
            }
    splits = {uid: Split(str(row["split"])) for uid, row in recordings.items()}
    narrations = _narrations(annotations, source, splits, problems)
    return ImportedSource(
        IMPORTED_RECORDINGS.rows(list(recordings.values())),
        IMPORTED_STEPS.rows(steps),
        IMPORTED_NARRATIONS.rows(narrations),
        problems=problems.frame(),
    )


def _takes(path: Path) -> Iterator[Record]:
    """Takes of a keystep file: an object keyed by uid in the samples, a list in the prose."""
    annotations = Record.of(read_json(path), path, "file").value.get("annotations")
    takes = (
        records(annotations, path, "take") if isinstance(annotations, list) else (t for _, t in keyed_records(annotations, path, "take"))
    )
    yield from sorted(takes, key=lambda take: natural_key(take.text("take_uid")))


def _draft(recording_id: str, segment: Record, problems: Problems) -> StepDraft:
    """One keystep. ``step_unique_id`` is global; ``step_id`` is local to a scenario and is not used where the global one is there."""
    name = segment.optional_text("step_name")
    text = segment.optional_text("step_description") or name or segment.text("step_description")
    native = segment.identifier("step_unique_id") if segment.has("step_unique_id") else text_id(name or text)
    start_s, end_s = segment.time("start_time", TimeUnit.SECONDS), segment.time("end_time", TimeUnit.SECONDS)
    draft = StepDraft(native, text, start_s, end_s, is_instruction=False, category=name)
    if segment.has("is_essential"):
        draft.relevance = "essential" if segment.flag("is_essential") else "optional"
    if not 0 <= start_s < end_s:
        draft.start_s = draft.end_s = None
        draft.is_clean, draft.status, draft.reason = False, Status.CONTRADICTION, f"{start_s} to {end_s} s is no stretch of time"
        problems.add("impossible_times", draft.reason, "the times are left out", recording_id=recording_id, record=segment.record)
    return draft


def _narrations(annotations: Path, source: str, splits: Mapping[str, Split], problems: Problems) -> list[dict[str, object]]:
    """Rows of the atomic descriptions of the takes in ``splits``; rejected ones and those of other takes are counted, not read.

    The descriptions have splits of their own; where theirs trains on what the keysteps hold out, that is reported.
    """
    rows: list[dict[str, object]] = []
    uids = splits.keys()
    for name, split in _SPLITS.items():
        path = annotations / f"atomic_descriptions_{name}.json"
        if not path.is_file():
            continue
        takes = Record.of(read_json(path), path, "file").value.get("annotations")
        if not isinstance(takes, dict):
            raise InputError("an object of takes belongs here", file=path, field="annotations")
        outside = sorted(takes.keys() - set(uids), key=natural_key)
        if outside:
            detail = f"{len(outside)} takes of {path.name} have no keysteps, e.g. {outside[0]}"
            problems.add("descriptions_without_keysteps", detail, "not imported", record=path.name)
        report_split_leaks(problems, "the keysteps", splits, path.name, dict.fromkeys(takes, split), what="takes")
        for uid in sorted(takes.keys() & set(uids), key=natural_key):
            take = Record.of({"annotators": takes[uid]}, path, f"take {uid}")
            rows += _described(f"{source}/{uid}", take, problems)
    return rows


def _described(recording_id: str, take: Record, problems: Problems) -> list[dict[str, object]]:
    by_annotator: dict[str, list[Point]] = {}
    for index, annotation in enumerate(take.items("annotators")):
        if annotation.flag("rejected", default=False):
            detail = annotation.optional_text("reject_reason") or "no reason given"
            problems.add("rejected_descriptions", detail, "left out", recording_id=recording_id, record=annotation.record)
            continue
        annotator = annotation.identifier("annotator_id") if annotation.has("annotator_id") else str(index)
        if annotator in by_annotator:  # one annotator twice: two readings, never one list
            annotator = f"{annotator}.{index}"
        points = by_annotator.setdefault(annotator, [])
        for description in annotation.items("descriptions"):
            text = clean_text(description.optional_text("text") or "")
            t_s = description.time("timestamp", TimeUnit.SECONDS)
            if text and t_s >= 0:
                points.append(Point(t_s, text))
            else:
                problems.add("unusable_narration", f"{t_s} s: {text!r}", "left out", recording_id=recording_id, record=description.record)
    return [row for annotator, points in by_annotator.items() for row in narration_rows(recording_id, annotator, points)]


class _Videos:
    """Where the head camera's video of a take lies."""

    def __init__(self, annotations: Path, videos: Path | None) -> None:
        self._by_stem = videos_by_stem(videos)
        self._by_uid: dict[str, Path] = {}
        listing = next((p for folder in (videos, annotations) if folder and (p := folder / "takes.json").is_file()), None)
        if videos is None or listing is None:
            return
        for take in records(read_json(listing), listing, "take"):
            cameras = take.value.get("frame_aligned_videos")
            relative = _head_camera(cameras) if isinstance(cameras, dict) else None
            if relative is None:
                continue
            root = take.optional_text("root_dir") or f"takes/{take.text('take_name')}"
            if (path := videos / root / relative).is_file():
                self._by_uid[take.text("take_uid")] = path

    def find(self, uid: str, name: str | None) -> str | None:
        path = self._by_uid.get(uid) or self._by_stem.get(uid) or (self._by_stem.get(name) if name else None)
        return str(path) if path else None


def _head_camera(cameras: Mapping[str, object]) -> str | None:
    """Relative path of the Aria glasses' colour stream."""
    for camera in sorted(cameras):
        streams = cameras[camera]
        stream = streams.get("rgb") if camera.startswith("aria") and isinstance(streams, dict) else None
        if isinstance(stream, dict) and isinstance(stream.get("relative_path"), str):
            return str(stream["relative_path"])
    return None
