"""Cook-MRE importer: samples of a clip and an instruction, as recordings and as the canonical ``benchmark_clips``.

Files are JSON lists, JSON lines or CSV with one sample a record. The column names of the published files were not checked against the
data; ``columns`` (in the settings) reads a release that names them otherwise.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ml.benchmarks.cook_mre.samples import CORRECT, ELEMENTS, GRADED_ELEMENTS, MISTAKE
from ml.errors import InputError
from ml.sources.columns import ColumnNames
from ml.sources.imported import ImportedSource, Problems, natural_key
from ml.sources.reading import Record, TimeUnit, file_sha256, read_csv, read_json, read_json_lines, records, stated_licence, to_seconds
from ml.sources.video_files import VIDEO_SUFFIXES, normal_name, videos_by_stem
from ml.tables.declarations.benchmarks import BENCHMARK_CLIPS
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import Split, Status

LICENCE = "COM Kitchens videos: NII IDR terms, research only"
_DIFFICULTIES = ("easy", "hard")
_CLASSES = {MISTAKE: MISTAKE, CORRECT: CORRECT, "error": MISTAKE, "incorrect": MISTAKE, "no_mistake": CORRECT, "no mistake": CORRECT}
_NOTHING = frozenset({"", "none", "null", "-"})


@dataclass(frozen=True)
class CookColumns(ColumnNames):
    """Names of the fields. ``start``, ``end``, ``difficulty`` and ``elements`` may be absent from a file."""

    DATASET = "Cook-MRE"

    sample_id: str = "sample_id"
    video: str = "video"
    start: str = "start_time"
    end: str = "end_time"
    instruction: str = "instruction"
    sample_class: str = "class"
    element: str = "element"
    original: str = "original_description"
    difficulty: str = "difficulty"
    elements: str = "elements"


@dataclass(frozen=True)
class Sample:
    """One record of a file, read and checked. Times in seconds from the start of the video."""

    file: Path
    sample_id: str
    video: str
    start_s: float
    end_s: float | None
    instruction: str
    sample_class: str
    element: str | None
    original: str
    difficulty: str | None
    elements: tuple[str, ...]


def read_cook_samples(annotations: Path, columns: CookColumns | None = None) -> list[Sample]:
    """All samples below ``annotations`` (a file or a folder). Raises ``InputError`` with file, record and field."""
    if annotations.is_file():
        files = [annotations]
    elif annotations.is_dir():
        files = sorted(path for path in annotations.iterdir() if path.suffix.lower() in (".json", ".jsonl", ".csv"))
    else:
        raise InputError("there is no such folder", file=annotations, remedy="Mend `annotations` in the settings")
    if not files:
        raise InputError("there is no sample file", file=annotations, remedy="Put the samples there as .json, .jsonl or .csv")
    seen: set[str] = set()
    samples = []
    for path in files:
        for record in _records(path):
            sample = _sample(record, columns or CookColumns())
            if sample.sample_id in seen:
                record.fail((columns or CookColumns()).sample_id, f"sample {sample.sample_id!r} comes twice", "Keep one of the two")
            seen.add(sample.sample_id)
            samples.append(sample)
    return samples


def read_cook_mre_source(annotations: Path, videos: Path | None, *, source: str, columns: CookColumns | None = None) -> ImportedSource:
    """One recording per video that samples name; videos are found by file name anywhere below ``videos``."""
    folder = annotations if annotations.is_dir() else annotations.parent
    problems = Problems()
    by_video: dict[str, list[Sample]] = {}
    for sample in read_cook_samples(annotations, columns):
        by_video.setdefault(native_id(sample.video), []).append(sample)
    found = _find_videos(videos, list(by_video))
    rows: list[dict[str, object]] = []
    hashes: dict[Path, str] = {}
    for name, samples in by_video.items():
        first = samples[0].file
        hashes.setdefault(first, file_sha256(first))
        video = found.get(name)
        if videos is not None and video is None:
            problems.add("no_video", f"no video {name!r}", "kept without video", recording_id=f"{source}/{name}", record=first.name)
        rows.append(
            {
                "recording_id": f"{source}/{name}",
                "source": source,
                "native_id": name,
                "split": Split.TEST,
                "split_file": first.name,
                "split_sha256": hashes[first],
                "licence": stated_licence(folder, {}, default=LICENCE),
                "video_path": str(video) if video else None,
                "members": [],
                "status": Status.OK,
            }
        )
    rows.sort(key=lambda row: natural_key(str(row["native_id"])))
    return ImportedSource(IMPORTED_RECORDINGS.rows(rows), IMPORTED_STEPS.empty(), problems=problems.frame())


def clips_table(samples: list[Sample], recordings: pl.DataFrame, benchmark: str) -> pl.DataFrame:
    """``benchmark_clips`` of samples whose recordings are given (``recordings`` rows of the source)."""
    known = {row["native_id"]: row for row in recordings.iter_rows(named=True)}
    rows: list[dict[str, object]] = []
    for sample in samples:
        recording = known.get(native_id(sample.video))
        if recording is None:
            continue
        end = "end" if sample.end_s is None else f"{sample.end_s:.3f}"
        rows.append(
            {
                "benchmark": benchmark,
                "sample_id": sample.sample_id,
                "clip_id": f"{recording['recording_id']}/{sample.start_s:.3f}-{end}",
                "recording_id": recording["recording_id"],
                "video_path": recording["video_path"],
                "start_s": sample.start_s,
                "end_s": sample.end_s if sample.end_s is not None else recording["duration_s"],
                "instruction": sample.instruction,
                "sample_class": sample.sample_class,
                "element": sample.element,
                "original": sample.original,
                "difficulty": sample.difficulty,
                "elements": list(sample.elements),
            }
        )
    return BENCHMARK_CLIPS.check(BENCHMARK_CLIPS.rows(rows))


def native_id(video: str) -> str:
    """A video's name without suffix; folders of it are kept, since COM Kitchens calls every video alike."""
    path = Path(video)
    return (path.parent / path.stem).as_posix() if path.suffix else path.as_posix()


def _find_videos(videos: Path | None, names: Iterable[str]) -> dict[str, Path]:
    """File of each name below ``videos``: a name with folders must agree in all of them."""
    if videos is None:
        return {}
    by_stem = videos_by_stem(videos)
    found = {name: by_stem[normal_name(name)] for name in names if "/" not in name and normal_name(name) in by_stem}
    if nested := [name for name in names if "/" in name]:
        paths = [path for path in sorted(videos.rglob("*")) if path.suffix.lower() in VIDEO_SUFFIXES]
        by_path = {path.relative_to(videos).with_suffix("").as_posix(): path for path in paths}
        for name in nested:
            ends = [path for relative, path in by_path.items() if f"/{relative}".endswith(f"/{name}")]
            if ends:
                found[name] = ends[0]
    return found


def _records(path: Path) -> Iterator[Record]:
    match path.suffix.lower():
        case ".json":
            yield from records(read_json(path), path, "sample")
        case ".jsonl":
            for value, place in read_json_lines(path):
                yield Record.of(value, path, place)
        case _:
            for cells, place in read_csv(path).named():
                yield Record.of(cells, path, place)


def _sample(record: Record, columns: CookColumns) -> Sample:
    sample_id = record.identifier(columns.sample_id)
    record = Record(record.value, record.file, f"{record.record} ({sample_id})")
    start_s, end_s = _seconds(record, columns.start) or 0.0, _seconds(record, columns.end)
    if start_s < 0 or (end_s is not None and end_s <= start_s):
        record.fail(columns.end, f"the clip {start_s:g} to {end_s} s is empty or begins before the video")
    given = record.text(columns.sample_class).casefold()
    if given not in _CLASSES:
        record.fail(columns.sample_class, f"{given!r} is no class", f"Allowed: {', '.join(_CLASSES)}")
    sample_class = _CLASSES[given]
    element = _one_of(record, columns.element, ELEMENTS)
    if (element is None) == (sample_class == MISTAKE):
        record.fail(columns.element, f"a {sample_class} sample {'needs' if sample_class == MISTAKE else 'has no'} element that deviates")
    difficulty = _one_of(record, columns.difficulty, _DIFFICULTIES) if element in GRADED_ELEMENTS else None
    instruction, original = record.text(columns.instruction), record.text(columns.original)
    if element is not None and instruction.casefold() == original.casefold():
        record.fail(columns.instruction, "the instruction of a mistake sample equals what the clip shows")
    return Sample(
        record.file,
        sample_id,
        record.text(columns.video),
        start_s,
        end_s,
        instruction,
        sample_class,
        element,
        original,
        difficulty,
        _elements(record, columns.elements, element),
    )


def _seconds(record: Record, field: str) -> float | None:
    value = record.value.get(field)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        if isinstance(value, str) and record.file.suffix.lower() != ".csv":
            raise ValueError(f"{value!r} is a text, not a number of seconds")
        return to_seconds(value, TimeUnit.SECONDS)
    except ValueError as error:
        record.fail(field, str(error), "Times here are in seconds")


def _one_of(record: Record, field: str, allowed: tuple[str, ...]) -> str | None:
    value = record.value.get(field)
    name = "" if value is None else str(value).strip().casefold()
    if name in _NOTHING:
        return None
    if name not in allowed:
        record.fail(field, f"{value!r} is not allowed", f"Allowed: {', '.join(allowed)}, or nothing")
    return name


def _elements(record: Record, field: str, element: str | None) -> tuple[str, ...]:
    value = record.value.get(field)
    if value is None or value == "":
        return ELEMENTS
    names = [
        str(name).strip().casefold()
        for name in (value.split(";") if isinstance(value, str) else value if isinstance(value, list) else [value])
    ]
    for name in names:
        if name not in ELEMENTS:
            record.fail(field, f"{name!r} is no element", f"Allowed: {', '.join(ELEMENTS)}")
    if element is not None and element not in names:
        record.fail(field, f"the deviating element {element!r} is not among them")
    return tuple(name for name in ELEMENTS if name in names)
