"""Options of the GuideMe scorers, one per reading that the paper and its released code leave open, and the named profiles."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from ml.benchmarks.bootstrap import BootstrapOptions


class DistanceUnit(StrEnum):
    INDEX = "frame_index_in_segment"
    SECONDS = "seconds"


class Similarity(StrEnum):
    ABSOLUTE = "abs_cos"
    CLIPPED = "max(0,cos)"  # contradictory text earns nothing


class Candidates(StrEnum):
    """What a prediction may be matched with."""

    ALL_INSTANTS = "all_frames_of_segment"  # silence too: a prediction may stay without reference
    TALK_ONLY = "talk_only"


class Midpoint(StrEnum):
    """Which segment an instant exactly between two references belongs to."""

    LATER = "later"
    EARLIER = "earlier"


class Missing(StrEnum):
    """What an instant becomes for which inference failed."""

    DROP = "drop"  # it vanishes with its reference, as in the released code
    SILENCE = "silent"


class SameSecond(StrEnum):
    """What two references at one instant become."""

    LAST = "last"  # the released code with the true history
    JOINED = "joined"  # the released code with the assistant's own history
    BOTH = "both"


class SilenceRule(StrEnum):
    OFFICIAL = "official"
    LENIENT = "lenient"  # quotes and final punctuation do not make an utterance of "Silent."


class Average(StrEnum):
    MACRO = "macro_video"
    MICRO = "micro"
    HARMONIC_OF_MACRO = "hm_of_macro"


class WithoutReferences(StrEnum):
    """A video without any reference."""

    ZERO = "zero"
    LEAVE_OUT = "leave_out"


class Instants(StrEnum):
    """Which instants of a GuideMe run are scored: the protocol's grid, or those of a file's rows, the others silent or missing."""

    GRID = "grid"
    ROWS = "rows"
    ROWS_ELSE_SILENCE = "rows_else_silence"


@dataclass(frozen=True)
class SoftOptions:
    """Temporal-semantic matching. ``talk_silent_cost`` None embeds the word "Silent" instead of a fixed cost.

    ``same_second`` None: the last reference with the true history, joined ones with the assistant's own.
    """

    sigma: float = 0.01
    distance_unit: DistanceUnit = DistanceUnit.INDEX
    talk_silent_cost: float | None = 1.0
    similarity: Similarity = Similarity.ABSOLUTE
    candidates: Candidates = Candidates.ALL_INSTANTS
    midpoint: Midpoint = Midpoint.LATER
    missing: Missing = Missing.DROP
    same_second: SameSecond | None = None
    silence: SilenceRule = SilenceRule.OFFICIAL
    average: Average = Average.MACRO
    without_references: WithoutReferences = WithoutReferences.ZERO
    hard_threshold: float = 0.5
    empty: float = 0.0


class JudgeFailure(StrEnum):
    ZERO = "zero"
    EXCLUDE = "exclude"


class RateDenominator(StrEnum):
    EMITTED = "emitted_records"
    ANCHORED = "anchored"


@dataclass(frozen=True)
class BehaviorOptions:
    """Behavioural classification. A window of 0 s is the paper's own rule, 2 s the released code's."""

    pair_window_s: float = 2.0
    judge_failure: JudgeFailure = JudgeFailure.ZERO
    denominator: RateDenominator = RateDenominator.EMITTED


@dataclass(frozen=True)
class GuideMeOptions:
    soft: SoftOptions = field(default_factory=SoftOptions)
    behavior: BehaviorOptions = field(default_factory=BehaviorOptions)
    bootstrap: BootstrapOptions = field(default_factory=BootstrapOptions)


def official() -> GuideMeOptions:
    """The released scorer, fawnliu/GuideMe at 461f106: for comparison with the paper, with all-mpnet-base-v2 as the encoder."""
    return GuideMeOptions()


def development() -> GuideMeOptions:
    """Seconds instead of indices, failures count as silence, lenient silence, a failed judge is left out."""
    return GuideMeOptions(
        SoftOptions(distance_unit=DistanceUnit.SECONDS, missing=Missing.SILENCE, silence=SilenceRule.LENIENT),
        BehaviorOptions(judge_failure=JudgeFailure.EXCLUDE),
    )


def paper_literal() -> GuideMeOptions:
    """The paper's text: talk is matched with talk only, times are seconds, and a response counts at its own instant only."""
    return GuideMeOptions(
        SoftOptions(candidates=Candidates.TALK_ONLY, distance_unit=DistanceUnit.SECONDS), BehaviorOptions(pair_window_s=0.0)
    )


PROFILES: dict[str, Callable[[], GuideMeOptions]] = {"official": official, "development": development, "paper_literal": paper_literal}
