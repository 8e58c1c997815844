"""Cook-MRE from clip to scores: samples, single-clip answers without and with hint, judgements, ``scores`` rows by type and difficulty."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from string import Template

import numpy as np
import polars as pl

from ml.benchmarks.assistants import prompts
from ml.benchmarks.assistants.turn_based import Answers
from ml.benchmarks.bootstrap import BootstrapOptions, draw_weights, interval
from ml.benchmarks.cook_mre.metrics import CookOptions, CorrectSample, MistakeSample, Unparsable, passes, score_cook_mre
from ml.benchmarks.cook_mre.samples import ELEMENTS, GRADED_ELEMENTS, CookSample, hints_of
from ml.benchmarks.judging import Criteria, CriteriaCase, judge_criteria
from ml.benchmarks.options import options_hash
from ml.errors import InputError
from ml.llm.requests import Request
from ml.tables.declared import SCORES
from ml.vocabulary import Status

FRAMES = 16


class FrameRule(StrEnum):
    """Which 16 times of a clip: the middles of equal parts, or evenly from end to end."""

    MIDPOINTS = "midpoints"
    ENDS = "ends"


ClipImages = Callable[[CookSample], tuple[bytes, ...]]


def uniform_times(start_s: float, end_s: float, count: int = FRAMES, rule: FrameRule = FrameRule.MIDPOINTS) -> list[float]:
    """``count`` times in a clip, seconds."""
    if rule is FrameRule.ENDS:
        return [float(t) for t in np.linspace(start_s, end_s, count)]
    return [start_s + (index + 0.5) * (end_s - start_s) / count for index in range(count)]


def ask_clips(
    client: Answers, samples: Iterable[CookSample], images: ClipImages, *, is_hinted: bool = False, max_tokens: int = 512
) -> dict[tuple[str, str | None], str | None]:
    """Free answers by (sample, hint); None where the model failed. One sample's pictures are in memory at a time."""
    answers: dict[tuple[str, str | None], str | None] = {}
    for sample in samples:
        pictures = images(sample)
        requests = []
        for hint in hints_of(sample, is_hinted):
            inputs: dict[str, object] = {"instruction": sample.instruction, "element": hint or "", "frames": len(pictures)}
            template = prompts.SINGLE_CLIP if hint is None else prompts.SINGLE_CLIP_HINTED
            prompt = Template(template).safe_substitute(inputs)
            key = f"{sample.sample_id}\x1f{hint or ''}"
            requests.append(Request(key, "single_clip", inputs, "", prompt, pictures, max_tokens=max_tokens))
        for hint, reply in zip(hints_of(sample, is_hinted), client.run(requests), strict=True):
            answers[sample.sample_id, hint] = reply.text if reply.status is Status.OK else None
    return answers


Judged = dict[str, MistakeSample | CorrectSample]


@dataclass(frozen=True)
class Judgement:
    """Judged samples by id, with the answers that failed and the judgements that failed, each counted."""

    samples: Judged
    answers_failed: int
    judgements_failed: int


def judge_answers(
    judge: Answers, samples: Sequence[CookSample], answers: dict[tuple[str, str | None], str | None], *, is_hinted: bool = False
) -> Judgement:
    """Three criteria per mistake sample, one claim per prompt of a correct sample. A failed answer needs no judge: it is unparsable."""
    cases = [
        CriteriaCase(f"{s.sample_id}\x1f{hint or ''}", s.instruction, text, s.element, s.original if s.element is not None else None)
        for s in samples
        for hint in hints_of(s, is_hinted)
        if (text := answers.get((s.sample_id, hint))) is not None
    ]
    judged = judge_criteria(judge, cases)
    nothing = Criteria(None, None, None, 0)
    made: Judged = {}
    failed = 0
    for sample in samples:
        own = [judged.get(f"{sample.sample_id}\x1f{hint or ''}") for hint in hints_of(sample, is_hinted)]
        failed += sum(criteria is None for criteria in own)
        found = [criteria or nothing for criteria in own]
        if sample.element is not None:
            made[sample.sample_id] = MistakeSample(found[0].claims_mistake, found[0].type_right, found[0].observation_right)
        else:
            made[sample.sample_id] = CorrectSample(tuple(criteria.claims_mistake for criteria in found))
    return Judgement(made, failed, sum(criteria.failed for criteria in judged.values()))


def always(samples: Sequence[CookSample], says_mistake: bool) -> Judged:
    """The floors: every answer claims a mistake, or none does; no type and no observation is named."""
    return {
        s.sample_id: MistakeSample(says_mistake, False, False) if s.element is not None else CorrectSample((says_mistake,)) for s in samples
    }


def score_cook(
    samples: Sequence[CookSample],
    judged: Judged,
    options: CookOptions,
    *,
    experiment: str,
    protocol: str,
    bootstrap: BootstrapOptions | None = None,
) -> pl.DataFrame:
    """``scores`` rows: all, per element, per difficulty of verb and ingredient. Intervals resample source clips, as samples share them."""
    bootstrap = bootstrap or BootstrapOptions()
    absent = [s.sample_id for s in samples if s.sample_id not in judged]
    if absent:
        raise InputError("a sample is not judged", record=absent[0], field="sample_id", remedy="A failed answer is a judgement of None")
    groups: dict[str, list[CookSample]] = {"all": list(samples)}
    for element in ELEMENTS:
        groups[element] = [s for s in samples if s.element == element]
        if element in GRADED_ELEMENTS:
            for level in sorted({s.difficulty for s in groups[element] if s.difficulty is not None}):
                groups[f"{element}.{level}"] = [s for s in groups[element] if s.difficulty == level]
    rows: list[dict[str, object]] = []
    common = {"experiment": experiment, "protocol": protocol, "options_hash": options_hash(options, bootstrap)}
    for group, members in groups.items():
        if members:
            rows += [{**common, **row} for row in _group_rows(group, members, judged, options, bootstrap)]
    return SCORES.check(SCORES.rows(rows))


def _group_rows(
    group: str, members: Sequence[CookSample], judged: Judged, options: CookOptions, bootstrap: BootstrapOptions
) -> list[dict[str, object]]:
    scores = score_cook_mre(*_split(members, judged), options)
    clips = sorted({s.clip_id for s in members})
    counts = np.zeros((len(clips), 9))
    place = {clip: index for index, clip in enumerate(clips)}
    for sample in members:
        counts[place[sample.clip_id]] += _sample_counts(judged[sample.sample_id], options)
    drawn = draw_weights(len(clips), bootstrap) @ counts
    with np.errstate(divide="ignore", invalid="ignore"):
        mistake_f1 = 2 * drawn[:, 0] / (2 * drawn[:, 0] + drawn[:, 1] + drawn[:, 2])
        correct_f1 = 2 * drawn[:, 3] / (2 * drawn[:, 3] + drawn[:, 1] + drawn[:, 2])
        resampled = {
            "type_acc": drawn[:, 4] / drawn[:, 7],
            "corr_acc": drawn[:, 5] / drawn[:, 7],
            "full_pass": drawn[:, 6] / drawn[:, 8],
            "mpc_f1": mistake_f1,
            "macro_f1": (np.nan_to_num(mistake_f1) + np.nan_to_num(correct_f1)) / 2,
        }
    whole = group == "all"
    values = {"type_acc": scores.type_acc, "corr_acc": scores.corr_acc, "full_pass": scores.full_pass}
    values |= {"mpc_f1": scores.mpc_f1, "macro_f1": scores.macro_f1} if whole else {}
    mistakes = scores.tp + scores.fn
    sizes = {"type_acc": mistakes, "corr_acc": mistakes}
    rows: list[dict[str, object]] = []
    for metric, value in values.items():
        low, high = interval(resampled[metric], bootstrap) if value is not None else (None, None)
        n = sizes.get(metric, scores.n)
        rows.append({"metric": metric, "group": group, "value": value, "n": n, "n_missing": scores.unparsable, "low": low, "high": high})
    return rows


def _split(members: Sequence[CookSample], judged: Judged) -> tuple[list[MistakeSample], list[CorrectSample]]:
    found = [judged[s.sample_id] for s in members]
    return [s for s in found if isinstance(s, MistakeSample)], [s for s in found if isinstance(s, CorrectSample)]


def _sample_counts(sample: MistakeSample | CorrectSample, options: CookOptions) -> tuple[float, ...]:
    """tp, fp, fn, tn, typed, explained, full pass, mistakes, samples of one sample."""
    if isinstance(sample, MistakeSample):
        scores = score_cook_mre([sample], [], options)
        counted = float(sample.found is not None or options.unparsable is Unparsable.WRONG)
        full = scores.full_pass or 0.0
        return (scores.tp, 0.0, scores.fn, 0.0, scores.type_acc or 0.0, scores.corr_acc or 0.0, full, counted, counted)
    scores = score_cook_mre([], [sample], options)
    counted = float(options.unparsable is Unparsable.WRONG or all(claim is not None for claim in sample.claims))
    return (0.0, scores.fp, 0.0, scores.tn, 0.0, 0.0, counted * passes(sample, options), 0.0, counted)
