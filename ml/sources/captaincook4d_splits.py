"""Splits of CaptainCook4D: which file is used, what it says, and where another family of splits contradicts it."""

from dataclasses import dataclass
from pathlib import Path

from ml.errors import InputError
from ml.sources.imported import Problems
from ml.sources.reading import file_sha256, read_json
from ml.sources.split_leaks import report_split_leaks
from ml.vocabulary import Split

_NAMES = {
    "train": Split.TRAIN,
    "training": Split.TRAIN,
    "val": Split.VALIDATION,
    "valid": Split.VALIDATION,
    "validation": Split.VALIDATION,
    "test": Split.TEST,
}
OTHER_FAMILY = "*_combined_splits.json"  # file names of the error_recognition repository
SPLIT_FOLDER = "data_splits"


@dataclass(frozen=True)
class SplitFile:
    name: str
    sha256: str
    of: dict[str, Split]


def read_splits(path: Path, name: str) -> SplitFile:
    """Split of each recording id. Raises ``InputError`` for an unknown key and for a recording in two splits."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError("an object of lists belongs here", file=path, remedy="Expected keys: train, val, test")
    of: dict[str, Split] = {}
    for key, ids in value.items():
        split = _NAMES.get(key.casefold())
        if split is None or not isinstance(ids, list):
            raise InputError("this is not a split", file=path, field=key, remedy=f"Expected lists under {', '.join(_NAMES)}")
        for native_id in map(str, ids):
            if of.setdefault(native_id, split) is not split:
                raise InputError(
                    f"recording is in {of[native_id]} and in {split}", file=path, record=native_id, remedy="Keep one of the two"
                )
    return SplitFile(name, file_sha256(path), of)


def chosen_splits(annotations: Path, split_file: str) -> SplitFile:
    """The split file that the settings name, from ``data_splits``. Raises ``InputError`` naming those that are there."""
    folder = annotations / SPLIT_FOLDER
    path = folder / split_file
    if not path.is_file():
        there = sorted(p.name for p in folder.glob("*.json")) if folder.is_dir() else []
        raise InputError(
            "there is no such split file", file=path, remedy=f"Set `split_file` to one of: {', '.join(there) or '(none found)'}"
        )
    return read_splits(path, f"{SPLIT_FOLDER}/{split_file}")


def report_leaks(annotations: Path, chosen: SplitFile, problems: Problems) -> None:
    """Where test recordings of the chosen split are trained on by another split file of the dataset.

    The other official files are compared with the chosen one, and the files of the other family with it and with the official file of
    their own kind (recordings, environment, person).
    """
    official = {chosen.name: chosen}
    for path in sorted((annotations / SPLIT_FOLDER).glob("*_data_split_combined.json")):
        name = f"{SPLIT_FOLDER}/{path.name}"
        official.setdefault(name, read_splits(path, name))
    for other in official.values():
        if other is not chosen:
            report_split_leaks(problems, chosen.name, chosen.of, other.name, other.of)
    for path in sorted(annotations.rglob(OTHER_FAMILY)):
        other = read_splits(path, path.relative_to(annotations).as_posix())
        kind = path.name.split("_")[0]
        for name, ours in official.items():
            if name == chosen.name or Path(name).name.startswith(f"{kind}_"):
                report_split_leaks(problems, name, ours.of, other.name, other.of)
