"""A benchmark of any family as its canonical tables: from files in the published formats, or from a data folder's tables.

Imports no predictions and scores nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ml.benchmarks.canonical import benchmark_from_messages
from ml.benchmarks.families import DATA_TABLES, Family
from ml.benchmarks.guideme.conversations import read_merged_answers
from ml.benchmarks.guideme.data import dialogue_tables, read_items
from ml.errors import InputError
from ml.sources.cook_mre import clips_table, read_cook_mre_source, read_cook_samples
from ml.sources.message_timeline import TimelineColumns, read_timelines, timeline_files
from ml.sources.reading import exists, is_plain_file, read_json, read_json_lines
from ml.tables.store import TableStore
from ml.vocabulary import Split

FORMATS = (
    "a message timeline (Parquet with video_id, output_texts, output_timestamps, output_types, or a folder of such files), GuideMe "
    "conversations (JSON list with video_id and conversations) or Cook-MRE samples (JSON, JSONL or CSV with sample_id, instruction, class)"
)
_HUB_FILE = re.compile(r"(?:train|validation|valid|val|test)(?:-\d+-of-\d+)?\.(?:parquet|jsonl?)")


@dataclass(frozen=True)
class BenchmarkData:
    """``tables`` are those that ``DATA_TABLES`` lists for the family."""

    name: str
    family: Family
    tables: Mapping[str, pl.DataFrame]

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.tables[table]

    @property
    def recordings(self) -> list[str]:
        """Recording ids, sorted."""
        return self.tables[DATA_TABLES[self.family][0]]["recording_id"].unique().sort().to_list()


def find_benchmark(named: str | Path, store: TableStore | None = None) -> BenchmarkData:
    """A benchmark by path, else by its name in a data folder's tables. Raises ``InputError`` that says what there is."""
    if str(named) and exists(Path(named)):
        return read_benchmark(Path(named))
    stored = stored_benchmarks(store) if store is not None else {}
    if str(named) in stored and store is not None:
        return benchmark_from_store(store, str(named), stored[str(named)])
    there = f"Benchmarks in the tables: {', '.join(sorted(stored))}" if stored else "The data folder has no benchmark tables"
    raise InputError(f"there is no file and no benchmark {str(named)!r}", field="BENCHMARK", remedy=f"{there}. As a file: {FORMATS}")


def stored_benchmarks(store: TableStore) -> dict[str, Family]:
    """Names of the benchmarks in a data folder, with their family."""
    return {name: family for family, tables in DATA_TABLES.items() for name in store.partitions(tables[0])}


def benchmark_from_store(store: TableStore, name: str, family: Family) -> BenchmarkData:
    return BenchmarkData(name, family, {table: store.read(table, name) for table in DATA_TABLES[family]})


def read_benchmark(path: Path, name: str | None = None) -> BenchmarkData:
    """A benchmark from files. ``name`` is by default the file's or folder's, for `test-00000-of-00001.parquet` and a folder `main` or
    `data` that of the folder above; recordings are ``<name>/<video id>``.

    Of files with splits in their names only the test split is read, where there is one. Raises ``InputError`` with file, record, field.
    """
    name = name or _name_of(path.absolute())
    match _family_of(path):
        case Family.EGO:
            data = _timelines(path, name)
        case Family.GUIDEME:
            data = _conversations(path, name)
        case Family.COOK_MRE:
            recordings = _with_duration(read_cook_mre_source(path, None, source=name).recordings)
            data = BenchmarkData(name, Family.COOK_MRE, {"benchmark_clips": clips_table(read_cook_samples(path), recordings, name)})
    if not data.tables[DATA_TABLES[data.family][0]].height:
        raise InputError("there is nothing to score in it", file=path)
    return data


def _timelines(path: Path, name: str) -> BenchmarkData:
    folder = path if path.is_dir() else path.parent
    files = _of_one_configuration(path) if path.is_dir() else [path]
    read = read_timelines(folder, files, {}, source=name, licence="not needed for scoring", columns=TimelineColumns())
    recordings = _of_test(read.recordings)
    messages = read.messages.join(recordings.select("recording_id"), on="recording_id", how="semi")
    try:
        steps, references = benchmark_from_messages(recordings, read.steps, messages, name)
    except InputError as error:
        raise InputError(error.problem, file=path, record=error.record, field=error.field, remedy=error.remedy) from None
    return BenchmarkData(name, Family.EGO, {"benchmark_steps": steps, "benchmark_messages": references})


def _of_one_configuration(folder: Path) -> list[Path]:
    """Timeline files of a folder. Raises ``InputError`` where they lie in several: configurations repeat videos and are scored apart."""
    files = timeline_files(folder)
    folders = sorted({path.parent for path in files})
    if len(folders) > 1:
        raise InputError(
            f"the folder holds {len(folders)} configurations", file=folder, remedy=f"Give one of {', '.join(map(str, folders))}"
        )
    return files


def _name_of(path: Path) -> str:
    while path.parent.name and (_HUB_FILE.fullmatch(path.name) or path.name in ("main", "data")):
        path = path.parent
    return path.name if path.is_dir() else path.stem


def _conversations(path: Path, name: str) -> BenchmarkData:
    """Dialogues of annotation files, of those without `train` in their names where there are any; or of a merged prediction file."""
    if path.is_file() and _is_merged(_first_record(path)):
        items = read_merged_answers(path)
    else:
        read = read_items(path)
        items = [item for file, item in read if "train" not in file.stem] or [item for _, item in read]
    recordings = pl.DataFrame(
        [{"native_id": item.video_id, "recording_id": f"{name}/{item.video_id}", "duration_s": None, "video_path": None} for item in items],
        schema={"native_id": pl.String, "recording_id": pl.String, "duration_s": pl.Float64, "video_path": pl.String},
    )
    dialogues, turns = dialogue_tables(items, recordings, name)
    return BenchmarkData(name, Family.GUIDEME, {"benchmark_dialogues": dialogues, "benchmark_turns": turns})


def _of_test(recordings: pl.DataFrame) -> pl.DataFrame:
    test = recordings.filter(pl.col("split") == Split.TEST)
    return test if test.height else recordings


def _with_duration(recordings: pl.DataFrame) -> pl.DataFrame:
    """Files tell no decodable length."""
    return recordings.with_columns(duration_s=pl.col("annotated_duration_s"))


def _family_of(path: Path) -> Family:
    if path.is_dir():
        candidates = sorted(p for p in path.rglob("*") if p.suffix.lower() in (".parquet", ".json", ".jsonl", ".csv") and p.is_file())
        if not candidates:
            raise InputError("the folder holds no benchmark file", file=path, remedy=f"Put there {FORMATS}")
        annotated = [p for p in candidates if p.name.startswith("annotation")]
        return _family_of((annotated or candidates)[0])
    if not is_plain_file(path):
        raise InputError("this is no plain file", file=path, remedy=f"Give {FORMATS}")
    match path.suffix.lower():
        case ".parquet":
            return Family.EGO
        case ".csv":
            return Family.COOK_MRE
        case ".json" | ".jsonl":
            return _family_of_record(path)
        case suffix:
            raise InputError(f"benchmarks of the kind {suffix!r} are not known", file=path, remedy=f"Give {FORMATS}")


def _first_record(path: Path) -> object:
    if path.suffix.lower() == ".jsonl":
        return next((value for value, _ in read_json_lines(path)), None)
    whole = read_json(path)
    if isinstance(whole, dict):
        return next(iter(whole.values()), None)
    return whole[0] if isinstance(whole, list) and whole else None


def _is_merged(first: object) -> bool:
    return isinstance(first, dict) and "endpoint_timestamp" in first and "answer" in first


def _family_of_record(path: Path) -> Family:
    """By the fields of the first record; the importers check the rest."""
    first = _first_record(path)
    if isinstance(first, dict):
        if "conversations" in first or _is_merged(first):
            return Family.GUIDEME
        if "output_texts" in first:
            return Family.EGO
        if "instruction" in first:
            return Family.COOK_MRE
    found = ", ".join(first) if isinstance(first, dict) else type(first).__name__
    raise InputError(f"no benchmark begins with this record: {found}", file=path, record="the first", remedy=f"Give {FORMATS}")
