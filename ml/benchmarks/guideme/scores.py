"""The ``scores`` rows of GuideMe: soft matching, behaviour, judged quality, with intervals over videos and per category."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl

from ml.benchmarks.bootstrap import Floats, draw_weights, interval
from ml.benchmarks.guideme.behavior import JUDGE_SCALE, Moment, Outcome, Record, classify
from ml.benchmarks.guideme.embedding import BoundedCosines, Encode
from ml.benchmarks.guideme.options import Average, GuideMeOptions, JudgeFailure, Missing, WithoutReferences
from ml.benchmarks.guideme.soft import VideoSoft, score_video, video_from_sums
from ml.benchmarks.guideme.timeline import SILENT, Instant, is_silence, usable_instants
from ml.benchmarks.options import options_hash
from ml.tables.declared import SCORES

Judge = Callable[[Sequence[tuple[str, str]]], Sequence[float | None]]
"""(said, reference) pairs to 0..5 each, None where no grade could be read."""
CATEGORIES = ("instruction", "error", "correction")
BATCH = 32  # videos whose texts are embedded together


@dataclass(frozen=True)
class GuidanceVideo:
    """One video of a run. ``instants`` hold one entry per instant of the protocol's grid."""

    video_id: str
    instants: tuple[Instant, ...]


# Sums per video.
SIM, SAID, REFERENCES, HITS, MATCHED_POINTS, MATCHED_JUDGED = range(6)
CS, NR, FA, PC, POINTS, JUDGED = range(6, 12)
MISSING, INSTANTS, JUDGE_FAILED, HAS_REFERENCES = range(12, 16)
WIDTH = 16


@dataclass(frozen=True)
class _Measure:
    name: str
    value: Callable[[Floats], Floats]
    count: Callable[[Floats], Floats]


def _ratio(top: Sequence[int], bottom: Sequence[int], scale: float = 1.0) -> Callable[[Floats], Floats]:
    def value(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return scale * sums[:, list(top)].sum(1) / sums[:, list(bottom)].sum(1)

    return value


def _sum(*columns: int) -> Callable[[Floats], Floats]:
    return lambda sums: sums[:, list(columns)].sum(1)


def _soft_f1(sums: Floats) -> Floats:
    p, r = (np.nan_to_num(_ratio([SIM], [bottom])(sums)) for bottom in (SAID, REFERENCES))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p + r > 0, 2 * p * r / (p + r), 0.0)


def _soft_share(bottom: int) -> Callable[[Floats], Floats]:
    return lambda sums: np.nan_to_num(_ratio([SIM], [bottom])(sums))


RECORDS = (CS, NR, FA, PC)
BEHAVIOR = (
    _Measure("cs", _ratio([CS], RECORDS, 100), _sum(*RECORDS)),
    _Measure("nr", _ratio([NR], RECORDS, 100), _sum(*RECORDS)),
    _Measure("fa", _ratio([FA], RECORDS, 100), _sum(*RECORDS)),
    _Measure("pc", _ratio([PC], RECORDS, 100), _sum(*RECORDS)),
)
SCORE = _Measure("score", _ratio([POINTS], [JUDGED]), _sum(JUDGED))
SCORE_M = _Measure("score_m", _ratio([MATCHED_POINTS], [MATCHED_JUDGED]), _sum(MATCHED_JUDGED))
SOFT = (
    _Measure("soft_precision", _soft_share(SAID), _sum(SAID)),
    _Measure("soft_recall", _soft_share(REFERENCES), _sum(REFERENCES)),
    _Measure("soft_f1", _soft_f1, _sum(REFERENCES)),
)
COUNTS = (
    _Measure("instants", _sum(INSTANTS), _sum(INSTANTS)),
    _Measure("judge_failed", _sum(JUDGE_FAILED), _sum(PC)),
)


def score_guideme(
    videos: Iterable[GuidanceVideo],
    encode: Encode,
    options: GuideMeOptions,
    *,
    experiment: str,
    protocol: str,
    judge: Judge | None = None,
) -> pl.DataFrame:
    """``scores`` of one run. Soft values and hard ones are 0..1, behaviour rates, Score and Score_m 0..100.

    ``soft_*`` is averaged by ``options.soft.average`` and ``soft_*_pooled`` over the corpus. Groups: all, and the category of the
    reference (there NR and PC add up to 100). Without ``judge`` neither Score nor Score_m is given. ``videos`` is read once, in
    batches: memory does not grow with their number beyond a few numbers each.
    """
    cosines = BoundedCosines(encode)
    values: list[Floats] = []
    by_category: dict[str, list[Floats]] = {category: [] for category in CATEGORIES}
    macro: list[tuple[float, ...]] = []
    for batch in _batches(videos):
        usable = [usable_instants(video.instants, options.soft.missing) for video in batch]
        cosines.prepare(_texts(usable, options))
        softs = [score_video(video.instants, cosines, options.soft) for video in batch]
        records = [classify([_moment(x, options) for x in instants], options.behavior) for instants in usable]
        grades = _Grades(judge, usable, softs, records) if judge is not None else None
        for index, video in enumerate(batch):
            values.append(_sums(video, usable[index], softs[index], records[index], grades, index, None, options))
            for category in CATEGORIES:
                by_category[category].append(_sums(video, usable[index], softs[index], records[index], grades, index, category, options))
            soft = softs[index]
            macro.append((soft.precision, soft.recall, soft.f1, soft.hard_precision, soft.hard_recall, soft.hard_f1))
    sums = np.array(values).reshape(-1, WIDTH)
    rows = _rows(sums, np.array(macro).reshape(-1, 6), options, judge is not None)
    for category, parts in by_category.items():
        rows += _category_rows(category, np.array(parts).reshape(-1, WIDTH), options, judge is not None)
    common = {"experiment": experiment, "protocol": protocol, "options_hash": options_hash(options)}
    return SCORES.check(SCORES.rows([{**common, **row} for row in rows]))


def _batches(videos: Iterable[GuidanceVideo]) -> Iterator[list[GuidanceVideo]]:
    iterator = iter(videos)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def _texts(usable: Sequence[Sequence[Instant]], options: GuideMeOptions) -> Iterator[str]:
    rule = options.soft.silence
    for instants in usable:
        for instant in instants:
            for text in (instant.said or "", instant.reference):
                if not is_silence(text, rule):
                    yield text
    if options.soft.talk_silent_cost is None:
        yield SILENT


def _moment(instant: Instant, options: GuideMeOptions) -> Moment:
    rule = options.soft.silence
    return Moment(instant.t_s, not is_silence(instant.reference, rule), not is_silence(instant.said or "", rule))


class _Grades:
    """Judge's grades of one batch: of the matched pairs and of the PC pairs, each distinct pair of texts judged once."""

    def __init__(
        self, judge: Judge, usable: Sequence[Sequence[Instant]], softs: Sequence[VideoSoft], records: Sequence[Sequence[Record]]
    ) -> None:
        self._usable = usable
        pairs: dict[tuple[str, str], None] = {}
        for index, soft in enumerate(softs):
            for match in soft.matches:
                pairs[self.texts(index, match.said_at, match.reference_at)] = None
            for record in records[index]:
                if record.outcome is Outcome.PARTLY_CORRECT:
                    pairs[self.texts(index, record.said_at, record.reference_at)] = None
        self._grades = dict(zip(pairs, judge(list(pairs)), strict=True)) if pairs else {}

    def texts(self, index: int, said_at: int, reference_at: int) -> tuple[str, str]:
        return (self._usable[index][said_at].said or "").strip(), self._usable[index][reference_at].reference.strip()

    def of(self, index: int, said_at: int, reference_at: int) -> float | None:
        return self._grades[self.texts(index, said_at, reference_at)]


def _sums(
    video: GuidanceVideo,
    usable: Sequence[Instant],
    soft: VideoSoft,
    records: Sequence[Record],
    grades: _Grades | None,
    index: int,
    category: str | None,
    options: GuideMeOptions,
) -> Floats:
    """Sums of one video over everything, or over the segments and references of one category."""
    out = np.zeros(WIDTH)
    segments = [s for s in soft.segments if category is None or s.category == category]
    out[[SIM, SAID, REFERENCES, HITS]] = (
        sum(s.similarity for s in segments),
        sum(s.said for s in segments),
        sum(s.references for s in segments),
        sum(s.hits for s in segments),
    )
    out[HAS_REFERENCES] = out[REFERENCES] > 0
    out[MISSING] = sum(x.said is None for x in video.instants)
    out[INSTANTS] = len(usable) if options.soft.missing is Missing.DROP else len(usable) - out[MISSING]
    excludes = options.behavior.judge_failure is JudgeFailure.EXCLUDE
    for match in soft.matches:
        if grades is not None and (category is None or usable[match.reference_at].category == category):
            grade = grades.of(index, match.said_at, match.reference_at)
            if grade is not None or not excludes:
                out[[MATCHED_POINTS, MATCHED_JUDGED]] += (grade or 0.0) * JUDGE_SCALE, 1
    column = {Outcome.CORRECT_SILENT: CS, Outcome.NO_RESPONSE: NR, Outcome.FALSE_ALARM: FA, Outcome.PARTLY_CORRECT: PC}
    for record in records:
        if category is not None and (record.reference_at < 0 or usable[record.reference_at].category != category):
            continue
        out[column[record.outcome]] += 1
        if record.outcome is not Outcome.PARTLY_CORRECT:
            out[[POINTS, JUDGED]] += 100.0 if record.outcome is Outcome.CORRECT_SILENT else 0.0, 1
        elif grades is not None:
            grade = grades.of(index, record.said_at, record.reference_at)
            out[JUDGE_FAILED] += grade is None
            if grade is not None or not excludes:
                out[[POINTS, JUDGED]] += (grade or 0.0) * JUDGE_SCALE, 1
    return out


def _rows(sums: Floats, macro: Floats, options: GuideMeOptions, is_judged: bool) -> list[dict[str, object]]:
    weights = draw_weights(len(sums), options.bootstrap)
    missing = int(sums[:, MISSING].sum())
    rows: list[dict[str, object]] = []
    names = ("soft_precision", "soft_recall", "soft_f1", "hard_precision", "hard_recall", "hard_f1")
    keep = np.ones(len(sums), bool) if options.soft.without_references is WithoutReferences.ZERO else sums[:, HAS_REFERENCES] > 0
    for column, name in enumerate(names):
        totals = np.stack([np.where(keep, macro[:, column], 0.0), keep.astype(np.float64)], axis=1)
        drawn = weights @ totals
        if options.soft.average is Average.MICRO:
            value, values = _pooled_soft(column, sums.sum(0, keepdims=True), options)[0], _pooled_soft(column, weights @ sums, options)
        else:
            value, values = _mean(totals.sum(0, keepdims=True))[0], _mean(drawn)
        rows.append(_row(name, "all", value, int(keep.sum()), missing, values, options))
    if options.soft.average is Average.HARMONIC_OF_MACRO:
        _replace_by_harmonic(rows, options)
    measures = (*_pooled_names(), *BEHAVIOR, *COUNTS, *((SCORE, SCORE_M) if is_judged else ()))
    rows += [_measured(measure, "all", sums, weights, missing, options) for measure in measures]
    return rows


def _pooled_names() -> list[_Measure]:
    return [_Measure(f"{measure.name}_pooled", measure.value, measure.count) for measure in SOFT]


def _pooled_soft(column: int, sums: Floats, options: GuideMeOptions) -> Floats:
    values = []
    for row in sums:
        v = video_from_sums(row[SIM], row[SAID], row[REFERENCES], row[HITS], options.soft)
        values.append((v.precision, v.recall, v.f1, v.hard_precision, v.hard_recall, v.hard_f1)[column])
    return np.array(values, dtype=np.float64)


def _mean(totals: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return totals[:, 0] / totals[:, 1]


def _replace_by_harmonic(rows: list[dict[str, object]], options: GuideMeOptions) -> None:
    by_name = {str(row["metric"]): row for row in rows}
    for kind in ("soft", "hard"):
        p, r = (by_name[f"{kind}_{side}"]["value"] for side in ("precision", "recall"))
        if isinstance(p, float) and isinstance(r, float):
            value = 2 * p * r / (p + r) if p + r else options.soft.empty
            by_name[f"{kind}_f1"].update(value=value, low=None, high=None)


def _category_rows(category: str, sums: Floats, options: GuideMeOptions, is_judged: bool) -> list[dict[str, object]]:
    if not sums[:, [REFERENCES, NR, PC]].sum():
        return []
    weights = draw_weights(len(sums), options.bootstrap)
    missing = int(sums[:, MISSING].sum())
    chosen = (*SOFT, BEHAVIOR[1], BEHAVIOR[3], *((SCORE, SCORE_M) if is_judged else ()))
    return [_measured(measure, category, sums, weights, missing, options) for measure in chosen]


def _measured(measure: _Measure, group: str, sums: Floats, weights: Floats, missing: int, options: GuideMeOptions) -> dict[str, object]:
    pooled = sums.sum(0, keepdims=True)
    return _row(
        measure.name, group, measure.value(pooled)[0], int(measure.count(pooled)[0]), missing, measure.value(weights @ sums), options
    )


def _row(name: str, group: str, value: float, n: int, missing: int, drawn: Floats, options: GuideMeOptions) -> dict[str, object]:
    if not np.isfinite(value):
        return {"metric": name, "group": group, "value": None, "n": n, "n_missing": missing, "low": None, "high": None}
    low, high = interval(drawn, options.bootstrap)
    return {"metric": name, "group": group, "value": float(value), "n": n, "n_missing": missing, "low": low, "high": high}
