"""The ``scores`` rows of Cook-MRE: all, per element and level of difficulty, kinds of failure. The formulas are in ``metrics``."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from ml.benchmarks.bootstrap import Floats, draw_weights
from ml.benchmarks.cook_mre.judged import FailureKind, Judgement
from ml.benchmarks.cook_mre.metrics import (
    Clusters,
    CookOptions,
    CorrectSample,
    Difficulty,
    MistakeSample,
    Unparsable,
    is_readable,
    passes,
    score_cook_mre,
)
from ml.benchmarks.cook_mre.samples import ELEMENTS, GRADED_ELEMENTS, CookSample
from ml.benchmarks.options import options_hash
from ml.benchmarks.tally import ALL, Failures, Measure, Resampled, Row, Tally, ratio, total
from ml.errors import InputError
from ml.tables.declarations.results import SCORES

# Sums per cluster.
TP, FP, FN, TN, TYPED, EXPLAINED, FULL, MISTAKES, SAMPLES, FAILED = range(10)
WIDTH = FAILED + 1 + len(FailureKind)
FAILURE_COLUMNS = {kind: FAILED + 1 + place for place, kind in enumerate(FailureKind)}

TYPE_ACC = Measure("type_acc", ratio([TYPED], [MISTAKES]), total(MISTAKES))
CORR_ACC = Measure("corr_acc", ratio([EXPLAINED], [MISTAKES]), total(MISTAKES))
FULL_PASS = Measure("full_pass", ratio([FULL], [SAMPLES]), total(SAMPLES))


def score_cook(
    samples: Sequence[CookSample],
    judgement: Judgement,
    options: CookOptions,
    *,
    experiment: str,
    protocol: str,
    made_with: Sequence[object] = (),
) -> pl.DataFrame:
    """``scores`` rows. Groups: all, an element, ``<element>.<level>``, ``failure.<kind>``; values 0..1, null for an empty group.

    ``<metric>_per_recording`` is the mean over the source clips in which the metric is defined: MPC F1 needs a mistake sample or claim,
    and Macro F1 is that of the classes which a clip has. ``failure_share`` divides by the mistake samples that failed with a known
    kind, ``failure_share_of_mistakes`` by all mistake samples: the paper's figure leaves open which it means. Intervals resample source
    clips, as samples share them. Without a judge only the F1 values are given. ``made_with`` are dataclasses that name the judge and
    enter the options hash.
    """
    _check_judged(samples, judgement)
    names, sums = _sums(samples, judgement, options)
    weights = draw_weights(len(names), options.bootstrap)
    is_void = bool(samples) and len(judgement.missing) == len(samples)
    rows: list[Row] = []
    whole = Resampled(sums, options.bootstrap, weights)
    everywhere = (TYPE_ACC, CORR_ACC, FULL_PASS) if judgement.has_judge else ()
    for measure in (*everywhere, *f1_measures(options)):
        rows.append(whole.row(measure, ALL, _failures(samples, judgement), is_void=is_void))
    for measure in (*everywhere, *f1_measures(options, undefined=float("nan"))):
        rows.append(whole.mean_row(measure, ALL, _failures(samples, judgement), is_void=is_void))
    for group, members in _groups(samples, options).items():
        own = Resampled(_sums(members, judgement, options, names)[1], options.bootstrap, weights)
        failures = _failures(members, judgement)
        for measure in everywhere:
            rows += [take(measure, group, failures, is_void=is_void) for take in (own.row, own.mean_row)]
    if judgement.failures:
        for kind, column in FAILURE_COLUMNS.items():
            for name, bottom in (("failure_share", FAILED), ("failure_share_of_mistakes", MISTAKES)):
                measure = Measure(name, ratio([column], [bottom]), total(bottom), lower_is_better=True)
                rows.append(whole.row(measure, f"failure.{kind}", _failures(samples, judgement), is_void=is_void))
    hashed = options_hash(options, *made_with)
    common: Row = {"experiment": experiment, "protocol": protocol, "options_hash": hashed}
    return SCORES.check(SCORES.rows([{**common, **row} for row in rows]))


def tally_cook(samples: Sequence[CookSample], judgement: Judgement, options: CookOptions) -> Tally:
    """Sums per source clip (or sample) of one run, for comparing it with another."""
    _check_judged(samples, judgement)
    names, sums = _sums(samples, judgement, options)
    judged = (TYPE_ACC, CORR_ACC, FULL_PASS) if judgement.has_judge else ()
    return Tally(names, sums, (*f1_measures(options), *judged))


def f1_measures(options: CookOptions, undefined: float | None = None) -> tuple[Measure, Measure]:
    """MPC F1, of the mistake class, and Macro F1, the mean over both classes: only over everything, as groups hold one class.

    0/0 is ``undefined``, by default that of the options; where it is NaN, Macro F1 is the mean over the classes that have a value.
    """
    zero = options.zero_division if undefined is None else undefined

    def f1_of(hit: int) -> Callable[[Floats], Floats]:
        def value(sums: Floats) -> Floats:
            bottom = 2 * sums[:, hit] + sums[:, FP] + sums[:, FN]
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(bottom > 0, 2 * sums[:, hit] / bottom, zero)

        return value

    mistake, correct = f1_of(TP), f1_of(TN)

    def macro_of(sums: Floats) -> Floats:
        both = np.stack([mistake(sums), correct(sums)])
        known = np.isfinite(both)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(known, both, 0.0).sum(0) / known.sum(0)

    macro = Measure("macro_f1", macro_of, total(SAMPLES))
    return Measure("mpc_f1", mistake, total(SAMPLES)), macro


def _check_judged(samples: Sequence[CookSample], judgement: Judgement) -> None:
    absent = [s.sample_id for s in samples if s.sample_id not in judgement.samples]
    if absent:
        raise InputError("a sample is not judged", record=absent[0], field="sample_id", remedy="A failed answer is a judgement of None")


def _groups(samples: Sequence[CookSample], options: CookOptions) -> dict[str, list[CookSample]]:
    groups: dict[str, list[CookSample]] = {}
    for element in ELEMENTS:
        groups[element] = [s for s in samples if s.element == element]
        if element in GRADED_ELEMENTS or options.difficulty is Difficulty.ALL:
            for level in sorted({s.difficulty for s in groups[element] if s.difficulty is not None}):
                groups[f"{element}.{level}"] = [s for s in groups[element] if s.difficulty == level]
    return groups


def _failures(members: Sequence[CookSample], judgement: Judgement) -> Failures:
    ids = {s.sample_id for s in members}
    return Failures(len(ids & judgement.missing), len(ids & judgement.unparsable), len(ids & judgement.judge_failed))


def _sums(
    members: Sequence[CookSample], judgement: Judgement, options: CookOptions, names: tuple[str, ...] | None = None
) -> tuple[tuple[str, ...], Floats]:
    """Names of the clusters, sorted, and sums [clusters, WIDTH]."""
    cluster_of = {s.sample_id: s.clip_id if options.clusters is Clusters.CLIP else s.sample_id for s in members}
    names = names if names is not None else tuple(sorted(set(cluster_of.values())))
    place = {name: index for index, name in enumerate(names)}
    sums = np.zeros((len(names), WIDTH))
    for sample in members:
        row = sums[place[cluster_of[sample.sample_id]]]
        row[:FAILED] += _sample_counts(_asked(judgement.samples[sample.sample_id], judgement), options)
        kind = judgement.failures.get(sample.sample_id)
        if kind is not None:
            row[[FAILED, FAILURE_COLUMNS[kind]]] += 1
    return names, sums


def _asked(sample: MistakeSample | CorrectSample, judgement: Judgement) -> MistakeSample | CorrectSample:
    """The sample without the open questions of types and observations that nobody asked: they are not reported, and exclude nothing."""
    if judgement.has_judge or isinstance(sample, CorrectSample):
        return sample
    return replace(sample, type_right=False, observation_right=False)


def _sample_counts(sample: MistakeSample | CorrectSample, options: CookOptions) -> tuple[float, ...]:
    """TP to SAMPLES of one sample."""
    if isinstance(sample, MistakeSample):
        scores = score_cook_mre([sample], [], options)
        counted = float(options.unparsable is Unparsable.WRONG or is_readable(sample, options))
        full = scores.full_pass or 0.0
        return (scores.tp, 0.0, scores.fn, 0.0, scores.type_acc or 0.0, scores.corr_acc or 0.0, full, counted, counted)
    scores = score_cook_mre([], [sample], options)
    counted = float(options.unparsable is Unparsable.WRONG or is_readable(sample, options))
    return (0.0, scores.fp, 0.0, scores.tn, 0.0, 0.0, counted * passes(sample, options), 0.0, counted)
