"""Instruction completion accuracy (IC-Acc) and false success of EGO-MC-Bench on steps in memory. Mistake feedback is scored elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from ml.benchmarks.ego.options import TOLERANCE_S, Denominator, EgoOptions, WhichSuccess


@dataclass(frozen=True, slots=True)
class CompletionStep:
    """A true step: when it was completed (None: never) and when the assistant said so, seconds on one time line.

    ``first_feedback_s`` is the first reference feedback on a mistake; None for a step without one. ``put_right`` is whether the
    reference says success in the end.
    """

    completion_s: float | None
    successes_s: tuple[float, ...]
    first_feedback_s: float | None = None
    put_right: bool = True


@dataclass(frozen=True)
class CompletionScores:
    correct: int
    total: int
    ic_acc: float


def is_counted(step: CompletionStep, options: EgoOptions) -> bool:
    """Whether the step is in the denominator."""
    return step.completion_s is not None or options.denominator is Denominator.ALL


def is_right(step: CompletionStep, options: EgoOptions) -> bool:
    """Whether success was said inside the window of the completion: by the first success of the step, or by any."""
    if step.completion_s is None or not step.successes_s:
        return False
    said = [t + options.delay_s for t in step.successes_s]
    chosen = [min(said)] if options.which_success is WhichSuccess.FIRST else said
    return any(options.near(t - step.completion_s) for t in chosen)


def is_false_success(step: CompletionStep) -> bool:
    """Success was said on a mistake step before the reference feedback."""
    first = step.first_feedback_s
    return first is not None and any(t < first - TOLERANCE_S for t in step.successes_s)


def is_success_on_mistake(step: CompletionStep) -> bool:
    """Success was said on a mistake step before the reference feedback, or at all where the mistake was never put right."""
    return is_false_success(step) or (step.first_feedback_s is not None and not step.put_right and bool(step.successes_s))


def score_completion(steps: Sequence[CompletionStep], options: EgoOptions) -> CompletionScores:
    """IC-Acc in 0..100; 0 with total 0 when no step is counted."""
    counted = [step for step in steps if is_counted(step, options)]
    correct = sum(is_right(step, options) for step in counted)
    return CompletionScores(correct, len(counted), 100.0 * correct / len(counted) if counted else 0.0)
