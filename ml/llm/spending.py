"""What model calls have cost so far, by stage and model, from the replies that are kept. A rerun that finds its replies adds nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from ml.llm.cache import ReplyCache
from ml.llm.prices import Price, price_of

STAGE_OF: Final[Mapping[str, str]] = {
    "narrate": "narrations",
    "instruct.described": "instructions",
    "propose": "proposed_steps",
    "extract": "attributes",
    "change": "counterfactuals",
    "instruct": "counterfactuals",
    "feedback": "counterfactuals",
    "timestamp": "feedback_timestamps",
    "check": "validity_check",
}
"""Stage by a task's name or its first part; other tasks (those of assistants and judges) stand under that part itself."""
_KINDS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_SUMS = ", ".join(f"sum({name})" for name in ("calls", "retries", *_KINDS, "money_usd"))
SCHEMA: Final = pl.Schema(
    {"task": pl.String(), "model": pl.String(), "replies": pl.Int64(), "failed": pl.Int64(), "calls": pl.Int64(), "retries": pl.Int64()}
    | dict.fromkeys(_KINDS, pl.Int64())
    | {"money_usd": pl.Float64()}
)


def spent(cache: Path, prices: Mapping[str, Price] | None = None) -> pl.DataFrame:
    """Columns stage, model, replies, failed (not ok), calls, retries, tokens by kind, money_usd; most expensive first.

    Money is null where tokens were used, none was noted and the model's price is unknown still; ``prices`` come before the built-in ones.
    ``cache``: the file of the reply cache, which need not be there.
    """
    rows: list[tuple] = []
    if cache.exists():
        replies = ReplyCache(cache)
        statement = f"SELECT task, model, count(*), sum(status <> 'ok'), {_SUMS} FROM replies GROUP BY task, model"
        rows = replies.rows(statement)
        replies.close()
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    stages = [STAGE_OF.get(task, STAGE_OF.get(task.split(".")[0], task.split(".")[0])) for task in frame["task"]]
    summed = frame.with_columns(pl.Series("stage", stages, pl.String)).group_by("stage", "model").agg(pl.exclude("task").sum())
    unpriced = [model for model in summed["model"].unique() if price_of(model, prices) is None]
    is_unknown = pl.col("model").is_in(unpriced) & (pl.col("money_usd") == 0) & (pl.sum_horizontal(_KINDS) > 0)
    told = summed.with_columns(pl.when(~is_unknown).then("money_usd").alias("money_usd"))
    order = ["stage", *(name for name in SCHEMA if name != "task")]
    return told.select(order).sort(["money_usd", "stage", "model"], descending=[True, False, False], nulls_last=True)
