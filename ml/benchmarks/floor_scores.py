"""Scores of the floors beside a run: assistants that see nothing, under the same protocol and options."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import polars as pl

from ml.benchmarks.assistants.floors import ALERT_TEXT, TIMER, cook_floors, ego_floors
from ml.benchmarks.assistants.interface import ticks
from ml.benchmarks.cook_mre.judged import always
from ml.benchmarks.cook_mre.metrics import CookOptions
from ml.benchmarks.cook_mre.samples import samples_from_table
from ml.benchmarks.cook_mre.scores import score_cook
from ml.benchmarks.data import BenchmarkData
from ml.benchmarks.ego.options import EgoOptions
from ml.benchmarks.ego.scores import FluencyScorer, score_ego
from ml.benchmarks.ego.units import Feed
from ml.benchmarks.families import Hints, parse_protocol
from ml.benchmarks.guideme.options import GuideMeOptions
from ml.benchmarks.guideme.scores import GuidanceVideo, Judge, score_guideme
from ml.benchmarks.guideme.timeline import SILENT, Instant
from ml.benchmarks.protocols import run_full_recipe, run_per_step
from ml.embeddings.encoder import TextEncoder
from ml.tables.store import TableStore
from ml.vocabulary import Split

ALERT_EVERY_S = 10.0


@dataclass(frozen=True)
class TimerKnows:
    """What the duration timer goes by: part of its results' options hash."""

    median_step_s: float


def training_median_step_s(store: TableStore) -> float | None:
    """Median length of the clean instructed training steps; None where there are none."""
    recordings = store.scan("recordings").filter(pl.col("split") == Split.TRAIN).select("recording_id")
    steps = store.scan("steps").join(recordings, on="recording_id", how="semi").filter(pl.col("is_clean") & pl.col("is_instruction"))
    value = steps.select((pl.col("end_s") - pl.col("start_s")).median()).collect().item()
    return None if value is None else float(value)


def ego_floor_scores(
    data: BenchmarkData,
    protocol: str,
    options: EgoOptions,
    median_step_s: float | None = None,
    fluency: FluencyScorer | None = None,
    made_with: Sequence[object] = (),
) -> pl.DataFrame:
    """``scores`` of the floors on an EGO benchmark. ``median_step_s`` is what the duration timer knows, by default the benchmark's own."""
    steps, messages = data["benchmark_steps"], data["benchmark_messages"]
    if median_step_s is None:
        median_step_s = float(median((steps["end_s"] - steps["start_s"]).to_list()))
    run = run_full_recipe if parse_protocol(protocol).feed == Feed.FULL_RECIPE else run_per_step
    parts = []
    for name, factory in ego_floors(median_step_s).items():
        predictions = run(factory, steps, ticks(), experiment=name, protocol=protocol)
        knows = (TimerKnows(round(median_step_s, 6)),) if name == TIMER else ()
        parts.append(score_ego(steps, messages, predictions, options, fluency, (*made_with, *knows)))
    return pl.concat(parts)


def guideme_floor_scores(
    videos: Sequence[GuidanceVideo],
    protocol: str,
    options: GuideMeOptions,
    encoder: TextEncoder,
    judge: Judge | None,
    made_with: Sequence[object] = (),
) -> pl.DataFrame:
    """``scores`` of the floors at the instants of a run: silent, always speaking, an alert every 10 s.

    Judged as the run is: one call per reference, since each floor says one text.
    """
    parts = []
    for name, every_s in (("floor_silent", None), ("floor_always_speak", 0.0), ("floor_alert_every_10s", ALERT_EVERY_S)):
        floor = [GuidanceVideo(video.video_id, _alerts(video.instants, every_s)) for video in videos]
        parts.append(score_guideme(floor, encoder.encode, options, experiment=name, protocol=protocol, judge=judge, made_with=made_with))
    return pl.concat(parts)


def cook_floor_scores(data: BenchmarkData, protocol: str, options: CookOptions, made_with: Sequence[object] = ()) -> pl.DataFrame:
    """``scores`` of always claiming a mistake and never. What they say is known, so no judge is asked."""
    samples = samples_from_table(data["benchmark_clips"])
    is_hinted = parse_protocol(protocol).hints is not Hints.NONE
    parts = []
    for name in cook_floors():
        judgement = always(samples, name == "floor_always_mistake", options, is_hinted=is_hinted)
        parts.append(score_cook(samples, judgement, options, experiment=name, protocol=protocol, made_with=made_with))
    return pl.concat(parts)


def _alerts(instants: Sequence[Instant], every_s: float | None) -> tuple[Instant, ...]:
    """The instants with an alert at the first and then every so often; None: never."""
    said: list[Instant] = []
    next_s = float("-inf")
    for instant in sorted(instants, key=lambda one: one.t_s):
        is_due = every_s is not None and instant.t_s >= next_s - 1e-9
        if is_due and every_s is not None:
            next_s = instant.t_s + every_s
        said.append(replace(instant, said=ALERT_TEXT if is_due else SILENT))
    return tuple(said)
