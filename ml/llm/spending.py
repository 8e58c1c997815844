"""What model calls have cost so far, by stage and model, from the replies that are kept. A rerun that finds its replies adds nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from ml.llm.cache import ReplyCache

STAGE_OF: Final[Mapping[str, str]] = {
    "extract": "attributes",
    "change": "counterfactuals",
    "instruct": "counterfactuals",
    "feedback": "counterfactuals",
    "timestamp": "feedback_timestamps",
    "check": "validity_check",
}
"""Stage by the first part of a task's name; other tasks stand under that part itself."""
_KINDS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_SUMS = ", ".join(f"sum({name})" for name in ("calls", "retries", *_KINDS, "money_usd"))
SCHEMA: Final = pl.Schema(
    {"task": pl.String(), "model": pl.String(), "replies": pl.Int64(), "failed": pl.Int64(), "calls": pl.Int64(), "retries": pl.Int64()}
    | dict.fromkeys(_KINDS, pl.Int64())
    | {"money_usd": pl.Float64()}
)


def spent(cache: Path) -> pl.DataFrame:
    """Columns stage, model, replies, failed (not ok), calls, retries, tokens by kind, money_usd; most expensive first.

    Money is 0 where the model's price was unknown. ``cache``: the file of the reply cache, which need not be there.
    """
    rows: list[tuple] = []
    if cache.exists():
        replies = ReplyCache(cache)
        statement = f"SELECT task, model, count(*), sum(status <> 'ok'), {_SUMS} FROM replies GROUP BY task, model"
        rows = replies.rows(statement)
        replies.close()
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    first = pl.col("task").str.split(".").list.first()
    summed = frame.with_columns(first.replace(dict(STAGE_OF)).alias("stage")).group_by("stage", "model").agg(pl.exclude("task").sum())
    order = ["stage", *(name for name in SCHEMA if name != "task")]
    return summed.select(order).sort(["money_usd", "stage", "model"], descending=[True, False, False])
