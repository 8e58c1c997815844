"""Asset checks made from the declared schemas: every file of a table obeys its contract, and the rows that stages need are there."""

import dagster as dg
import polars as pl

from ml.errors import InputError
from ml.tables.catalogue import TABLES
from ml.tables.schema import Partitioning
from resources.tables import Tables

CHECKED = {
    "video_probe": "video_probe",
    "recordings": "recordings",
    "instructions": "instructions",
    "proposed_steps": "proposed_steps",
    "steps": "steps",
    "narrations": "narrations",
    "attributes": "attributes",
    "counterfactuals": "counterfactuals",
    "feedback_timestamps": "feedback_timestamps",
    "validity_check": "validity_check",
    "validity_answers": "validity_answers",
    "validity_sample": "validity_sample",
    "validity_review": "validity_review",
    "comist_candidates": "comist_candidates",
    "ego_comist": "ego_comist",
    "training_mix": "training_mix",
    "benchmark_steps": "benchmark_steps",
    "benchmark_dialogues": "benchmark_dialogues",
    "benchmark_clips": "benchmark_clips",
    "predictions": "predictions",
    "scores": "scores",
    "leaderboard": "leaderboard",
}


ALSO_WRITTEN = {
    "benchmark_messages": "benchmark_steps",
    "benchmark_turns": "benchmark_dialogues",
    "guidance_predictions": "predictions",
    "clip_predictions": "predictions",
}
"""Further tables by the asset that writes them."""


def asset_checks() -> list[dg.AssetChecksDefinition]:
    """One contract check per table, and the rules that hold between tables."""
    further = (_contract(asset, table, f"contract_{table}") for table, asset in ALSO_WRITTEN.items())
    return [*(_contract(asset, table) for asset, table in CHECKED.items()), *further, _split_by_recording()]


def _contract(asset: str, table: str, name: str = "contract") -> dg.AssetChecksDefinition:
    declared = TABLES[table]

    @dg.asset_check(
        asset=asset,
        name=name,
        description=f"Declared columns, dtypes, allowed values and a unique key ({', '.join(declared.key)}) over all files.",
    )
    def contract(tables: Tables) -> dg.AssetCheckResult:
        frame = tables.store.scan(table).collect()
        try:
            declared.check(frame)
        except InputError as error:
            return dg.AssetCheckResult(passed=False, description=str(error))
        files = len(tables.store.partitions(table)) if declared.partitioning is not Partitioning.SINGLE else 1
        return dg.AssetCheckResult(passed=True, metadata={"rows": frame.height, "files": files})

    return contract


def _split_by_recording() -> dg.AssetChecksDefinition:
    @dg.asset_check(asset="ego_comist", name="split_by_recording", blocking=True, description="No recording lies in two splits.")
    def split_by_recording(tables: Tables) -> dg.AssetCheckResult:
        splits = tables.store.read("ego_comist").group_by("recording_id").agg(pl.col("split").n_unique().alias("splits"))
        shared = splits.filter(pl.col("splits") > 1)
        return dg.AssetCheckResult(passed=shared.height == 0, metadata={"recordings": splits.height, "in two splits": shared.height})

    return split_by_recording
