"""Two EGO runs against each other: paired bootstrap of every metric's difference, and wins and losses per recording."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from ml.benchmarks.bootstrap import paired_difference
from ml.benchmarks.ego.options import EgoOptions
from ml.benchmarks.ego.scores import F1, IC_ACC, PRECISION, RECALL, ROUGE_L, Metric, count_units
from ml.benchmarks.ego.units import ScoredUnit, feed_of, scored_units
from ml.errors import InputError

METRICS: tuple[Metric, ...] = (IC_ACC, PRECISION, RECALL, F1, ROUGE_L)
SCHEMA = pl.Schema(
    {
        "metric": pl.String(),
        "a": pl.Float64(),
        "b": pl.Float64(),
        "difference": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "share_a_better": pl.Float64(),
        "wins": pl.Int64(),
        "losses": pl.Int64(),
        "ties": pl.Int64(),
    }
)


def compare_runs(
    benchmark_steps: pl.DataFrame, benchmark_messages: pl.DataFrame, run_a: pl.DataFrame, run_b: pl.DataFrame, options: EgoOptions
) -> pl.DataFrame:
    """One row per metric: both values, a - b with its interval (recordings resampled together), and recordings won by a, lost and tied.

    ``share_a_better`` is the share of resamples in which a is above b. Both runs must be of one experiment and the same protocol;
    recordings in which neither has anything to count for a metric are in none of wins, losses and ties.
    """
    units_a, units_b = (_units(benchmark_steps, benchmark_messages, run, options) for run in (run_a, run_b))
    if feed_of(str(run_a["protocol"][0])) is not feed_of(str(run_b["protocol"][0])):
        raise InputError("runs of different protocols cannot be compared", field="protocol")
    recordings = sorted({unit.mistakes.recording_id for unit in units_a})
    sums_a, sums_b = (count_units(units, options).per_recording(recordings) for units in (units_a, units_b))
    rows = []
    for metric in METRICS:
        found = paired_difference(sums_a, sums_b, metric.value, options.bootstrap)
        values_a, values_b = np.nan_to_num(metric.value(sums_a)), np.nan_to_num(metric.value(sums_b))
        counted = (metric.count(sums_a) + metric.count(sums_b)) > 0
        difference = np.where(counted, values_a - values_b, np.nan)
        pooled = [float(metric.value(sums.sum(0, keepdims=True))[0]) for sums in (sums_a, sums_b)]
        a, b = (value if np.isfinite(value) else None for value in pooled)
        wins, losses, ties = (int((difference > 1e-12).sum()), int((difference < -1e-12).sum()), int((np.abs(difference) <= 1e-12).sum()))
        rows.append((metric.name, a, b, found.value, found.low, found.high, found.share_positive, wins, losses, ties))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _units(steps: pl.DataFrame, messages: pl.DataFrame, run: pl.DataFrame, options: EgoOptions) -> Sequence[ScoredUnit]:
    runs = run.select("experiment", "protocol").unique()
    if runs.height != 1:
        raise InputError(f"{runs.height} runs where one is compared", file="predictions", field="experiment, protocol")
    return scored_units(steps, messages, run, feed_of(str(runs["protocol"][0])), options)
