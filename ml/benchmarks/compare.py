"""Two runs of one protocol against each other: paired bootstrap of every measure's difference, wins and losses per cluster."""

import numpy as np
import polars as pl

from ml.benchmarks.bootstrap import BootstrapOptions, Floats, paired_difference
from ml.benchmarks.tally import Measure, Tally
from ml.errors import InputError

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


def compare_tallies(a: Tally, b: Tally, options: BootstrapOptions) -> pl.DataFrame:
    """One row per measure: both values, a - b with its interval (clusters resampled together), and clusters won by a, lost and tied.

    ``share_a_better`` is the share of resamples in which a is better than b. For a measure of which less is better, wins are turned
    round, the difference is not. Clusters in which neither run has a value for a measure are in none of wins, losses and ties.
    Raises ``InputError`` where the runs do not cover the same clusters.
    """
    _check_same(a, b)
    rows = []
    of_b = {measure.name: measure for measure in b.compared}
    for measure in a.compared:
        if measure.name not in of_b:
            continue
        found = paired_difference(a.sums, b.sums, measure.of, options)
        better = found.share_positive
        if measure.lower_is_better:
            better = paired_difference(b.sums, a.sums, measure.of, options).share_positive
        pooled = (_value(measure, sums.sum(0, keepdims=True)) for sums in (a.sums, b.sums))
        rows.append((measure.name, *pooled, found.value, found.low, found.high, better, *_outcomes(measure, a.sums, b.sums)))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def per_cluster(a: Tally, b: Tally, metric: str) -> pl.DataFrame:
    """Both values of one measure per cluster, the largest difference first: cluster, a, b, difference. Null where there is no value."""
    _check_same(a, b)
    measure = next((measure for measure in a.compared if measure.name == metric), None)
    if measure is None:
        raise InputError(f"no measure {metric!r}", field="metric", remedy=f"Measures: {', '.join(m.name for m in a.compared)}")
    values_a, values_b = measure.of(a.sums), measure.of(b.sums)
    frame = pl.DataFrame({"cluster": list(a.clusters), "a": values_a, "b": values_b, "difference": values_a - values_b})
    frame = frame.with_columns(pl.col("a", "b", "difference").fill_nan(None))
    return frame.sort(pl.col("difference").abs(), "cluster", descending=[True, False], nulls_last=True)


def _check_same(a: Tally, b: Tally) -> None:
    if a.clusters == b.clusters:
        return
    alone = sorted(set(a.clusters) ^ set(b.clusters))
    which = "first" if alone and alone[0] in set(a.clusters) else "second"
    raise InputError(
        f"only the {which} run has it, so the two cannot be paired",
        record=alone[0] if alone else None,
        remedy="Compare runs of the same benchmark and protocol",
    )


def _value(measure: Measure, sums: Floats) -> float | None:
    value = float(measure.of(sums)[0])
    return value if np.isfinite(value) else None


def _outcomes(measure: Measure, sums_a: Floats, sums_b: Floats) -> tuple[int, int, int]:
    values_a, values_b = measure.of(sums_a), measure.of(sums_b)
    counted = (measure.count(sums_a) + measure.count(sums_b)) > 0
    difference = np.where(counted, np.nan_to_num(values_a) - np.nan_to_num(values_b), np.nan)
    if measure.lower_is_better:
        difference = -difference
    return int((difference > 1e-12).sum()), int((difference < -1e-12).sum()), int((np.abs(difference) <= 1e-12).sum())
