"""Cook-MRE's gated accuracies and F1 values from judged samples. Prompting, reading answers and judging stand elsewhere.

Source: Cook-MRE (ECCV 2026), scoring section; formulas follow the explicit definitions in its prose.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ml.benchmarks.bootstrap import BootstrapOptions


class Unparsable(StrEnum):
    """What an answer is from which no judgement could be read."""

    WRONG = "wrong"
    EXCLUDE = "exclude"


class HintAggregation(StrEnum):
    """When a correct sample that was asked once per element passes."""

    ALL_PROMPTS = "all_prompts_correct"
    MAJORITY = "majority"


class HintCounting(StrEnum):
    PER_SAMPLE = "per_sample"
    PER_PROMPT = "per_prompt"  # every prompt on a correct sample is counted on its own


class Presence(StrEnum):
    """Where a claim of a mistake is read from."""

    JUDGE = "judge"  # the judge reads the free answer
    YES_NO = "yes_no"  # the answer's own opening YES or NO


class TypeUnderHint(StrEnum):
    """How the type is judged where the hint has named it."""

    JUDGE = "judge"
    GIVEN = "given"  # always right


class MistakePrompts(StrEnum):
    """Which hints a mistake sample is asked with, and must be judged rightly under."""

    OWN = "own"
    ALL = "all"  # claims a mistake under its own element's hint and under no other; the run's protocol is then hint-all


class Difficulty(StrEnum):
    """Elements that are cut by level of difficulty."""

    GRADED = "verb_and_ingredient"
    ALL = "all"


class Clusters(StrEnum):
    """What the bootstrap draws."""

    CLIP = "clip"  # several samples may come from one source clip
    SAMPLE = "sample"


@dataclass(frozen=True)
class CookOptions:
    is_gated: bool = True
    unparsable: Unparsable = Unparsable.WRONG
    hint_aggregation: HintAggregation = HintAggregation.ALL_PROMPTS
    hint_counting: HintCounting = HintCounting.PER_SAMPLE
    zero_division: float = 0.0
    presence: Presence = Presence.JUDGE
    type_under_hint: TypeUnderHint = TypeUnderHint.JUDGE
    mistake_prompts: MistakePrompts = MistakePrompts.OWN
    difficulty: Difficulty = Difficulty.GRADED
    clusters: Clusters = Clusters.CLIP
    bootstrap: BootstrapOptions = field(default_factory=BootstrapOptions)


@dataclass(frozen=True, slots=True)
class MistakeSample:
    """Judgements on a sample with a deviation, None where unparsable: found it, named its type, said what is really seen."""

    found: bool | None
    type_right: bool | None = None
    observation_right: bool | None = None


@dataclass(frozen=True, slots=True)
class CorrectSample:
    """Whether each prompt's answer claims a mistake, None where unparsable. Without hint there is one prompt, with hint up to four."""

    claims: tuple[bool | None, ...]


@dataclass(frozen=True)
class CookScores:
    """All values 0..1; None where a group is empty and has nothing to average over."""

    type_acc: float | None
    corr_acc: float | None
    full_pass: float | None
    mpc_f1: float
    correct_f1: float
    macro_f1: float
    tp: int
    fp: int
    fn: int
    tn: int
    n: int
    unparsable: int


def passes(sample: CorrectSample, options: CookOptions) -> bool:
    """Whether a correct sample is judged to be correct; an unparsable answer is no pass."""
    passed = sum(claim is False for claim in sample.claims)
    if options.hint_aggregation is HintAggregation.MAJORITY:
        return 2 * passed > len(sample.claims)
    return passed == len(sample.claims)


def is_readable(sample: MistakeSample | CorrectSample, options: CookOptions) -> bool:
    """Whether every judgement that decides about the sample could be read; under the gate a type decides only where it was found."""
    if isinstance(sample, CorrectSample):
        return all(claim is not None for claim in sample.claims)
    if sample.found is None:
        return False
    decides_type = sample.found or not options.is_gated
    decides_observation = decides_type and (bool(sample.type_right) or not options.is_gated)
    return not (decides_type and sample.type_right is None) and not (decides_observation and sample.observation_right is None)


def score_cook_mre(mistakes: Sequence[MistakeSample], correct: Sequence[CorrectSample], options: CookOptions) -> CookScores:
    """TypeAcc, CorrAcc, FullPass and the F1 of both classes; mistake is the positive class."""
    unparsable = sum(s.found is None for s in mistakes) + sum(any(c is None for c in s.claims) for s in correct)
    if options.unparsable is Unparsable.EXCLUDE:
        mistakes = [s for s in mistakes if is_readable(s, options)]
        correct = [s for s in correct if is_readable(s, options)]
    found = [bool(s.found) for s in mistakes]
    typed = [bool(s.type_right) and (r or not options.is_gated) for s, r in zip(mistakes, found, strict=True)]
    explained = [bool(s.observation_right) and (t or not options.is_gated) for s, t in zip(mistakes, typed, strict=True)]
    full = [r and t and e for r, t, e in zip(found, typed, explained, strict=True)]
    passed = [passes(s, options) for s in correct]
    tp, fn = sum(found), len(found) - sum(found)
    if options.hint_counting is HintCounting.PER_PROMPT:
        claims = [claim for s in correct for claim in s.claims]
        tn = sum(claim is False for claim in claims)
        fp = len(claims) - tn
    else:
        tn, fp = sum(passed), len(passed) - sum(passed)
    n = len(mistakes) + len(correct)
    mistake_f1, correct_f1 = f1(tp, fp, fn, options.zero_division), f1(tn, fn, fp, options.zero_division)
    return CookScores(
        _mean(typed),
        _mean(explained),
        (sum(full) + sum(passed)) / n if n else None,
        mistake_f1,
        correct_f1,
        (mistake_f1 + correct_f1) / 2,
        tp,
        fp,
        fn,
        tn,
        n,
        unparsable,
    )


def _mean(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def f1(tp: int, fp: int, fn: int, zero_division: float = 0.0) -> float:
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else zero_division


def implied_macro_f1(mpc_f1: float, corr_acc: float, full_pass: float, mistakes: int = 989, correct: int = 300) -> float:
    """Macro F1 (0..1) that follows from three published values (0..1) if the formulas above are the paper's: a check on a table's row.

    TN comes from FullPass and CorrAcc, TP from MPC F1 = 2TP / (TP + mistakes + FP).
    """
    tn = full_pass * (mistakes + correct) - corr_acc * mistakes
    fp = correct - tn
    tp = mpc_f1 * (mistakes + fp) / (2 - mpc_f1)
    fn = mistakes - tp
    return (mpc_f1 + 2 * tn / (2 * tn + fp + fn)) / 2
