"""A mix in every layout that people load, each read back under its own rules. The form of one layout is another module's matter."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import polars as pl

from ml.errors import InputError
from ml.mixes.chat_exports import check_llama_factory, check_ms_swift, check_qwen, export_llama_factory, export_ms_swift, export_qwen
from ml.mixes.exports import export_dataset_folder, export_jsonl, export_parquet
from ml.mixes.qicd_export import check_qicd, export_qicd
from ml.sources.qicd import read_qicd
from ml.tables.declarations.training import TRAINING_MIX
from ml.video.clips import cut_clip
from ml.vocabulary import MessageKind

Check = Callable[[Iterable[Mapping[str, object]]], Any]


class Layout(StrEnum):
    """Forms that a mix is exported in."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    DATASETS = "datasets"
    QICD = "qicd"
    MS_SWIFT = "ms_swift"
    LLAMA_FACTORY = "llama_factory"
    QWEN = "qwen"


USED_BY: Mapping[Layout, str] = {
    Layout.JSONL: "one sample a line, columns as in `training_mix`",
    Layout.PARQUET: "one file, columns as in `training_mix`",
    Layout.DATASETS: "datasets.load_dataset(FOLDER)",
    Layout.QICD: "message timelines as Qualcomm Interactive Cooking publishes them",
    Layout.MS_SWIFT: "swift sft --dataset FOLDER/train.jsonl",
    Layout.LLAMA_FACTORY: "dataset_dir: FOLDER, with the names of its dataset_info.json",
    Layout.QWEN: "annotation_path of qwen-vl-finetune's data list, with an empty data_path",
}


@dataclass(frozen=True)
class Exported:
    """What one layout came to: its files below ``folder`` and the samples that were read back from them."""

    layout: Layout
    folder: Path
    files: tuple[Path, ...]
    samples: int

    @property
    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files)


def export_mix(
    frame: pl.DataFrame,
    folder: Path,
    layouts: Sequence[Layout] = tuple(Layout),
    *,
    licences: Mapping[str, str] | None = None,
    activities: Mapping[str, str] | None = None,
    clips: Mapping[str, Path] | None = None,
) -> list[Exported]:
    """Write ``frame`` (a ``training_mix`` of one mix) below ``folder/<layout>``, and read each layout back.

    ``licences``: of the annotations by dataset. ``activities``: by recording id. ``clips``: a cut file by sample id, for the chat
    layouts. Raises ``InputError`` for an empty mix, and where a layout breaks a rule of those who read it.
    """
    if not TRAINING_MIX.check(frame).height:
        raise InputError("the mix has no samples", file="training_mix", remedy="Materialize training_mix first")
    return [_export(layout, frame, folder / layout, licences or {}, activities or {}, clips) for layout in layouts]


def _export(
    layout: Layout,
    frame: pl.DataFrame,
    folder: Path,
    licences: Mapping[str, str],
    activities: Mapping[str, str],
    clips: Mapping[str, Path] | None,
) -> Exported:
    name = str(frame["mix"][0])
    match layout:
        case Layout.JSONL:
            export_jsonl(frame, folder / f"{name}.jsonl")
        case Layout.PARQUET:
            export_parquet(frame, folder / f"{name}.parquet")
        case Layout.DATASETS:
            export_dataset_folder(frame, folder, licences)
        case Layout.QICD:
            export_qicd(frame, folder, activities)
        case Layout.MS_SWIFT:
            export_ms_swift(frame, folder, clips)
        case Layout.LLAMA_FACTORY:
            export_llama_factory(frame, folder, name, clips)
        case Layout.QWEN:
            export_qwen(frame, folder, clips)
    samples = read_back(layout, folder)
    if samples != frame.height:
        raise InputError(f"{samples} samples are read back, {frame.height} were written", file=folder)
    files = tuple(sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")))
    return Exported(layout, folder, files, samples)


def read_back(layout: Layout, folder: Path) -> int:
    """Number of samples that a reader of the layout finds in ``folder``. Raises ``InputError`` where a rule of the layout is broken."""
    match layout:
        case Layout.JSONL:
            return sum(TRAINING_MIX.check(TRAINING_MIX.rows(list(_lines(path)))).height for path in folder.glob("*.jsonl"))
        case Layout.PARQUET:
            return sum(TRAINING_MIX.check(pl.read_parquet(path)).height for path in folder.glob("*.parquet"))
        case Layout.DATASETS:
            return sum(TRAINING_MIX.check(part).height for part in read_dataset_folder(folder).values())
        case Layout.QICD:
            rows = pl.concat([pl.read_parquet(path) for path in sorted((folder / "main").glob("*.parquet"))])
            imported = read_qicd(folder, None, source="export").messages
            found = imported.filter(pl.col("kind") == MessageKind.INSTRUCTION).height
            return min(found, check_qicd(rows.iter_rows(named=True)))
        case Layout.MS_SWIFT:
            return _checked(folder.glob("*.jsonl"), check_ms_swift)
        case Layout.LLAMA_FACTORY:
            info = json.loads((folder / "dataset_info.json").read_text(encoding="utf-8"))
            return _checked((folder / entry["file_name"] for entry in info.values()), check_llama_factory)
        case Layout.QWEN:
            return _checked(folder.glob("*.jsonl"), check_qwen)


def read_dataset_folder(folder: Path) -> dict[str, pl.DataFrame]:
    """Rows by split, found as the ``datasets`` library finds them: by the first configuration of the card."""
    import yaml

    card = (folder / "README.md").read_text(encoding="utf-8")
    entries = yaml.safe_load(card.split("---", 2)[1])["configs"][0]["data_files"]
    return {entry["split"]: pl.read_parquet(sorted(folder.glob(entry["path"]))) for entry in entries}


def _checked(paths: Iterable[Path], check: Check) -> int:
    total = 0
    for path in paths:
        rows = list(_lines(path))
        check(rows)
        total += len(rows)
    return total


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def cut_clips(frame: pl.DataFrame, folder: Path) -> dict[str, Path]:
    """Each sample's clip as a file of its own below ``folder``, by sample id; samples of one clip share it, and what is there is kept.

    Trainers take whole files, so without this a model is shown the whole recording for each sample.
    """
    out: dict[str, Path] = {}
    rows = frame.select("sample_id", "recording_id", "video_path", "start_s", "end_s")
    for sample_id, recording_id, video, start_s, end_s in rows.iter_rows():
        path = folder / recording_id / f"{start_s:.3f}-{end_s:.3f}.mp4"
        if not path.exists():
            cut_clip(Path(video), start_s, end_s, path)
        out[sample_id] = path.absolute()
    return out


def licences_of(frame: pl.DataFrame, recordings: pl.DataFrame) -> dict[str, str]:
    """Licences of the annotations behind each dataset of the mix; several are joined."""
    known = frame.select("dataset", "recording_id").unique().join(recordings.select("recording_id", "licence"), on="recording_id")
    joined = known.group_by("dataset").agg(pl.col("licence").unique().sort().str.join("; "))
    return dict(joined.iter_rows())
