"""Scores side by side, with the rows that papers published beside those rerun here. Computes no score; published rows are data files."""

from importlib.resources import files

import polars as pl

from ml.benchmarks.ego.scores import ALL
from ml.tables.declared import LEADERBOARD

PUBLISHED_BENCHMARK = "ego_mc_bench"
PUBLISHED_STEPS = 559
_METRICS = tuple(c.name for c in LEADERBOARD.columns if c.name not in ("protocol", "experiment", "origin", "n_steps"))


def published_ego() -> pl.DataFrame:
    """Rows of EGO-MC-Bench tables 2 and 3 as printed: feed, model, metrics, source. One printed F1 is a slip (0.11/0.34 gives 0.17)."""
    with files("ml.benchmarks.published").joinpath("ego_mc_bench.csv").open("rb") as file:
        return pl.read_csv(file.read())


def leaderboard(scores: pl.DataFrame, *, with_published: bool = True) -> pl.DataFrame:
    """``leaderboard`` from ``scores``: ours by protocol and falling mistake F1, then the published rows, marked as such.

    A published row keeps its source in ``experiment`` and stands under the protocol ``ego_mc_bench.<feed>``: it was measured on that
    benchmark's videos and must not be read as a rank among rows of another one.
    """
    whole = scores.filter(pl.col("group") == ALL)
    sizes = whole.filter(pl.col("metric") == "quiet_units").select("protocol", "experiment", pl.col("n").alias("n_steps"))
    board = sizes
    for metric in _METRICS:
        column = whole.filter(pl.col("metric") == metric).select("protocol", "experiment", pl.col("value").alias(metric))
        board = board.join(column, on=["protocol", "experiment"], how="left", validate="1:1")
    board = board.with_columns(pl.lit("here").alias("origin")).sort(
        ["protocol", "mistake_f1", "experiment"], descending=[False, True, False], nulls_last=True
    )
    parts = [LEADERBOARD.check(board)]
    if with_published:
        parts.append(_published_rows())
    return LEADERBOARD.check(pl.concat(parts))


def _published_rows() -> pl.DataFrame:
    rows = published_ego().with_columns(
        pl.format("{}.{}", pl.lit(PUBLISHED_BENCHMARK), pl.col("feed")).alias("protocol"),
        pl.format("{} ({})", pl.col("model"), pl.col("source")).alias("experiment"),
        pl.lit("published").alias("origin"),
        pl.lit(PUBLISHED_STEPS, dtype=pl.Int64).alias("n_steps"),
    )
    absent = [name for name in _METRICS if name not in rows.columns]
    return LEADERBOARD.check(
        rows.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in absent).select(LEADERBOARD.polars_schema.names())
    )
