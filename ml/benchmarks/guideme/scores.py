"""The ``scores`` rows of GuideMe: soft matching, behaviour, judged quality, with intervals over videos and per category."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import polars as pl

from ml.benchmarks.bootstrap import Floats, draw_weights
from ml.benchmarks.guideme.behavior import JUDGE_SCALE, Moment, Outcome, Record, classify
from ml.benchmarks.guideme.embedding import BoundedCosines, Encode
from ml.benchmarks.guideme.options import Average, GuideMeOptions, JudgeFailure, Missing, RateDenominator, WithoutReferences
from ml.benchmarks.guideme.soft import Laid, VideoSoft, lay_out, match_video
from ml.benchmarks.guideme.timeline import SILENT, Instant
from ml.benchmarks.options import options_hash
from ml.benchmarks.tally import ALL, Failures, Measure, Resampled, Row, Tally, ratio, total
from ml.tables.declarations.results import SCORES

Judge = Callable[[Sequence[tuple[str, str]]], Sequence[float | None]]
"""(said, reference) pairs to 0..5 each, None where no grade could be read."""
CATEGORIES = ("instruction", "error", "correction")
BATCH = 32  # videos whose texts are embedded together


@dataclass(frozen=True)
class GuidanceVideo:
    """One video of a run. ``instants`` hold one entry per instant of the protocol's grid."""

    video_id: str
    instants: tuple[Instant, ...]


# Sums per video, and per video and category.
SIM, SAID, REFERENCES, HITS, MATCHED_POINTS, MATCHED_JUDGED, MATCHED_FAILED = range(7)
CS, NR, FA, PC, POINTS, JUDGED, JUDGE_FAILED = range(7, 14)
MISSING, INSTANTS, SAID_KEPT = range(14, 17)  # SAID_KEPT: said in videos that count
MEANS = 17  # from here on: precision, recall, F1, and the hard ones, of videos that count; then how many count
VIDEOS = MEANS + 6
WIDTH = VIDEOS + 1
SOFT_NAMES = ("soft_precision", "soft_recall", "soft_f1", "hard_precision", "hard_recall", "hard_f1")
_COLUMN = {Outcome.CORRECT_SILENT: CS, Outcome.NO_RESPONSE: NR, Outcome.FALSE_ALARM: FA, Outcome.PARTLY_CORRECT: PC}


def score_guideme(
    videos: Iterable[GuidanceVideo],
    encode: Encode,
    options: GuideMeOptions,
    *,
    experiment: str,
    protocol: str,
    judge: Judge | None = None,
    made_with: Sequence[object] = (),
) -> pl.DataFrame:
    """``scores`` of one run. Soft values and hard ones are 0..1, behaviour rates, Score and Score_m 0..100.

    ``soft_*`` is averaged by ``options.soft.average``; the other average stands beside it as ``_pooled`` or ``_per_recording``.
    Groups: all, and the category of the reference (pooled, and the mean over the videos where it is defined; there NR and PC add up to
    100). Without ``judge`` neither Score nor Score_m
    is given; ``made_with`` are dataclasses that name judge and encoder and enter the options hash. If every instant failed, values are
    null.
    """
    sums, by_category = _all_sums(videos, encode, options, judge)
    weights = draw_weights(len(sums), options.bootstrap)
    is_judged = judge is not None
    is_void = bool(len(sums)) and sums[:, INSTANTS].sum() == 0
    whole = Resampled(sums, options.bootstrap, weights)
    rows: list[Row] = []
    for measure in soft_measures(options):
        rows.append(whole.row(measure, ALL, _failures(sums), is_void=is_void))
    for measure in (*behavior_measures(options), *((score_measure(options), SCORE_M) if is_judged else ())):
        failures = _failures(sums, measure)
        rows.append(whole.row(measure, ALL, failures, is_void=is_void))
        rows.append(whole.mean_row(measure, ALL, failures, is_void=is_void))
    rows.append(whole.row(_INSTANTS, ALL, _failures(sums)))
    if is_judged:
        rows.append(whole.row(_JUDGE_FAILED, ALL, _failures(sums, SCORE_M)))
    for place, category in enumerate(CATEGORIES):
        own = by_category[:, place]
        if not own[:, [REFERENCES, NR, PC, MISSING]].sum():
            continue
        group = Resampled(own, options.bootstrap, weights)
        for measure in (*_POOLED_SOFT, _rate("nr", NR, (NR, PC)), _rate("pc", PC, (NR, PC)), *((_SCORE, SCORE_M) if is_judged else ())):
            name = measure.name.removesuffix("_pooled")
            failures = _failures(own, measure)
            rows.append(group.row(measure, category, failures, name=name, is_void=is_void))
            rows.append(group.mean_row(replace(measure, undefined=None), category, failures, name=f"{name}_per_recording", is_void=is_void))
    hashed = options_hash(options, *made_with)
    common: Row = {"experiment": experiment, "protocol": protocol, "options_hash": hashed}
    return SCORES.check(SCORES.rows([{**common, **row} for row in rows]))


def tally_guideme(videos: Iterable[GuidanceVideo], encode: Encode, options: GuideMeOptions, judge: Judge | None = None) -> Tally:
    """Sums per video of one run, for comparing it with another."""
    names: list[str] = []

    def named() -> Iterator[GuidanceVideo]:
        for video in videos:
            names.append(video.video_id)
            yield video

    sums, _ = _all_sums(named(), encode, options, judge)
    compared = (*soft_measures(options), *behavior_measures(options), *((score_measure(options), SCORE_M) if judge is not None else ()))
    order = sorted(range(len(names)), key=names.__getitem__)
    return Tally(tuple(names[i] for i in order), sums[order], compared)


def soft_measures(options: GuideMeOptions) -> tuple[Measure, ...]:
    """Soft and hard precision, recall and F1 by ``options.soft.average``, and the other average beside them."""
    means = tuple(Measure(name, ratio([MEANS + i], [VIDEOS]), total(VIDEOS)) for i, name in enumerate(SOFT_NAMES))
    pooled = tuple(_pooled(name, i, options.soft.empty) for i, name in enumerate(SOFT_NAMES))
    match options.soft.average:
        case Average.MACRO:
            return (*means, *(_renamed(m, "_pooled") for m in pooled))
        case Average.MICRO:
            return (*pooled, *(_renamed(m, "_per_recording") for m in means))
        case Average.HARMONIC_OF_MACRO:
            composed = tuple(_of_means(m, options.soft.empty) if m.name.endswith("_f1") else m for m in means)
            f1s = (_renamed(m, "_per_recording") for m in means if m.name.endswith("_f1"))
            return (*composed, *f1s, *(_renamed(m, "_pooled") for m in pooled))


def behavior_measures(options: GuideMeOptions) -> tuple[Measure, ...]:
    """Shares of the records, percent; of those at a reference only, where rates are conditional on anchored instants."""
    if options.behavior.denominator is RateDenominator.ANCHORED:
        return _rate("nr", NR, (NR, PC)), _rate("pc", PC, (NR, PC))
    return tuple(_rate(name, column, (CS, NR, FA, PC)) for name, column in (("cs", CS), ("nr", NR), ("fa", FA), ("pc", PC)))


def score_measure(options: GuideMeOptions) -> Measure:
    """Score: mean over the records, or over those at a reference."""
    if options.behavior.denominator is RateDenominator.EMITTED:
        return _SCORE

    def anchored(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return (sums[:, POINTS] - 100.0 * sums[:, CS]) / (sums[:, JUDGED] - sums[:, CS] - sums[:, FA])

    return Measure("score", anchored, lambda sums: sums[:, JUDGED] - sums[:, CS] - sums[:, FA])


def _rate(name: str, column: int, records: Sequence[int]) -> Measure:
    return Measure(name, ratio([column], records, 100.0), total(*records), lower_is_better=name in ("nr", "fa"))


_SCORE = Measure("score", ratio([POINTS], [JUDGED]), total(JUDGED))
SCORE_M = Measure("score_m", ratio([MATCHED_POINTS], [MATCHED_JUDGED]), total(MATCHED_JUDGED))
_INSTANTS = Measure("instants", total(INSTANTS), total(INSTANTS))
_JUDGE_FAILED = Measure("judge_failed", total(JUDGE_FAILED), total(PC))


def _pooled(name: str, place: int, empty: float) -> Measure:
    top = SIM if place < 3 else HITS

    def value(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall = (np.nan_to_num(sums[:, top] / sums[:, bottom], nan=empty) for bottom in (SAID_KEPT, REFERENCES))
            f1 = np.where(precision + recall > 0, 2 * precision * recall / (precision + recall), empty)
        return (precision, recall, f1)[place % 3]

    return Measure(name, value, total(SAID_KEPT) if place % 3 == 0 else total(REFERENCES))


_POOLED_SOFT = tuple(_pooled(f"{name}_pooled", place, 0.0) for place, name in enumerate(SOFT_NAMES[:3]))


def _of_means(f1: Measure, empty: float) -> Measure:
    first = MEANS if f1.name == "soft_f1" else MEANS + 3

    def value(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall = sums[:, first] / sums[:, VIDEOS], sums[:, first + 1] / sums[:, VIDEOS]
            composed = np.where(precision + recall > 0, 2 * precision * recall / (precision + recall), empty)
        return np.where(sums[:, VIDEOS] > 0, composed, np.nan)

    return Measure(f1.name, value, f1.count)


def _renamed(measure: Measure, suffix: str) -> Measure:
    return Measure(f"{measure.name}{suffix}", measure.value, measure.count, measure.undefined, measure.lower_is_better)


def _failures(sums: Floats, measure: Measure | None = None) -> Failures:
    """Instants without an answer; judgements that failed, for the two judged measures."""
    failed = {"score": JUDGE_FAILED, "score_m": MATCHED_FAILED}.get(measure.name if measure else "")
    return Failures(int(sums[:, MISSING].sum()), judge_failed=0 if failed is None else int(sums[:, failed].sum()))


def _all_sums(videos: Iterable[GuidanceVideo], encode: Encode, options: GuideMeOptions, judge: Judge | None) -> tuple[Floats, Floats]:
    """Sums [videos, WIDTH] and [videos, categories, WIDTH]. Videos are read once, in batches: memory grows by a few numbers each."""
    cosines = BoundedCosines(encode)
    parts: list[Floats] = []
    for batch in _batches(videos):
        laid = [lay_out(video.instants, options.soft) for video in batch]
        cosines.prepare(_texts(laid, options))
        softs = [match_video(one, cosines, options.soft) for one in laid]
        records = [classify(_moments(one), options.behavior) for one in laid]
        grades = _Grades(judge, laid, softs, records) if judge is not None else None
        for index, video in enumerate(batch):
            parts.append(_sums(video, laid[index], softs[index], records[index], grades, index, options))
    every = np.array(parts).reshape(-1, 1 + len(CATEGORIES), WIDTH)
    return every[:, 0], every[:, 1:]


def _batches(videos: Iterable[GuidanceVideo]) -> Iterator[list[GuidanceVideo]]:
    iterator = iter(videos)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def _texts(laid: Sequence[Laid], options: GuideMeOptions) -> Iterator[str]:
    for one in laid:
        yield from one.said
        yield from one.references
    if options.soft.talk_silent_cost is None:
        yield SILENT


def _moments(laid: Laid) -> list[Moment]:
    said, references = set(laid.said_at.tolist()), set(laid.reference_at.tolist())
    return [Moment(t, i in references, i in said) for i, t in enumerate(laid.times.tolist())]


class _Grades:
    """Judge's grades of one batch: of the matched pairs and of the PC pairs, each distinct pair of texts judged once."""

    def __init__(self, judge: Judge, laid: Sequence[Laid], softs: Sequence[VideoSoft], records: Sequence[Sequence[Record]]) -> None:
        self._laid = laid
        pairs: dict[tuple[str, str], None] = {}
        for index, soft in enumerate(softs):
            for match in soft.matches:
                pairs[self.texts(index, match.said_at, match.reference_at)] = None
            for record in records[index]:
                if record.outcome is Outcome.PARTLY_CORRECT:
                    pairs[self.texts(index, record.said_at, record.reference_at)] = None
        self._grades = dict(zip(pairs, judge(list(pairs)), strict=True)) if pairs else {}

    def texts(self, index: int, said_at: int, reference_at: int) -> tuple[str, str]:
        usable = self._laid[index].usable
        return (usable[said_at].said or "").strip(), usable[reference_at].reference.strip()

    def of(self, index: int, said_at: int, reference_at: int) -> float | None:
        return self._grades[self.texts(index, said_at, reference_at)]


def _sums(
    video: GuidanceVideo,
    laid: Laid,
    soft: VideoSoft,
    records: Sequence[Record],
    grades: _Grades | None,
    index: int,
    options: GuideMeOptions,
) -> Floats:
    """Sums of one video: [everything and one row per category of the reference, WIDTH]."""
    out = np.zeros((1 + len(CATEGORIES), WIDTH))
    rows_of: dict[str | None, list[int]] = {category: [0, place] for place, category in enumerate(CATEGORIES, 1)}
    only_all = [0]
    usable = laid.usable
    for segment in soft.segments:
        for row in rows_of.get(segment.category, only_all):
            out[row, [SIM, SAID, REFERENCES, HITS]] += segment.similarity, segment.said, segment.references, segment.hits
    for instant in video.instants:
        if instant.said is None:
            for row in rows_of.get(instant.category, only_all):
                out[row, MISSING] += 1
    out[0, INSTANTS] = len(usable) if options.soft.missing is Missing.DROP else len(usable) - out[0, MISSING]
    excludes = options.behavior.judge_failure is JudgeFailure.EXCLUDE
    if grades is not None:
        for match in soft.matches:
            grade = grades.of(index, match.said_at, match.reference_at)
            is_judged = grade is not None or not excludes
            for row in rows_of.get(usable[match.reference_at].category, only_all):
                out[row, [MATCHED_POINTS, MATCHED_JUDGED, MATCHED_FAILED]] += (
                    (grade or 0.0) * JUDGE_SCALE,
                    is_judged,
                    grade is None,
                )
    silent = sum(record.outcome is Outcome.CORRECT_SILENT for record in records)
    out[0, [CS, POINTS, JUDGED]] += silent, 100.0 * silent, silent
    for record in records:
        if record.outcome is Outcome.CORRECT_SILENT:
            continue
        rows = rows_of.get(usable[record.reference_at].category, only_all) if record.reference_at >= 0 else only_all
        points, judged, failed = 0.0, 1.0, 0.0
        if record.outcome is Outcome.PARTLY_CORRECT:
            grade = grades.of(index, record.said_at, record.reference_at) if grades is not None else None
            failed = float(grade is None and grades is not None)
            points, judged = (grade or 0.0) * JUDGE_SCALE, float(grades is not None and (grade is not None or not excludes))
        for row in rows:
            out[row, [_COLUMN[record.outcome], POINTS, JUDGED, JUDGE_FAILED]] += 1, points, judged, failed
    out[1:, SAID_KEPT] = out[1:, SAID]
    if out[0, REFERENCES] > 0 or options.soft.without_references is WithoutReferences.ZERO:
        out[0, SAID_KEPT] = out[0, SAID]
        out[0, MEANS:VIDEOS] = soft.precision, soft.recall, soft.f1, soft.hard_precision, soft.hard_recall, soft.hard_f1
        out[0, VIDEOS] = 1
    return out
