"""What a Cook-MRE sample is, and the canonical table of samples. Reading files is the importer's work, asking and scoring stand beside."""

from dataclasses import dataclass

import polars as pl

from ml.benchmarks.families import Hints
from ml.errors import InputError
from ml.tables.declarations.benchmarks import BENCHMARK_CLIPS

ELEMENTS = ("verb", "ingredient", "tool", "location")
GRADED_ELEMENTS = ("verb", "ingredient")  # only these have levels of difficulty
NO_HINT = "none"
MISTAKE, CORRECT = "mistake", "correct"


@dataclass(frozen=True)
class CookSample:
    """A clip with an instruction. ``element`` is None for a correct sample; ``elements`` are those its description has (for hints).

    ``video_path`` and the clip's bounds are there where the clip can be seen; ``end_s`` None reaches to the end of the video.
    """

    sample_id: str
    clip_id: str
    instruction: str
    original: str
    element: str | None = None
    difficulty: str | None = None
    elements: tuple[str, ...] = ELEMENTS
    video_path: str | None = None
    start_s: float = 0.0
    end_s: float | None = None

    def __post_init__(self) -> None:
        for name in (*((self.element,) if self.element is not None else ()), *self.elements):
            if name not in ELEMENTS:
                raise InputError(
                    f"{name!r} is no element", record=self.sample_id, field="element", remedy=f"Allowed: {', '.join(ELEMENTS)}"
                )

    @property
    def is_mistake(self) -> bool:
        return self.element is not None


def hints_of(sample: CookSample, hints: Hints) -> tuple[str | None, ...]:
    """Prompts of a sample: one without hint; with hints a mistake's own element or all, and every element of a correct sample."""
    if hints is Hints.NONE:
        return (None,)
    return (sample.element,) if hints is Hints.OWN and sample.element is not None else sample.elements


def samples_from_table(clips: pl.DataFrame) -> list[CookSample]:
    """Samples of one benchmark's ``benchmark_clips``, by sample id."""
    return [
        CookSample(
            row["sample_id"],
            row["clip_id"],
            row["instruction"],
            row["original"],
            row["element"],
            row["difficulty"],
            tuple(row["elements"]),
            row["video_path"],
            row["start_s"],
            row["end_s"],
        )
        for row in BENCHMARK_CLIPS.check(clips).sort("sample_id").iter_rows(named=True)
    ]


def answers_from_table(predictions: pl.DataFrame) -> dict[tuple[str, str | None], str | None]:
    """``clip_predictions`` of one run as answers by (sample, hint): what ``judge_answers`` takes; None where the answer failed."""
    return {
        (row["sample_id"], None if row["hint"] == NO_HINT else row["hint"]): row["answer"] if row["status"] == "ok" else None
        for row in predictions.iter_rows(named=True)
    }
