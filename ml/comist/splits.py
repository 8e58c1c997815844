"""Which split a recording belongs to, so that no recording (or person) lies on two sides. Shared by selection and mixes."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from ml.errors import InputError
from ml.vocabulary import Split


class SplitUnit(StrEnum):
    """What is never divided."""

    RECORDING = "recording"
    PERSON = "person"


@dataclass(frozen=True)
class SplitSettings:
    """``keep_source``: a split that the source gives stays; the rest is drawn by hash, ``validation_share`` and ``test_share``
    of the units.

    With ``unit`` person, all recordings of one person share a split, also across sources' own splits: where these part a person,
    ``keep_source`` must be off. A recording of an unknown person is a unit of its own.
    """

    unit: SplitUnit = SplitUnit.RECORDING
    keep_source: bool = True
    validation_share: float = 0.1
    test_share: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.validation_share >= 0 and self.test_share >= 0 and self.validation_share + self.test_share <= 1):
            raise InputError(
                f"shares {self.validation_share} and {self.test_share} do not fit", field="validation_share", remedy="Use 0 to 1 in sum"
            )


def unit_interval(*parts: object) -> float:
    """A number in [0, 1) that depends on ``parts`` only."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def assign_splits(recordings: pl.DataFrame, settings: SplitSettings | None = None) -> dict[str, str]:
    """Split by recording id, from columns recording_id, split and, for unit person, source and person_id.

    The draw depends on the unit and the seed only, so that new recordings move no old one. Raises ``InputError`` where a kept source
    split parts a unit.
    """
    settings = settings or SplitSettings()
    units: dict[str, list[tuple[str, str | None]]] = {}
    by_person = settings.unit is SplitUnit.PERSON
    columns = ["recording_id", "split", *(["source", "person_id"] if by_person else [])]
    for recording, split, *rest in recordings.select(columns).unique().sort("recording_id").iter_rows():
        unit = f"person {rest[0]}/{rest[1]}" if by_person and rest[1] is not None else recording
        units.setdefault(unit, []).append((recording, split))
    out: dict[str, str] = {}
    for unit, members in units.items():
        given = {split for _, split in members if split is not None} if settings.keep_source else set()
        if len(given) > 1:
            raise InputError(
                f"the source puts it into {', '.join(sorted(given))}",
                record=unit,
                field="split",
                remedy="Split by recording, or do not keep the source's splits",
            )
        chosen = given.pop() if given else _drawn(unit, settings)
        out.update({recording: chosen for recording, _ in members})
    return out


def _drawn(unit: str, settings: SplitSettings) -> str:
    draw = unit_interval("split", settings.seed, unit)
    if draw < settings.test_share:
        return Split.TEST
    return Split.VALIDATION if draw < settings.test_share + settings.validation_share else Split.TRAIN


def require_no_overlap(frame: pl.DataFrame, unit: str = "recording_id") -> None:
    """``InputError`` naming the first ``unit`` whose rows lie in more than one split."""
    parted = frame.filter(pl.col(unit).is_not_null()).group_by(unit).agg(pl.col("split").n_unique().alias("n")).filter(pl.col("n") > 1)
    if parted.height:
        first = parted.sort(unit)[unit][0]
        raise InputError(f"{parted.height} lie in more than one split", record=str(first), field=unit, remedy="Split by whole units")
