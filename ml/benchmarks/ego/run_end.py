"""Where a per-step stream ends when the assistant does not say success. Runs no stream.

Source: the published baseline goes on to the end of the video; the recall and the number of messages in EGO-MC-Bench's tables fit that.
"""

import polars as pl

from ml.benchmarks.families import RunEnd

GRACE_S = 15.0


def with_run_end(benchmark_steps: pl.DataFrame, run_end: RunEnd) -> pl.DataFrame:
    """Steps whose ``end_s`` is where a stream without a success ends; no later than the recording's last step."""
    last_s = pl.col("end_s").max().over("recording_id")
    match run_end:
        case RunEnd.TRUE_END:
            return benchmark_steps
        case RunEnd.GRACE:
            return benchmark_steps.with_columns(end_s=pl.min_horizontal(pl.col("end_s") + GRACE_S, last_s))
        case RunEnd.END_OF_VIDEO:
            return benchmark_steps.with_columns(end_s=last_s)
