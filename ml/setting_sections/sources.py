"""Sections for sources: datasets in their own layouts, and the folder of raw videos."""

from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from ml.setting_sections.section import Section
from ml.vocabulary import MistakeType


class SourceKind(StrEnum):
    CAPTAINCOOK4D = "captaincook4d"
    EGO4D_GOALSTEP = "ego4d_goalstep"
    EGO4D_NARRATIONS = "ego4d_narrations"
    EGOEXO4D = "egoexo4d"
    QICD = "qicd"
    EGO_MC_BENCH = "ego_mc_bench"
    GUIDEME = "guideme"
    COOK_MRE = "cook_mre"


BENCHMARK_ONLY_KINDS = (SourceKind.GUIDEME, SourceKind.COOK_MRE)
MISTAKE_TYPES = tuple(MistakeType)
DESCRIPTIVE_MISTAKE_TYPES = (MistakeType.PREPARATION, MistakeType.TECHNIQUE)
DESCRIPTIVE_KINDS = (SourceKind.EGO4D_GOALSTEP, SourceKind.EGO4D_NARRATIONS, SourceKind.EGOEXO4D)
RAW_VIDEOS = "raw_videos"


def source_of(recording_id: str) -> str:
    """Name of the source of a recording, the first part of its id."""
    return recording_id.split("/", 1)[0]


class Source(Section):
    kind: SourceKind
    """Which importer reads it."""
    annotations: Path
    """Folder of the annotation files, in the dataset's own layout."""
    videos: Path | None = None
    """Folder of the videos; without it the text stages still run."""
    split_file: str | None = None
    """Split file inside the annotations, where the dataset has several."""
    counterfactuals: bool = False
    """Whether its clean steps become EGO-CoMist pairs."""
    mistake_types: tuple[MistakeType, ...] = MISTAKE_TYPES
    """Mistake types that its texts are detailed enough for. The default of kinds that describe instead of instruct (ego4d_goalstep,
    ego4d_narrations, egoexo4d) is preparation and technique."""
    minimum_timing_change_s: float | None = Field(None, gt=0)
    """Smallest change of a duration in its pairs; by default that of ``counterfactuals``."""
    few_texts: bool = False
    """Whether its sentences are few by nature, as in the sample kitchen: its pairs may be near a benchmark's texts and repeat others."""
    plan_set: str | None = None
    """qicd: ``main`` (the default) or ``advanced_planning``."""
    columns: dict[str, str] = Field(default_factory=dict)
    """cook_mre, qicd, ego_mc_bench: names of the fields where a release names them otherwise, e.g. {original = "recipe_step"}."""

    @model_validator(mode="before")
    @classmethod
    def _types_of_kind(cls, given: Any) -> Any:
        if isinstance(given, dict) and "mistake_types" not in given and given.get("kind") in DESCRIPTIVE_KINDS:
            return {**given, "mistake_types": DESCRIPTIVE_MISTAKE_TYPES}
        return given


class RawVideos(Section):
    folder: Path = Path("raw_videos")
    """Folder that the sensor watches, with the folders in it; relative to ``data``, and not ``data`` itself or around it."""
    stable_ticks: int = Field(2, ge=1)
    """Ticks over which size and modification time must not change."""
    tick_seconds: float = Field(20.0, gt=0, lt=60)
    """Time that one sensor tick may spend looking at files."""
    propose_steps: bool = True
    """Whether a video without a sidecar gets steps proposed from its narrations, marked as proposed; without, it waits for a recipe."""
    mistake_types: tuple[MistakeType, ...] = MISTAKE_TYPES
    """Mistake types for videos with a recipe; proposed steps get preparation and technique at most."""
