"""Mistake precision, recall and F1 of EGO-MC-Bench on units in memory (QICD, arXiv 2511.21998 section 5.1). Reads no tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ml.benchmarks.bootstrap import Floats
from ml.benchmarks.ego.matching import Allowed, Pair, pair_events
from ml.benchmarks.ego.options import Average, Counting, Duplicates, EgoOptions, GateFailure, Matching, Scope
from ml.benchmarks.text_overlap import rouge_l


@dataclass(frozen=True, slots=True)
class Event:
    """One feedback message. ``text`` None: not known, but it was said; blank: no event.

    ``step_instruction`` is the true instruction at that time; ``active_instruction`` is what the assistant followed, by its own
    belief. Either may be None: then no instruction gate applies.
    """

    t_s: float
    text: str | None = None
    step_instruction: str | None = None
    active_instruction: str | None = None

    @property
    def is_said(self) -> bool:
        return self.text is None or bool(self.text.strip())


@dataclass(frozen=True, slots=True)
class MistakeUnit:
    """A true step of a recording with its reference and predicted mistake feedback, in input order."""

    unit_id: str
    recording_id: str
    references: tuple[Event, ...]
    predictions: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """Counts of one unit. ``pairs`` are indices into the unit's references and predictions as they were given."""

    unit_id: str
    recording_id: str
    tp: int
    tp_predictions: int
    fp: int
    fn: int
    is_quiet: bool
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class MistakeScores:
    tp: int
    fp: int
    fn: int
    quiet_units: int
    precision: float | None
    recall: float | None
    f1: float | None
    outcomes: tuple[UnitOutcome, ...]


def score_mistakes(units: Sequence[MistakeUnit], options: EgoOptions) -> MistakeScores:
    """Counts and P/R/F1 (0..1) of ``units``; 0/0 is ``options.zero_division``."""
    scoped = units if options.scope is Scope.STEP else whole_recordings(units)
    outcomes = tuple(unit_outcome(unit, options) for unit in scoped)
    counts = np.array([[o.tp, o.tp_predictions, o.fp, o.fn] for o in outcomes], dtype=np.float64).reshape(-1, 4)
    if options.average is Average.PER_RECORDING and outcomes:
        names = sorted({o.recording_id for o in outcomes})
        row = {name: index for index, name in enumerate(names)}
        sums = np.zeros((len(names), 4))
        np.add.at(sums, [row[o.recording_id] for o in outcomes], counts)
    else:
        sums = counts.sum(0, keepdims=True)
    precision, recall, f1 = (_mean(values, options) for values in precision_recall_f1(sums))
    tp, _, fp, fn = (int(x) for x in counts.sum(0))
    return MistakeScores(tp, fp, fn, sum(o.is_quiet for o in outcomes), precision, recall, f1, outcomes)


def whole_recordings(units: Sequence[MistakeUnit]) -> list[MistakeUnit]:
    """One unit per recording that joins the events of its steps, in the order given; its id is the recording's."""
    joined: dict[str, list[MistakeUnit]] = {}
    for unit in units:
        joined.setdefault(unit.recording_id, []).append(unit)
    return [
        MistakeUnit(
            recording_id,
            recording_id,
            tuple(event for unit in parts for event in unit.references),
            tuple(event for unit in parts for event in unit.predictions),
        )
        for recording_id, parts in joined.items()
    ]


def _mean(values: Floats, options: EgoOptions) -> float | None:
    if options.zero_division is None:
        defined = values[np.isfinite(values)]
        return float(defined.mean()) if defined.size else None
    return float(np.nan_to_num(values, nan=options.zero_division).mean()) if values.size else options.zero_division


def precision_recall_f1(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """P, R, F1 of rows (tp by references, tp by predictions, fp, fn): float64 [rows] each, NaN for 0/0.

    F1 is 2PR/(P+R), and 0 rather than undefined when there is anything to find or anything was said.
    """
    tp, tp_predictions, fp, fn = counts.T
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = tp_predictions / (tp_predictions + fp), tp / (tp + fn)
        p, r = np.nan_to_num(precision), np.nan_to_num(recall)
        f1 = np.where(p + r > 0, 2 * p * r / (p + r), np.where(tp_predictions + fp + tp + fn > 0, 0.0, np.nan))
    return precision, recall, f1


def unit_outcome(unit: MistakeUnit, options: EgoOptions) -> UnitOutcome:
    """Counts and pairs of one unit."""
    references = [i for i, event in enumerate(unit.references) if event.is_said]
    predictions = [j for j, event in enumerate(unit.predictions) if event.is_said]
    allowed: Allowed | None = None
    gate = options.instruction_gate
    if gate is not None and options.gate_failure is GateFailure.EXCLUDE:
        references = [i for i in references if _is_led(unit.references[i], options)]
        predictions = [j for j in predictions if _is_led(unit.predictions[j], options)]
    predictions, repeated = _apart(unit, predictions)
    if (
        gate is not None
        and options.gate_failure is GateFailure.COUNT
        and any(unit.predictions[j].active_instruction is not None for j in predictions)
    ):
        may = [
            [_follows(unit.predictions[j].active_instruction, unit.references[i].step_instruction, options) for j in predictions]
            for i in references
        ]
        if not all(map(all, may)):

            def allowed(reference: int, prediction: int) -> bool:
                return may[reference][prediction]

    reference_times = [unit.references[i].t_s for i in references]
    prediction_times = [unit.predictions[j].t_s + options.delay_s for j in predictions]
    paired = pair_events(reference_times, prediction_times, options, allowed)
    pairs = tuple((references[i], predictions[j]) for i, j in paired.pairs)
    wrong = [prediction_times[j] for j in paired.wrong_predictions]
    again = [unit.predictions[j].t_s + options.delay_s for j in repeated]
    if options.matching is Matching.ANY_IN_WINDOW or options.duplicates is Duplicates.IGNORE:
        again = [t for t in again if not any(options.near(t - r) for r in reference_times)]
    if options.duplicates is Duplicates.IGNORE:
        wrong = [t for t in wrong if not any(options.near(t - r) for r in reference_times)]
    wrong += again
    is_quiet = not references and not predictions
    if options.counting is Counting.SEGMENTS:
        hit = int(bool(pairs))
        missed = int(bool(references) and not hit)
        false_alarm = int(bool(predictions) and not references)
        return UnitOutcome(unit.unit_id, unit.recording_id, hit, hit, false_alarm, missed, is_quiet, pairs)
    return UnitOutcome(
        unit.unit_id, unit.recording_id, len(pairs), paired.hit_predictions, len(wrong), len(references) - len(pairs), is_quiet, pairs
    )


def _apart(unit: MistakeUnit, predictions: list[int]) -> tuple[list[int], list[int]]:
    """Predictions, and those that repeat one word for word at the same time: they may not answer a second reference."""
    first: list[int] = []
    repeated: list[int] = []
    seen: set[tuple[float, str, str | None]] = set()
    for j in predictions:
        event = unit.predictions[j]
        key = None if event.text is None else (event.t_s, event.text.strip(), event.active_instruction)
        if key is not None and key in seen:
            repeated.append(j)
            continue
        first.append(j)
        if key is not None:
            seen.add(key)
    return first, repeated


def _is_led(event: Event, options: EgoOptions) -> bool:
    return _follows(event.active_instruction, event.step_instruction, options)


def _follows(active: str | None, wanted: str | None, options: EgoOptions) -> bool:
    if active is None or wanted is None or active == wanted or options.instruction_gate is None:
        return True
    return rouge_l(active, wanted, options.rouge) >= options.instruction_gate - 1e-9
