"""GuideMe's behavioural classification (correct silent, false alarm, no response, partly correct) and its scores. Judges no texts.

Source: GuideMe section 3.5.3 and the released scorer at commit 461f106.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ml.benchmarks.guideme.options import BehaviorOptions, JudgeFailure, RateDenominator

JUDGE_SCALE = 20.0  # 0..5 to 0..100


class Outcome(StrEnum):
    CORRECT_SILENT = "CS"
    FALSE_ALARM = "FA"
    NO_RESPONSE = "NR"
    PARTLY_CORRECT = "PC"


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant: whether the reference speaks and whether the assistant did."""

    t_s: float
    is_reference: bool
    is_said: bool


@dataclass(frozen=True, slots=True)
class Record:
    """One counted outcome; PC names the moments of its pair (said, reference), the others their moment (-1: not that side)."""

    outcome: Outcome
    said_at: int
    reference_at: int


@dataclass(frozen=True)
class BehaviorScores:
    """Rates in percent of ``records``, and the mean score 0..100; None where there is nothing to average."""

    correct_silent: float | None
    no_response: float | None
    false_alarm: float | None
    partly_correct: float | None
    score: float | None
    records: int
    judge_failed: int


def classify(moments: Sequence[Moment], options: BehaviorOptions) -> list[Record]:
    """Records of one video, in the order of its moments (a pair stands at its reference).

    Utterances and references are paired greedily by (|dt|, prediction, reference) within the window. Unpaired talk near a reference and
    silence at a reference that was answered at another moment leave no record.
    """
    window = options.pair_window_s + 1e-9
    said = [i for i, m in enumerate(moments) if m.is_said]
    references = [i for i, m in enumerate(moments) if m.is_reference]
    near = sorted(
        (abs(moments[p].t_s - moments[r].t_s), p, r) for p in said for r in references if abs(moments[p].t_s - moments[r].t_s) <= window
    )
    answer_of: dict[int, int] = {}
    used: set[int] = set()
    for _, p, r in near:
        if p not in used and r not in answer_of:
            used.add(p)
            answer_of[r] = p
    near_a_reference = {p for _, p, _ in near}
    records: list[Record] = []
    for i, moment in enumerate(moments):
        if moment.is_reference and i in answer_of:
            records.append(Record(Outcome.PARTLY_CORRECT, answer_of[i], i))
        if i in used or (moment.is_said and i in near_a_reference):
            continue
        if moment.is_reference:
            if not moment.is_said and i not in answer_of:
                records.append(Record(Outcome.NO_RESPONSE, -1, i))
        elif moment.is_said:
            records.append(Record(Outcome.FALSE_ALARM, i, -1))
        else:
            records.append(Record(Outcome.CORRECT_SILENT, i, -1))
    return records


def score_behavior(judged: Iterable[tuple[Outcome, float | None]], options: BehaviorOptions) -> BehaviorScores:
    """Rates and score of (outcome, judge 0..5 or None) pooled over videos. The judge is read for PC only; None: it failed."""
    kept = [
        (outcome, judge)
        for outcome, judge in judged
        if options.denominator is RateDenominator.EMITTED or outcome in (Outcome.NO_RESPONSE, Outcome.PARTLY_CORRECT)
    ]
    if not kept:
        return BehaviorScores(None, None, None, None, None, 0, 0)
    counts = {outcome: sum(o is outcome for o, _ in kept) for outcome in Outcome}
    failed = sum(outcome is Outcome.PARTLY_CORRECT and judge is None for outcome, judge in kept)
    points = [value for value in (_points(outcome, judge, options) for outcome, judge in kept) if value is not None]
    rate = {outcome: 100.0 * count / len(kept) for outcome, count in counts.items()}
    return BehaviorScores(
        rate[Outcome.CORRECT_SILENT],
        rate[Outcome.NO_RESPONSE],
        rate[Outcome.FALSE_ALARM],
        rate[Outcome.PARTLY_CORRECT],
        sum(points) / len(points) if points else None,
        len(kept),
        failed,
    )


def _points(outcome: Outcome, judge: float | None, options: BehaviorOptions) -> float | None:
    match outcome:
        case Outcome.CORRECT_SILENT:
            return 100.0
        case Outcome.FALSE_ALARM | Outcome.NO_RESPONSE:
            return 0.0
        case Outcome.PARTLY_CORRECT:
            if judge is None:
                return None if options.judge_failure is JudgeFailure.EXCLUDE else 0.0
            return judge * JUDGE_SCALE


def matched_score(judges: Iterable[float | None], options: BehaviorOptions) -> float | None:
    """Score_m: mean judge score, 0..100, over all matched pairs of all videos; None when there is no judged pair."""
    points = [_points(Outcome.PARTLY_CORRECT, judge, options) for judge in judges]
    kept = [value for value in points if value is not None]
    return sum(kept) / len(kept) if kept else None
