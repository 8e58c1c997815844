"""A mix as plain files: JSONL, Parquet, and a folder that the ``datasets`` library loads. Trainers' chat layouts: ``chat_exports``.

Files are written under a temporary name and renamed. Times stay seconds on the recording's time line.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from ml.tables.declarations.training import TRAINING_MIX


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name to write under, renamed to ``path`` at the end; nothing is left of it where writing fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """``text`` as UTF-8 in place in one rename."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> int:
    """One JSON object a line, in place in one rename; the number of lines. NaN is refused, since JSON has none."""
    count = 0
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as stream:  # closed, then renamed
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Parquet in place in one rename."""
    with whole_file(path) as temporary:
        frame.write_parquet(temporary, compression="zstd")


def export_jsonl(frame: pl.DataFrame, path: Path) -> int:
    """One ``training_mix`` row a line, messages as a list of objects; the number of lines."""
    return write_lines(path, TRAINING_MIX.check(frame).iter_rows(named=True))


def export_parquet(frame: pl.DataFrame, path: Path) -> None:
    """The ``training_mix`` as one Parquet file."""
    write_frame(path, TRAINING_MIX.check(frame))


def export_dataset_folder(frame: pl.DataFrame, folder: Path, licences: Mapping[str, str] | None = None) -> None:
    """A folder for ``datasets.load_dataset(str(folder))``: ``data/<split>-00000-of-00001.parquet`` and a card that names the splits.

    ``licences``: licence of the annotations by dataset, told on the card.
    """
    checked = TRAINING_MIX.check(frame)
    splits = sorted(checked["split"].unique())
    for split in splits:
        write_frame(folder / "data" / f"{split}-00000-of-00001.parquet", checked.filter(pl.col("split") == split))
    write_text(folder / "README.md", _card(checked, splits, licences or {}))


def _card(frame: pl.DataFrame, splits: list[str], licences: Mapping[str, str]) -> str:
    files = "\n".join(f"  - split: {split}\n    path: data/{split}-*.parquet" for split in splits)
    counts = frame.group_by("dataset", "split").len().sort("dataset", "split")
    rows = "\n".join(
        f"| {dataset} | {split} | {count} | {licences.get(dataset, 'not stated')} |" for dataset, split, count in counts.iter_rows()
    )
    columns = "\n".join(f"* `{column.name}`: {column.doc}" for column in TRAINING_MIX.columns)
    return (
        f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}\n---\n\n"
        f"# Training mix {', '.join(sorted(frame['mix'].unique()))}\n\n"
        "One row is one stream: a clip of a video file, the instruction given at its start, and what the assistant should say.\n"
        "Videos are not in this folder; `video_path` names them where the mix was built.\n\n"
        f"| dataset | split | samples | licence of the annotations |\n|---|---|---|---|\n{rows}\n\n{columns}\n"
    )
