"""Cook-MRE answers as judged samples: claim, type, observation, and the kind of failure. Asking assistants and scoring stand beside."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ml.benchmarks.assistants.polling import read_yes_no
from ml.benchmarks.cook_mre.metrics import CookOptions, CorrectSample, MistakePrompts, MistakeSample, Presence, TypeUnderHint
from ml.benchmarks.cook_mre.samples import CookSample, hints_of
from ml.benchmarks.families import Hints
from ml.benchmarks.judging import Answers, Criteria, CriteriaCase, FailureCase, judge_criteria, judge_failures

CookAnswers = Mapping[tuple[str, str | None], str | None]
"""Answers by (sample, hint); None where the answer failed."""
Judged = dict[str, MistakeSample | CorrectSample]


class FailureKind(StrEnum):
    """Why the answer on a mistake sample does not pass. Source: Cook-MRE, failure analysis."""

    INSTRUCTION_BIAS = "instruction_bias"  # says what was asked for, not what is seen
    MISRECOGNITION = "misrecognition"  # looks at the video and names something else
    REASONING_FAILURE = "reasoning_failure"  # sees rightly and concludes wrongly
    UNDERSPECIFICATION = "underspecification"  # too vague to tell
    OTHER = "other"


@dataclass(frozen=True)
class Judgement:
    """Judged samples by id. The sets name samples without an answer, with an unreadable one, and with a judgement that failed.

    ``failures`` are kinds by sample: of mistake samples that were answered, judged and did not pass. They do not enter the scores.
    ``has_judge`` is off where nobody judged types and observations.
    """

    samples: Judged
    missing: frozenset[str] = frozenset()
    unparsable: frozenset[str] = frozenset()
    judge_failed: frozenset[str] = frozenset()
    failures: Mapping[str, FailureKind] = field(default_factory=dict)
    has_judge: bool = True

    @property
    def answers_failed(self) -> int:
        return len(self.missing)

    @property
    def judgements_failed(self) -> int:
        return len(self.judge_failed)


def prompts_of(sample: CookSample, is_hinted: bool, options: CookOptions) -> tuple[str | None, ...]:
    """Hints under which a sample is judged: those it was asked with, or all of its elements."""
    if not is_hinted:
        return hints_of(sample, Hints.NONE)
    return hints_of(sample, Hints.ALL if options.mistake_prompts is MistakePrompts.ALL else Hints.OWN)


def judge_answers(
    judge: Answers | None,
    samples: Sequence[CookSample],
    answers: CookAnswers,
    options: CookOptions | None = None,
    *,
    is_hinted: bool = False,
    with_failures: bool = False,
) -> Judgement:
    """Claims, types and observations of all samples. A failed answer needs no judge: it is missing and unparsable.

    Without ``judge`` claims are read by ``Presence.YES_NO``, and types and observations are not judged. ``with_failures`` asks the judge
    once more for the kind of failure of each answered mistake sample that does not pass.
    """
    options = options or CookOptions()
    reads_itself = judge is None or options.presence is Presence.YES_NO
    prompts = {s.sample_id: prompts_of(s, is_hinted, options) for s in samples}
    given = {(s.sample_id, hint): answers.get((s.sample_id, hint)) for s in samples for hint in prompts[s.sample_id]}
    cases = [
        CriteriaCase(_key(s, hint), s.instruction, text, *_truth(s, hint, is_hinted), asks_presence=not reads_itself)
        for s in samples
        for hint in prompts[s.sample_id]
        if (text := given[s.sample_id, hint]) is not None
    ]
    verdicts = judge_criteria(judge, cases) if judge is not None else {}
    made: Judged = {}
    missing, unparsable, failed = set(), set(), set()
    for sample in samples:
        found: dict[str | None, Criteria] = {}
        for hint in prompts[sample.sample_id]:
            text = given[sample.sample_id, hint]
            criteria = verdicts.get(_key(sample, hint), _NOTHING)
            if text is None:
                missing.add(sample.sample_id)
                criteria = _NOTHING
            elif reads_itself:
                says_followed = read_yes_no(text).is_yes
                if says_followed is None:
                    unparsable.add(sample.sample_id)
                claims = None if says_followed is None else not says_followed
                criteria = Criteria(claims, criteria.type_right, criteria.observation_right, criteria.failed)
            if criteria.failed:
                failed.add(sample.sample_id)
            found[hint] = criteria
        made[sample.sample_id] = _judged(sample, found, is_hinted, options)
    unparsable -= missing
    kinds = _failure_kinds(judge, samples, given, made, missing, is_hinted, options) if with_failures and judge is not None else {}
    return Judgement(made, frozenset(missing), frozenset(unparsable), frozenset(failed - missing - unparsable), kinds, judge is not None)


_NOTHING = Criteria(None, None, None, 0)


def _key(sample: CookSample, hint: str | None) -> str:
    return f"{sample.sample_id}\x1f{hint or ''}"


def _truth(sample: CookSample, hint: str | None, is_hinted: bool) -> tuple[str | None, str | None]:
    """Element and original where type and observation are judged: on a mistake sample, under its own hint."""
    is_own = sample.element is not None and (not is_hinted or hint == sample.element)
    return (sample.element, sample.original) if is_own else (None, None)


def _judged(
    sample: CookSample, found: Mapping[str | None, Criteria], is_hinted: bool, options: CookOptions
) -> MistakeSample | CorrectSample:
    if sample.element is None:
        return CorrectSample(tuple(criteria.claims_mistake for criteria in found.values()))
    own = found[sample.element if is_hinted else None]
    others = [criteria.claims_mistake for hint, criteria in found.items() if is_hinted and hint != sample.element]
    claims = own.claims_mistake
    if claims and others:
        claims = None if any(other is None for other in others) else not any(others)
    type_right = True if is_hinted and options.type_under_hint is TypeUnderHint.GIVEN else own.type_right
    return MistakeSample(claims, type_right, own.observation_right)


def _failure_kinds(
    judge: Answers,
    samples: Iterable[CookSample],
    given: CookAnswers,
    made: Judged,
    missing: set[str],
    is_hinted: bool,
    options: CookOptions,
) -> dict[str, FailureKind]:
    cases = []
    for sample in samples:
        judged = made[sample.sample_id]
        text = given.get((sample.sample_id, sample.element if is_hinted else None))
        if not isinstance(judged, MistakeSample) or sample.sample_id in missing or text is None:
            continue
        if not (judged.found and judged.type_right and judged.observation_right):
            cases.append(FailureCase(sample.sample_id, sample.instruction, text, str(sample.element), sample.original))
    kinds = judge_failures(judge, cases, tuple(FailureKind))
    return {sample_id: FailureKind(kind) for sample_id, kind in kinds.items() if kind is not None}


def always(samples: Sequence[CookSample], says_mistake: bool, options: CookOptions | None = None, *, is_hinted: bool = False) -> Judgement:
    """The floors: every answer claims a mistake, or none does; no type and no observation is named."""
    options = options or CookOptions()
    said = Criteria(says_mistake, False, False, 0)
    made = {s.sample_id: _judged(s, dict.fromkeys(prompts_of(s, is_hinted, options), said), is_hinted, options) for s in samples}
    return Judgement(made)
