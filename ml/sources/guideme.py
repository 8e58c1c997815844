"""GuideMe importer: the recordings of an annotation folder. Their dialogues are a benchmark's (``ml.benchmarks.guideme.data``).

Layout as published: ``annotation_test_subset50.json`` (a list, or several such files) beside ``videos_2fps/``.
"""

from pathlib import Path

from ml.benchmarks.guideme.data import read_items
from ml.sources.imported import ImportedSource, Problems, natural_key
from ml.sources.reading import file_sha256, stated_licence
from ml.sources.video_files import normal_name, videos_by_stem
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import Split, Status

LICENCE = "none stated by the authors"
VIDEO_FOLDER = "videos_2fps"


def read_guideme_source(annotations: Path, videos: Path | None, *, source: str) -> ImportedSource:
    """One recording per item. Videos are found by file name below ``videos``, else below ``videos_2fps`` beside the annotations.

    A file with ``train`` in its name gives the train split, any other the test split. An item without any answer is ``empty``.
    """
    beside = annotations / VIDEO_FOLDER
    found = videos_by_stem(videos if videos is not None else beside if beside.is_dir() else None)
    problems = Problems()
    rows: list[dict[str, object]] = []
    hashes: dict[Path, str] = {}
    for path, item in read_items(annotations):
        name = Path(item.video_file).stem if item.video_file else item.video_id
        video = found.get(normal_name(name))
        recording_id = f"{source}/{item.video_id}"
        if found and video is None:
            problems.add("no_video", f"no video {name!r}", "kept without video", recording_id=recording_id, record=path.name)
        hashes.setdefault(path, file_sha256(path))
        rows.append(
            {
                "recording_id": recording_id,
                "source": source,
                "native_id": item.video_id,
                "activity": item.goal or None,
                "split": Split.TRAIN if "train" in path.stem else Split.TEST,
                "split_file": path.name,
                "split_sha256": hashes[path],
                "licence": stated_licence(annotations, {}, default=LICENCE),
                "video_path": str(video) if video else None,
                "has_mistakes": any(turn.category in ("error", "correction") for turn in item.answers) or None,
                "members": [],
                "status": Status.OK if item.answers else Status.EMPTY,
                "reason": None if item.answers else "the dialogue holds no answer",
            }
        )
    rows.sort(key=lambda row: natural_key(str(row["native_id"])))
    return ImportedSource(IMPORTED_RECORDINGS.rows(rows), IMPORTED_STEPS.empty(), problems=problems.frame())
