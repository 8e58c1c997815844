"""Asset checks made from the declared schemas: every file of a table obeys its contract, and the rows that stages need are there."""

from collections.abc import Sequence

import dagster as dg
import polars as pl

from assets.sources import IMPORTED
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
    "comist_rejections": "ego_comist",
    "tuning_log": "checkpoint",
}
"""Further tables by the asset that writes them."""


def asset_checks(sources: Sequence[str]) -> list[dg.AssetChecksDefinition]:
    """One contract check per table, one per source for what it imports, and the rules that hold between tables."""
    further = (_contract(asset, table, f"contract_{table}") for table, asset in ALSO_WRITTEN.items())
    imports = (_import_contract(source) for source in sources)
    return [*(_contract(asset, table) for asset, table in CHECKED.items()), *further, *imports, _split_by_recording()]


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


def _import_contract(source: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=source,
        name="contract",
        description=f"Declared columns, dtypes, allowed values and unique keys of {', '.join(IMPORTED)}; each row has its recording.",
    )
    def contract(tables: Tables) -> dg.AssetCheckResult:
        store, counts = tables.store, dict.fromkeys(IMPORTED, 0)
        known: set[str] = set()
        strays = 0
        for table in IMPORTED:  # recordings come first
            for name in store.partitions(table):
                if name != source and not name.startswith(f"{source}/"):
                    continue
                frame = store.read(table, name)
                try:
                    TABLES[table].check(frame)
                except InputError as error:
                    return dg.AssetCheckResult(passed=False, description=str(error))
                counts[table] += frame.height
                if table == "imported_recordings":
                    known |= set(frame["recording_id"])
                elif table != "import_problems":
                    strays += frame.filter(~pl.col("recording_id").is_in(list(known))).height
        return dg.AssetCheckResult(passed=strays == 0, metadata={**counts, "rows without a recording": strays})

    return contract


def _split_by_recording() -> dg.AssetChecksDefinition:
    @dg.asset_check(asset="ego_comist", name="split_by_recording", blocking=True, description="No recording lies in two splits.")
    def split_by_recording(tables: Tables) -> dg.AssetCheckResult:
        splits = tables.store.read("ego_comist").group_by("recording_id").agg(pl.col("split").n_unique().alias("splits"))
        shared = splits.filter(pl.col("splits") > 1)
        return dg.AssetCheckResult(passed=shared.height == 0, metadata={"recordings": splits.height, "in two splits": shared.height})

    return split_by_recording
