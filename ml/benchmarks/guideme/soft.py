"""GuideMe's temporal-semantic matching: soft and hard precision, recall, F1 of one video and of many. Embedding texts is done elsewhere.

Source: GuideMe (arXiv 2607.02991) section 3.5.1 and the rules of its released scorer at commit 461f106.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ml.benchmarks.guideme.options import Average, Candidates, DistanceUnit, Midpoint, Similarity, SoftOptions, WithoutReferences
from ml.benchmarks.guideme.timeline import SILENT, Instant, is_silence, usable_instants

Floats = NDArray[np.float64]
Cosines = Callable[[Sequence[str], Sequence[str]], Floats]
"""Predicted texts [n] and reference texts [m] to cosines [n, m]."""


@dataclass(frozen=True, slots=True)
class Match:
    """A prediction on a reference; instants are indices into ``usable_instants``."""

    said_at: int
    reference_at: int
    similarity: float


@dataclass(frozen=True)
class SegmentSoft:
    """Sums of one segment, with the category of its reference."""

    category: str | None
    similarity: float
    said: int
    references: int
    hits: int


@dataclass(frozen=True)
class VideoSoft:
    """Sums of one video and what follows from them, all 0..1."""

    similarity: float
    said: int
    references: int
    hits: int
    precision: float
    recall: float
    f1: float
    hard_precision: float
    hard_recall: float
    hard_f1: float
    matches: tuple[Match, ...] = ()
    segments: tuple[SegmentSoft, ...] = ()


def harmonic(precision: float, recall: float, empty: float = 0.0) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else empty


def distance_cost(distance: Floats, sigma: float) -> Floats:
    """1 - exp(-sigma d^2), elementwise."""
    return -np.expm1(-sigma * np.square(distance))


def video_from_sums(
    similarity: float,
    said: int,
    references: int,
    hits: int,
    options: SoftOptions,
    matches: Sequence[Match] = (),
    segments: Sequence[SegmentSoft] = (),
) -> VideoSoft:
    def share(top: float, bottom: int) -> float:
        return top / bottom if bottom else options.empty

    precision, recall = share(similarity, said), share(similarity, references)
    hard_precision, hard_recall = share(hits, said), share(hits, references)
    return VideoSoft(
        similarity,
        said,
        references,
        hits,
        precision,
        recall,
        harmonic(precision, recall, options.empty),
        hard_precision,
        hard_recall,
        harmonic(hard_precision, hard_recall, options.empty),
        tuple(matches),
        tuple(segments),
    )


@dataclass(frozen=True)
class Laid:
    """One video laid out for matching: its usable instants in time order, and which of them hold talk; talk is stripped."""

    usable: Sequence[Instant]
    times: Floats
    said_at: NDArray[np.intp]
    reference_at: NDArray[np.intp]
    said: Sequence[str]
    references: Sequence[str]


def lay_out(instants: Sequence[Instant], options: SoftOptions) -> Laid:
    """Each distinct text is asked once whether it is silence."""
    usable = usable_instants(instants, options.missing)
    texts = {text for x in usable for text in (x.said or "", x.reference)}
    talk = {text for text in texts if not is_silence(text, options.silence)}
    said_at = np.array([i for i, x in enumerate(usable) if x.said in talk], dtype=np.intp)
    reference_at = np.array([i for i, x in enumerate(usable) if x.reference in talk], dtype=np.intp)
    times = np.array([x.t_s for x in usable], dtype=np.float64)
    said = [(usable[i].said or "").strip() for i in said_at]
    return Laid(usable, times, said_at, reference_at, said, [usable[i].reference.strip() for i in reference_at])


def score_video(instants: Sequence[Instant], cosines: Cosines, options: SoftOptions) -> VideoSoft:
    """``match_video`` of instants in any order."""
    return match_video(lay_out(instants, options), cosines, options)


def match_video(laid: Laid, cosines: Cosines, options: SoftOptions) -> VideoSoft:
    """Match the predictions of one video with its references, segment by segment.

    Rows are predicted utterances; columns all instants of the segment (or its references only). Cost is text cost plus distance cost.
    """
    usable, times, said_at, reference_at, said, references = (
        laid.usable,
        laid.times,
        laid.said_at,
        laid.reference_at,
        laid.said,
        laid.references,
    )
    similarity = _similarity(cosines, said, references, options)
    silence_cost = _silence_cost(cosines, said, options)
    boundaries = (times[reference_at][:-1] + times[reference_at][1:]) / 2
    segment_of = np.searchsorted(boundaries, times, side="right" if options.midpoint is Midpoint.LATER else "left")
    axis = times if options.distance_unit is DistanceUnit.SECONDS else np.arange(len(usable), dtype=np.float64)
    first_of = np.searchsorted(segment_of, np.arange(len(boundaries) + 2))
    said_first = np.searchsorted(said_at, first_of)
    reference_first = np.searchsorted(reference_at, first_of)
    matches: list[Match] = []
    segments: list[SegmentSoft] = []
    for k in range(len(boundaries) + 1):
        rows, columns = slice(said_first[k], said_first[k + 1]), slice(reference_first[k], reference_first[k + 1])
        own = _match_segment(
            said_at[rows],
            reference_at[columns],
            int(first_of[k]),
            int(first_of[k + 1]),
            axis,
            similarity[rows, columns],
            silence_cost[rows],
            options,
        )
        matches += own
        here = reference_at[columns]
        hits = sum(match.similarity > options.hard_threshold for match in own)
        category = usable[here[0]].category if len(here) else None
        segments.append(SegmentSoft(category, sum(m.similarity for m in own), rows.stop - rows.start, len(here), hits))
    total = sum(match.similarity for match in matches)
    hits = sum(segment.hits for segment in segments)
    return video_from_sums(total, len(said), len(references), hits, options, matches, segments)


def _similarity(cosines: Cosines, said: Sequence[str], references: Sequence[str], options: SoftOptions) -> Floats:
    if not said or not references:
        return np.zeros((len(said), len(references)))
    values = np.asarray(cosines(said, references), dtype=np.float64)
    return np.abs(values) if options.similarity is Similarity.ABSOLUTE else np.maximum(values, 0.0)


def _silence_cost(cosines: Cosines, said: Sequence[str], options: SoftOptions) -> Floats:
    if options.talk_silent_cost is not None:
        return np.full(len(said), options.talk_silent_cost)
    return 1.0 - _similarity(cosines, said, [SILENT], options).reshape(len(said))


def _match_segment(
    said_at: NDArray[np.intp],
    reference_at: NDArray[np.intp],
    start: int,
    stop: int,
    axis: Floats,
    similarity: Floats,
    silence_cost: Floats,
    options: SoftOptions,
) -> list[Match]:
    if len(said_at) == 0 or len(reference_at) == 0:
        return []
    if options.candidates is Candidates.TALK_ONLY:
        cost = 1.0 - similarity + distance_cost(axis[said_at][:, None] - axis[reference_at][None, :], options.sigma)
        columns_at = reference_at
    else:
        cost = silence_cost[:, None] + distance_cost(axis[said_at][:, None] - axis[None, start:stop], options.sigma)
        at_reference = distance_cost(axis[said_at][:, None] - axis[reference_at][None, :], options.sigma)
        cost[:, reference_at - start] = 1.0 - similarity + at_reference
        columns_at = np.arange(start, stop)
    if len(said_at) == 1:
        chosen = [(0, int(cost[0].argmin()))]  # the first of equal costs, like the rule for ties
    else:
        chosen = [(int(row), int(column)) for row, column in zip(*linear_sum_assignment(cost), strict=True)]
    place = {int(at): index for index, at in enumerate(reference_at)}
    return [
        Match(int(said_at[row]), int(columns_at[column]), float(similarity[row, place[int(columns_at[column])]]))
        for row, column in chosen
        if int(columns_at[column]) in place
    ]


@dataclass(frozen=True)
class CorpusSoft:
    precision: float | None
    recall: float | None
    f1: float | None
    hard_precision: float | None
    hard_recall: float | None
    hard_f1: float | None
    videos: int


def score_corpus(videos: Iterable[VideoSoft], options: SoftOptions) -> CorpusSoft:
    """Corpus values by ``options.average``; None when there is no video to average over."""
    kept = [v for v in videos if v.references or options.without_references is WithoutReferences.ZERO]
    if not kept:
        return CorpusSoft(None, None, None, None, None, None, 0)
    if options.average is Average.MICRO:
        whole = video_from_sums(
            sum(v.similarity for v in kept), sum(v.said for v in kept), sum(v.references for v in kept), sum(v.hits for v in kept), options
        )
        return CorpusSoft(whole.precision, whole.recall, whole.f1, whole.hard_precision, whole.hard_recall, whole.hard_f1, len(kept))

    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(kept)

    precision, recall = mean(v.precision for v in kept), mean(v.recall for v in kept)
    hard_precision, hard_recall = mean(v.hard_precision for v in kept), mean(v.hard_recall for v in kept)
    if options.average is Average.HARMONIC_OF_MACRO:
        f1, hard_f1 = harmonic(precision, recall, options.empty), harmonic(hard_precision, hard_recall, options.empty)
    else:
        f1, hard_f1 = mean(v.f1 for v in kept), mean(v.hard_f1 for v in kept)
    return CorpusSoft(precision, recall, f1, hard_precision, hard_recall, hard_f1, len(kept))
