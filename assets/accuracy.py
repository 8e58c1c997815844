"""How right stages 1 and 2 are on the sample kitchen, whose truth is known. Real sources are judged by people instead."""

from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import polars as pl

from assets.metadata import number, png_metadata, preview_markdown
from assets.partitioned import Shown
from assets.style import COUNTERFACTUALS as GROUP
from assets.style import OWNERS, SINGLE_TAGS
from ml.setting_sections.sources import source_of
from ml.settings import Settings
from ml.tables.store import TableStore
from resources.settings import PlatformSettings
from resources.tables import Tables

KITCHEN = "kitchen_captaincook4d"
HELD_OUT = ("evaluation",)


def known_errors(store: TableStore, settings: Settings, recording_ids: Sequence[str]) -> pl.DataFrame | None:
    """``ml.benchmarks.kitchen_accuracy.timestamp_errors`` of these recordings; None where the sample kitchen's truth is not there."""
    from ml.benchmarks.kitchen_accuracy import timestamp_errors

    truth = settings.path(Path("sample_kitchen")) / "truth"
    wanted = [identifier for identifier in recording_ids if source_of(identifier) == KITCHEN]
    if not settings.sample_kitchen or not wanted or not (truth / "counterfactuals.parquet").exists():
        return None
    pairs, due, steps = (store.scan(name, wanted).collect() for name in ("counterfactuals", "feedback_timestamps", "steps"))
    return timestamp_errors(truth, pairs, due, steps)


def timestamp_errors_metadata(store: TableStore, settings: Settings, recording_ids: Sequence[str]) -> dict[str, Shown]:
    """The share of times that are multiples of 5 s, near 1 where a model answers in fives, and errors where the truth is known.

    Errors are in the bins of the EGO-CoMist study.
    """
    from ml.benchmarks.kitchen_accuracy import error_shares
    from ml.benchmarks.plots import timestamp_error_histogram
    from ml.llm.replies import share_of_round

    times = store.scan("feedback_timestamps", recording_ids).filter(pl.col("t_s").is_not_null()).select("t_s").collect()["t_s"].to_list()
    round_share = share_of_round(times)
    told: dict[str, Shown] = {} if round_share is None else {"share of times in fives": number(round_share)}
    errors = known_errors(store, settings, recording_ids)
    if errors is None or not errors.height:
        return told
    shares = error_shares(errors)
    return {
        **told,
        "timestamps with known truth": errors.height,
        "within 2.5 s": number(shares["within_2.5_s"]),
        "10 s or more off": number(shares["10_s_or_more"]),
        "timestamp errors": png_metadata(timestamp_error_histogram(errors["error_s"].to_list()), "timestamp errors"),
    }


def accuracy_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Nothing without the sample kitchen."""
    if not settings.sample_kitchen:
        return []

    @dg.asset(
        group_name=GROUP,
        deps=["narrations", "counterfactuals", "feedback_timestamps", "sample_kitchen"],
        kinds={"polars"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
    )
    def sample_kitchen_accuracy(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Windows named rightly on held-out recordings, and feedback timestamps against the truth in the bins of the EGO-CoMist study."""
        from ml.benchmarks.kitchen_accuracy import CLOSE_S, FAR_S, error_shares, narration_accuracy, timestamp_errors
        from ml.benchmarks.plots import timestamp_error_histogram

        store, kitchen = tables.store, settings.values.path(Path("sample_kitchen"))
        narrated = narration_accuracy(kitchen, store.scan("narrations").collect(), KITCHEN, HELD_OUT)
        errors = timestamp_errors(
            kitchen / "truth",
            store.scan("counterfactuals").collect(),
            store.scan("feedback_timestamps").collect(),
            store.scan("steps").collect(),
        )
        size = pl.col("error_s").abs()
        by_type = errors.group_by("mistake_type", "direction").agg(
            pl.len().alias("n"), (size <= CLOSE_S).mean().alias("within 2.5 s"), (size >= FAR_S).mean().alias("10 s or more off")
        )
        shares = error_shares(errors)
        return dg.MaterializeResult(
            metadata={
                "windows of held-out recordings": narrated.windows,
                "main action named": number(narrated.named),
                "number, tool or level exact": number(narrated.exact),
                "timestamps compared": errors.height,
                "within 2.5 s": number(shares["within_2.5_s"]),
                "10 s or more off": number(shares["10_s_or_more"]),
                "timestamp errors": png_metadata(timestamp_error_histogram(errors["error_s"].to_list()), "timestamp errors"),
                "narrations by action": dg.MetadataValue.md(preview_markdown(narrated.by_action, rows=40)),
                "timestamps by type": dg.MetadataValue.md(preview_markdown(by_type.sort("mistake_type", "direction"), rows=20)),
            }
        )

    return [sample_kitchen_accuracy]
