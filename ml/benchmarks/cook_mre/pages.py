"""What a report shows of a Cook-MRE run beside its figures: charts per element and kind of failure, answers to read."""

from collections.abc import Sequence

import polars as pl

from ml.benchmarks.cook_mre.judged import CookAnswers, FailureKind, Judgement
from ml.benchmarks.cook_mre.metrics import CorrectSample, MistakeSample
from ml.benchmarks.cook_mre.samples import ELEMENTS, CookSample
from ml.benchmarks.plots import per_group_plot
from ml.benchmarks.report import Chart, SampleTable

SHOWN = 40
_MARKS = {True: "yes", False: "no", None: "unreadable"}


def pages(
    samples: Sequence[CookSample], answers: CookAnswers, judgement: Judgement, scores: pl.DataFrame
) -> tuple[list[Chart], list[Chart], list[SampleTable]]:
    """Charts and a table of answers that did not pass; clips have no timeline."""
    groups = [g for element in ELEMENTS for g in (element, f"{element}.easy", f"{element}.hard") if g in set(scores["group"])]
    own = scores.filter(pl.col("experiment") == scores["experiment"][0])
    charts = [
        Chart(f"{title} per element and level", per_group_plot(own, metric, groups))
        for metric, title in (("type_acc", "TypeAcc"), ("corr_acc", "CorrAcc"))
        if metric in set(own["metric"])
    ]
    kinds = [f"failure.{kind}" for kind in FailureKind]
    if set(kinds) & set(own["group"]):
        charts.append(Chart("Kinds of failure, share of mistake samples that failed", per_group_plot(own, "failure_share", kinds)))
    failed = [s for s in samples if not _passed(judgement.samples[s.sample_id])]
    rows = tuple(_row(sample, answers, judgement) for sample in failed[:SHOWN])
    header = ("sample", "asked for", "really seen", "answer", "found, type, observation", "failure")
    return charts, [], [SampleTable(f"Answers that did not pass, first {len(rows)} of {len(failed)}", header, rows)] if rows else []


def _passed(sample: MistakeSample | CorrectSample) -> bool:
    if isinstance(sample, MistakeSample):
        return bool(sample.found and sample.type_right and sample.observation_right)
    return all(claim is False for claim in sample.claims)


def _row(sample: CookSample, answers: CookAnswers, judgement: Judgement) -> tuple[str, ...]:
    judged = judgement.samples[sample.sample_id]
    given = [text or "no answer" for (sample_id, _), text in answers.items() if sample_id == sample.sample_id]
    if sample.sample_id in judgement.missing:
        marks = ""
    elif isinstance(judged, MistakeSample):
        marks = ", ".join(_MARKS[value] for value in (judged.found, judged.type_right, judged.observation_right))
    else:
        marks = "claims a mistake: " + ", ".join(_MARKS[claim] for claim in judged.claims)
    kind = judgement.failures.get(sample.sample_id)
    name = f"{sample.sample_id} ({sample.element or 'correct'})"
    return name, sample.instruction, sample.original, " / ".join(given), marks, "" if kind is None else kind.replace("_", " ")
