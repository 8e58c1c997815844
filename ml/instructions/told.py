"""Imported steps with what LLM stages made of them: descriptions replaced by instructions, steps proposed where there are none."""

import polars as pl

from ml.instructions.proposing import steps_of_proposals
from ml.vocabulary import Status


def told_steps(imported: pl.DataFrame, instructions: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """The steps of one recording: columns of ``imported_steps`` and ``description``, the source's own words where it describes.

    A described step without an ok row of ``instructions`` keeps its words and stays a description, which no later stage asks a person to
    do. Proposals count only where the source gives no steps at all.
    """
    steps = imported if imported.height else steps_of_proposals(proposals)
    made = instructions.filter(pl.col("status") == Status.OK).select("recording_id", "step_uid", pl.col("instruction").alias("_made"))
    return (
        steps.join(made, on=["recording_id", "step_uid"], how="left", maintain_order="left", validate="m:1")
        .with_columns(
            description=pl.when(~pl.col("is_instruction")).then("instruction"),
            instruction=pl.coalesce("_made", "instruction"),
            is_instruction=pl.col("is_instruction") | pl.col("_made").is_not_null(),
        )
        .drop("_made")
    )
