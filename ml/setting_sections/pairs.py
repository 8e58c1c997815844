"""Sections for pairs: how they are made, filtered and reviewed."""

from pydantic import Field

from ml.setting_sections.section import Section
from ml.setting_sections.values import Seed


class Counterfactuals(Section):
    minimum_timing_change_s: float = Field(15.0, gt=0)
    """Smallest change of a duration, the paper's; a source may have its own, as the sample kitchen does, which cooks for seconds."""


class Embeddings(Section):
    model: str | None = None
    """Sentence-transformers folder, name or ``name@revision``; default all-MiniLM-L6-v2 from the installed package."""


class Selection(Section):
    """Thresholds of the similarity filters: cosines of stored scores. None switches a filter off."""

    too_close: float | None = Field(0.98, gt=0, le=1)
    """An alternative this close to its original is no mistake; changed amounts and levels are told apart by rule."""
    near_benchmark: float | None = Field(0.99, gt=0, le=1)
    """A text this close to a benchmark's instruction is too near; ``few_texts`` of a source switches it off there."""
    near_duplicate: float | None = Field(0.97, gt=0, le=1)
    copies_per_text: int | None = Field(20, ge=1)
    """How often one pair of texts may stand on different clips; likewise."""
    validity_check: bool = True
    """Whether a pair goes that the independent check calls no mistake, not feasible, or of another type."""
    reviews: bool = True
    """Whether a pair goes that most of its reviewers call invalid."""
    balance: bool = True


class Review(Section):
    """What people are asked about."""

    size: int = Field(500, ge=1)
    """Pairs in the sample."""
    seed: Seed = 0
    """Another seed draws other pairs; answers to the former ones are kept."""
