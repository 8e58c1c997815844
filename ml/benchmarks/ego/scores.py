"""The ``scores`` table of EGO-MC-Bench: every metric with counts, interval and breakdown per type. The rules stand beside it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ml.benchmarks.bootstrap import Floats, draw_weights, interval
from ml.benchmarks.ego.completion import is_counted, is_false_success, is_right, is_success_on_mistake
from ml.benchmarks.ego.mistakes import Event, MistakeUnit, UnitOutcome, precision_recall_f1, unit_outcome, whole_recordings
from ml.benchmarks.ego.options import EgoOptions, Scope
from ml.benchmarks.ego.units import ScoredUnit, feed_of, scored_units
from ml.benchmarks.options import options_hash
from ml.benchmarks.text_overlap import rouge_l
from ml.tables.declared import SCORES
from ml.vocabulary import MessageKind, MistakeType

ALL = "all"
REPORTED = EgoOptions()
FluencyScorer = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""(prediction, reference) pairs to one score each, e.g. BERTScore."""

# Columns of the counts per recording; every metric is a function of their sums.
TP, TP_SAID, FP, FN, QUIET, UNITS, SECONDS = range(7)
RIGHT, COUNTED, FALSE_SUCCESS, ON_MISTAKE, MISTAKE_STEPS = range(7, 12)
PAIRS, ROUGE, DELAY, FLUENT = range(12, 16)
WIDTH = 16


@dataclass(frozen=True)
class Metric:
    """``value`` maps sums [rows, WIDTH] to [rows] (NaN: no data); ``count`` gives the items behind it."""

    name: str
    value: Callable[[Floats], Floats]
    count: Callable[[Floats], Floats]
    is_windowed: bool = True
    undefined: float | None = 0.0


def _ratio(top: int, bottom: int, scale: float = 1.0) -> Callable[[Floats], Floats]:
    def value(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return scale * sums[:, top] / sums[:, bottom]

    return value


def _prf(which: int) -> Callable[[Floats], Floats]:
    return lambda sums: precision_recall_f1(sums[:, [TP, TP_SAID, FP, FN]])[which]


def _plus(*columns: int) -> Callable[[Floats], Floats]:
    return lambda sums: sums[:, list(columns)].sum(1)


PRECISION = Metric("mistake_precision", _prf(0), _plus(TP_SAID, FP))
RECALL = Metric("mistake_recall", _prf(1), _plus(TP, FN))
F1 = Metric("mistake_f1", _prf(2), _plus(TP, FN))
IC_ACC = Metric("ic_acc", _ratio(RIGHT, COUNTED, 100.0), _plus(COUNTED))
ROUGE_L = Metric("rouge_l", _ratio(ROUGE, PAIRS), _plus(PAIRS))
FLUENCY = Metric("bertscore", _ratio(FLUENT, PAIRS), _plus(PAIRS), is_windowed=False)
POOLED = (
    IC_ACC,
    PRECISION,
    RECALL,
    F1,
    ROUGE_L,
    Metric("mistake_tp", _plus(TP), _plus(TP, FN), undefined=None),
    Metric("mistake_fp", _plus(FP), _plus(TP_SAID, FP), undefined=None),
    Metric("mistake_fn", _plus(FN), _plus(TP, FN), undefined=None),
    Metric("timing_error_s", _ratio(DELAY, PAIRS), _plus(PAIRS), undefined=None),
    Metric("false_alarms_per_hour", _ratio(FP, SECONDS, 3600.0), _plus(UNITS), is_windowed=False, undefined=None),
    Metric("quiet_units", _plus(QUIET), _plus(UNITS), is_windowed=False, undefined=None),
    Metric("false_success", _ratio(FALSE_SUCCESS, MISTAKE_STEPS), _plus(MISTAKE_STEPS), is_windowed=False, undefined=None),
    Metric("success_on_mistake", _ratio(ON_MISTAKE, MISTAKE_STEPS), _plus(MISTAKE_STEPS), is_windowed=False, undefined=None),
)
PER_RECORDING = (IC_ACC, PRECISION, RECALL, F1)
PER_TYPE = (PRECISION, RECALL, F1, ROUGE_L)


def score_ego(
    benchmark_steps: pl.DataFrame,
    benchmark_messages: pl.DataFrame,
    predictions: pl.DataFrame,
    options: EgoOptions = REPORTED,
    fluency: FluencyScorer | None = None,
) -> pl.DataFrame:
    """``scores`` of every (experiment, protocol) in ``predictions``.

    Metrics are pooled over the corpus; ``<metric>_per_recording`` is the mean over recordings. ``<metric>_3s`` uses the narrow window.
    Group ``all``, or a mistake type: recall over references of the type, precision over messages in steps of the type. Intervals are
    bootstrapped over recordings. A unit without a good run counts as silence and in ``n_missing``; if all are missing, values are null.
    ``fluency`` adds ``bertscore``. Source: EGO-MC-Bench section 5 and appendix F; readings of open points in ``EgoOptions``.
    """
    parts = []
    for (experiment, protocol), run in predictions.partition_by("experiment", "protocol", as_dict=True, maintain_order=True).items():
        rows = _score_run(benchmark_steps, benchmark_messages, run, str(protocol), options, fluency)
        parts.append(SCORES.rows([{"experiment": experiment, "protocol": protocol, **row} for row in rows]))
    return SCORES.check(pl.concat(parts)) if parts else SCORES.empty()


def _score_run(
    steps: pl.DataFrame, messages: pl.DataFrame, run: pl.DataFrame, protocol: str, options: EgoOptions, fluency: FluencyScorer | None
) -> list[dict[str, object]]:
    hash_of_options = options_hash(options)
    units = scored_units(steps, messages, run, feed_of(protocol), options)
    recordings = sorted({unit.mistakes.recording_id for unit in units})
    weights = draw_weights(len(recordings), options.bootstrap)
    rows: list[dict[str, object]] = []

    def add(sums: Floats, metrics: Sequence[Metric], group: str, suffix: str, missing: int, is_void: bool) -> None:
        pooled = sums.sum(0, keepdims=True)
        drawn = weights @ sums
        for metric in metrics:
            rows.append(_row(metric, f"{metric.name}{suffix}", group, pooled, metric.value(drawn), missing, is_void, options))

    for half_window_s in (options.half_window_s, *options.narrow_half_windows_s):
        is_main = half_window_s == options.half_window_s
        suffix = "" if is_main else f"_{half_window_s:g}s"
        windowed = replace(options, half_window_s=half_window_s)
        counts = count_units(units, windowed, fluency if is_main else None)
        missing = np.array([unit.is_missing for unit in units], bool)
        is_void = bool(missing.all()) if len(units) else False
        metrics = [m for m in (*POOLED, *((FLUENCY,) if fluency else ())) if is_main or m.is_windowed]
        sums = counts.per_recording(recordings)
        add(sums, metrics, ALL, suffix, int(missing.sum()), is_void)
        for metric in PER_RECORDING:
            rows.append(_mean_row(metric, suffix, sums, weights, int(missing.sum()), is_void, options))
        for mistake_type in MistakeType:
            selected = counts.of_type(mistake_type)
            if selected.is_present:
                n_missing = sum(unit.is_missing and unit.mistake_type == mistake_type for unit in units)
                add(selected.per_recording(recordings), PER_TYPE, mistake_type.value, suffix, n_missing, is_void)
    if options.clarifications:
        others = scored_units(steps, messages, run, feed_of(protocol), options, MessageKind.CLARIFICATION)
        sums = count_units(others, options, None).per_recording(recordings)
        add(sums, (PRECISION, RECALL, F1), MessageKind.CLARIFICATION.value, "", sum(u.is_missing for u in others), False)
    for row in rows:
        row["options_hash"] = hash_of_options
    return rows


@dataclass(frozen=True)
class UnitCounts:
    """Counts per unit: float64 [units, WIDTH], with the recording of each; ``by_type`` the same for one mistake type."""

    values: Floats
    recording_ids: tuple[str, ...]
    by_type: dict[str, Floats]
    is_present: bool = True

    def of_type(self, mistake_type: str) -> "UnitCounts":
        values = self.by_type.get(mistake_type)
        return replace(self, values=np.zeros_like(self.values) if values is None else values, by_type={}, is_present=values is not None)

    def per_recording(self, recordings: Sequence[str]) -> Floats:
        """Sums [recordings, WIDTH] in the order given."""
        place = {name: index for index, name in enumerate(recordings)}
        sums = np.zeros((len(recordings), WIDTH))
        if self.recording_ids:
            np.add.at(sums, [place[name] for name in self.recording_ids], self.values)
        return sums


def count_units(units: Sequence[ScoredUnit], options: EgoOptions, fluency: FluencyScorer | None = None) -> UnitCounts:
    """What every metric is made of, per true step; per recording for the feedback columns when the scope is the recording."""
    values = np.zeros((len(units), WIDTH))
    by_type: dict[str, Floats] = {}
    texts: list[tuple[str, str]] = []
    owners: list[tuple[int, str]] = []
    place = {unit.mistakes.unit_id: index for index, unit in enumerate(units)}
    first_of = {unit.mistakes.recording_id: index for index, unit in reversed(list(enumerate(units)))}
    for index, unit in enumerate(units):
        step = unit.completion
        is_mistake = step.first_feedback_s is not None
        values[index, [UNITS, SECONDS, RIGHT, COUNTED]] = 1, unit.duration_s, is_right(step, options), is_counted(step, options)
        values[index, [FALSE_SUCCESS, ON_MISTAKE, MISTAKE_STEPS]] = is_false_success(step), is_success_on_mistake(step), is_mistake
    for joined, types, unit_type in _scopes(units, options):
        outcome = unit_outcome(joined, options)
        index = place[joined.unit_id] if joined.unit_id in place else first_of[joined.recording_id]
        values[index, [TP, TP_SAID, FP, FN, QUIET]] = outcome.tp, outcome.tp_predictions, outcome.fp, outcome.fn, outcome.is_quiet
        _count_types(by_type, index, outcome, types, unit_type, len(units))
        for reference, prediction in outcome.pairs:
            truth, said = joined.references[reference], joined.predictions[prediction]
            added = _pair_counts(truth, said, options)
            values[index, [PAIRS, ROUGE, DELAY]] += added
            if types[reference]:
                by_type[types[reference]][index, [PAIRS, ROUGE, DELAY]] += added
            texts.append((said.text or "", truth.text or ""))
            owners.append((index, types[reference]))
    if fluency is not None and texts:
        for (index, mistake_type), score in zip(owners, fluency(texts), strict=True):
            values[index, FLUENT] += score
            if mistake_type:
                by_type[mistake_type][index, FLUENT] += score
    return UnitCounts(values, tuple(unit.mistakes.recording_id for unit in units), by_type)


def _scopes(units: Sequence[ScoredUnit], options: EgoOptions) -> Iterator[tuple[MistakeUnit, tuple[str, ...], str | None]]:
    """What is matched as one, the mistake types of its references, and the mistake type of its step."""
    if options.scope is Scope.STEP:
        for unit in units:
            yield unit.mistakes, unit.reference_types, unit.mistake_type
        return
    types: dict[str, list[str]] = {}
    for unit in units:
        types.setdefault(unit.mistakes.recording_id, []).extend(unit.reference_types)
    for joined in whole_recordings([unit.mistakes for unit in units]):
        yield joined, tuple(types[joined.recording_id]), None


def _pair_counts(truth: Event, said: Event, options: EgoOptions) -> tuple[float, float, float]:
    return 1.0, rouge_l((said.text or "").strip(), (truth.text or "").strip(), options.rouge), said.t_s + options.delay_s - truth.t_s


def _count_types(
    by_type: dict[str, Floats], index: int, outcome: UnitOutcome, types: Sequence[str], unit_type: str | None, height: int
) -> None:
    hit = {reference for reference, _ in outcome.pairs}
    for reference, mistake_type in enumerate(types):
        if mistake_type:
            table = _table_of(by_type, mistake_type, height)
            is_hit = reference in hit
            table[index, [TP, TP_SAID, FN]] += is_hit, is_hit, not is_hit
    if unit_type is not None:
        _table_of(by_type, unit_type, height)[index, FP] += outcome.fp


def _table_of(by_type: dict[str, Floats], mistake_type: str, height: int) -> Floats:
    if mistake_type not in by_type:
        by_type[mistake_type] = np.zeros((height, WIDTH))
    return by_type[mistake_type]


def _row(
    metric: Metric, name: str, group: str, pooled: Floats, drawn: Floats, missing: int, is_void: bool, options: EgoOptions
) -> dict[str, object]:
    n = int(metric.count(pooled)[0])
    value = float(metric.value(pooled)[0])
    at_zero = options.zero_division if metric.undefined is not None else None
    value_or_none = value if np.isfinite(value) else at_zero
    if metric.undefined is not None and options.zero_division is not None:
        drawn = np.nan_to_num(drawn, nan=options.zero_division)
    low, high = interval(drawn, options.bootstrap)
    if is_void:
        value_or_none = low = high = None
    elif value_or_none is None:
        low = high = None
    return {"metric": name, "group": group, "value": value_or_none, "n": n, "n_missing": missing, "low": low, "high": high}


def _mean_row(
    metric: Metric, suffix: str, sums: Floats, weights: Floats, missing: int, is_void: bool, options: EgoOptions
) -> dict[str, object]:
    """Mean over the recordings that have anything to count for the metric."""
    has_data = metric.count(sums) > 0
    per_recording = np.nan_to_num(metric.value(sums), nan=options.zero_division or 0.0)
    totals = np.stack([np.where(has_data, per_recording, 0.0), has_data.astype(np.float64)], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = float(totals[:, 0].sum() / totals[:, 1].sum()) if has_data.any() else None
        drawn = (weights @ totals)[:, 0] / (weights @ totals)[:, 1]
    low, high = interval(drawn, options.bootstrap) if mean is not None else (None, None)
    if is_void:
        mean = low = high = None
    return {
        "metric": f"{metric.name}_per_recording{suffix}",
        "group": ALL,
        "value": mean,
        "n": int(has_data.sum()),
        "n_missing": missing,
        "low": low,
        "high": high,
    }
