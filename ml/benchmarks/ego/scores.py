"""The ``scores`` table of EGO-MC-Bench: every metric with counts, interval and breakdown per type. The rules stand beside it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ml.benchmarks.bootstrap import Floats, draw_weights
from ml.benchmarks.ego.completion import is_counted, is_false_success, is_right, is_success_on_mistake
from ml.benchmarks.ego.mistakes import Event, MistakeUnit, UnitOutcome, precision_recall_f1, unit_outcome, whole_recordings
from ml.benchmarks.ego.options import Average, EgoOptions, Scope
from ml.benchmarks.ego.units import ScoredUnit, scored_units
from ml.benchmarks.options import options_hash
from ml.benchmarks.tally import ALL, Failures, Measure, Resampled, Row, Tally, ratio, total, with_undefined
from ml.benchmarks.text_overlap import rouge_l
from ml.tables.declarations.results import SCORES
from ml.vocabulary import MessageKind, MistakeType

REPORTED = EgoOptions()
FluencyScorer = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""(prediction, reference) pairs to one score each, e.g. BERTScore."""

# Columns of the counts per recording; every metric is a function of their sums.
TP, TP_SAID, FP, FN, QUIET, UNITS, SECONDS = range(7)
RIGHT, COUNTED, FALSE_SUCCESS, ON_MISTAKE, MISTAKE_STEPS = range(7, 12)
PAIRS, ROUGE, DELAY, FLUENT = range(12, 16)
WIDTH = 16


def _prf(which: int) -> Callable[[Floats], Floats]:
    return lambda sums: precision_recall_f1(sums[:, [TP, TP_SAID, FP, FN]])[which]


# 0/0 of those with a value of it is ``EgoOptions.zero_division``.
PRECISION = Measure("mistake_precision", _prf(0), total(TP_SAID, FP), 0.0)
RECALL = Measure("mistake_recall", _prf(1), total(TP, FN), 0.0)
F1 = Measure("mistake_f1", _prf(2), total(TP, FN), 0.0)
IC_ACC = Measure("ic_acc", ratio([RIGHT], [COUNTED], 100.0), total(COUNTED), 0.0)
ROUGE_L = Measure("rouge_l", ratio([ROUGE], [PAIRS]), total(PAIRS), 0.0)
FLUENCY = Measure("bertscore", ratio([FLUENT], [PAIRS]), total(PAIRS), 0.0)
FALSE_SUCCESS_SHARE = Measure("false_success", ratio([FALSE_SUCCESS], [MISTAKE_STEPS]), total(MISTAKE_STEPS), lower_is_better=True)
FALSE_ALARMS = Measure("false_alarms_per_hour", ratio([FP], [SECONDS], 3600.0), total(UNITS), lower_is_better=True)
WINDOWED = (
    IC_ACC,
    PRECISION,
    RECALL,
    F1,
    ROUGE_L,
    Measure("mistake_tp", total(TP), total(TP, FN)),
    Measure("mistake_fp", total(FP), total(TP_SAID, FP)),
    Measure("mistake_fn", total(FN), total(TP, FN)),
    Measure("timing_error_s", ratio([DELAY], [PAIRS]), total(PAIRS)),
)
ONCE = (
    FALSE_ALARMS,
    Measure("quiet_units", total(QUIET), total(UNITS)),
    FALSE_SUCCESS_SHARE,
    Measure("success_on_mistake", ratio([ON_MISTAKE], [MISTAKE_STEPS]), total(MISTAKE_STEPS), lower_is_better=True),
)
AVERAGED = (IC_ACC, PRECISION, RECALL, F1)  # 0/0 of a recording counts as its value
AVERAGED_WHERE_DEFINED = ("rouge_l", "bertscore", "timing_error_s", "false_alarms_per_hour", "false_success", "success_on_mistake")
PER_TYPE = (PRECISION, RECALL, F1, ROUGE_L)
COMPARED = (IC_ACC, PRECISION, RECALL, F1, ROUGE_L, FALSE_SUCCESS_SHARE, FALSE_ALARMS)


def score_ego(
    benchmark_steps: pl.DataFrame,
    benchmark_messages: pl.DataFrame,
    predictions: pl.DataFrame,
    options: EgoOptions = REPORTED,
    fluency: FluencyScorer | None = None,
    made_with: Sequence[object] = (),
) -> pl.DataFrame:
    """``scores`` of every (experiment, protocol) in ``predictions``.

    Metrics are pooled over the corpus and ``<metric>_per_recording`` is the mean over recordings; with ``options.average`` per recording
    the mean of P, R, F1 and IC-Acc has the plain name and the other is ``<metric>_pooled``. ``<metric>_3s`` uses the narrow window.
    Group ``all``, or a mistake type: recall over references of the type, precision over messages in steps of the type; there the mean is
    over the recordings in which the metric is defined. Intervals are bootstrapped over recordings. A unit without a good run counts as
    silence and in ``n_missing``, one of which an answer came but could not be read in ``n_unparsable``; if no unit has a good run, values
    are null. ``fluency`` adds ``bertscore``; ``made_with`` are dataclasses that name it and enter the options hash.
    Source: EGO-MC-Bench section 5 and appendix F; readings of open points in ``EgoOptions``.
    """
    parts = []
    for (experiment, protocol), run in predictions.partition_by("experiment", "protocol", as_dict=True, maintain_order=True).items():
        rows = _score_run(benchmark_steps, benchmark_messages, run, str(protocol), options, fluency)
        hashed = options_hash(options, *made_with)
        parts.append(SCORES.rows([{"experiment": experiment, "protocol": protocol, "options_hash": hashed, **row} for row in rows]))
    return SCORES.check(pl.concat(parts)) if parts else SCORES.empty()


def tally_ego(
    benchmark_steps: pl.DataFrame,
    benchmark_messages: pl.DataFrame,
    predictions: pl.DataFrame,
    options: EgoOptions = REPORTED,
    fluency: FluencyScorer | None = None,
) -> Tally:
    """Sums per recording of one run, for comparing it with another; ``fluency`` adds ``bertscore``."""
    units = scored_units(benchmark_steps, benchmark_messages, predictions, str(predictions["protocol"][0]), options)
    recordings = sorted({unit.mistakes.recording_id for unit in units})
    sums = count_units(units, options, fluency).per_recording(recordings)
    compared = (*COMPARED, *((FLUENCY,) if fluency else ()))
    return Tally(tuple(recordings), sums, with_undefined(compared, options.zero_division))


def _score_run(
    steps: pl.DataFrame, messages: pl.DataFrame, run: pl.DataFrame, protocol: str, options: EgoOptions, fluency: FluencyScorer | None
) -> list[Row]:
    units = scored_units(steps, messages, run, protocol, options)
    recordings = sorted({unit.mistakes.recording_id for unit in units})
    weights = draw_weights(len(recordings), options.bootstrap)
    is_void = bool(units) and all(unit.is_missing for unit in units)
    failures = _failures(units)
    by_recording = options.average is Average.PER_RECORDING
    rows: list[Row] = []
    for half_window_s in (options.half_window_s, *options.narrow_half_windows_s):
        is_main = half_window_s == options.half_window_s
        suffix = "" if is_main else f"_{half_window_s:g}s"
        counts = count_units(units, replace(options, half_window_s=half_window_s), fluency if is_main else None)
        whole = Resampled(counts.per_recording(recordings), options.bootstrap, weights)
        measures = (*WINDOWED, *((*ONCE, *((FLUENCY,) if fluency else ())) if is_main else ()))
        averaged = with_undefined(AVERAGED, options.zero_division)
        for measure in with_undefined(measures, options.zero_division):
            name = f"{measure.name}_pooled{suffix}" if by_recording and measure in averaged else f"{measure.name}{suffix}"
            rows.append(whole.row(measure, ALL, failures, name=name, is_void=is_void))
        for measure in averaged:
            name = f"{measure.name}{suffix}" if by_recording else f"{measure.name}_per_recording{suffix}"
            rows.append(whole.mean_row(measure, ALL, failures, name=name, is_void=is_void))
        for measure in measures:
            if measure.name in AVERAGED_WHERE_DEFINED:
                name = f"{measure.name}_per_recording{suffix}"
                rows.append(whole.mean_row(replace(measure, undefined=None), ALL, failures, name=name, is_void=is_void))
        for mistake_type in MistakeType:
            selected = counts.of_type(mistake_type)
            if selected.is_present:
                own = Resampled(selected.per_recording(recordings), options.bootstrap, weights)
                lost = _failures([unit for unit in units if unit.mistake_type == mistake_type])
                for measure in with_undefined(PER_TYPE, options.zero_division):
                    rows += _both_averages(own, measure, mistake_type.value, lost, suffix, by_recording=by_recording, is_void=is_void)
    if options.clarifications:
        others = scored_units(steps, messages, run, protocol, options, MessageKind.CLARIFICATION)
        own = Resampled(count_units(others, options, None).per_recording(recordings), options.bootstrap, weights)
        for measure in with_undefined((PRECISION, RECALL, F1), options.zero_division):
            group, lost = MessageKind.CLARIFICATION.value, _failures(others)
            rows += _both_averages(own, measure, group, lost, "", by_recording=by_recording, is_void=is_void)
    return rows


def _both_averages(
    own: Resampled, measure: Measure, group: str, lost: Failures, suffix: str, *, by_recording: bool, is_void: bool
) -> list[Row]:
    """A group's pooled value and its mean over the recordings where it is defined; the option's average has the plain name."""
    is_mean = by_recording and measure.name in {one.name for one in AVERAGED}
    pooled = f"{measure.name}_pooled{suffix}" if is_mean else f"{measure.name}{suffix}"
    mean = f"{measure.name}{suffix}" if is_mean else f"{measure.name}_per_recording{suffix}"
    return [
        own.row(measure, group, lost, name=pooled, is_void=is_void),
        own.mean_row(replace(measure, undefined=None), group, lost, name=mean, is_void=is_void),
    ]


def _failures(units: Sequence[ScoredUnit]) -> Failures:
    return Failures(sum(unit.is_missing and not unit.is_unparsable for unit in units), sum(unit.is_unparsable for unit in units))


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
        values[index, [UNITS, SECONDS, RIGHT, COUNTED]] = 1, unit.watched_s, is_right(step, options), is_counted(step, options)
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
