"""Recordings and steps: probe the video, put what the source says beside it, place the steps on its time line."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, Fingerprints
from assets.imported import imported_rows
from assets.llm_stages import llm_asset
from assets.partitioned import materialize_partitions
from assets.style import OWNERS, SINGLE_TAGS
from assets.style import RECORDINGS as GROUP
from resources.partitions import RECORDINGS
from resources.settings import PlatformSettings
from resources.tables import Tables

PROBES_AT_ONCE = 2


def recording_assets(source_keys: list[str]) -> list[dg.AssetsDefinition]:
    """The assets of the group, below the given source assets."""
    instructions = llm_asset(
        "instructions",
        group=GROUP,
        deps=source_keys,
        description="Descriptions of what was done (Goal-Step, keysteps), filtered to cooking and turned into instructions.",
    )
    proposed_steps = llm_asset(
        "proposed_steps",
        group=GROUP,
        deps=["raw_videos", "recordings", "narrations"],
        description="Steps of raw videos without a recipe, proposed from their narrations.",
    )

    @dg.asset(
        partitions_def=RECORDINGS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        deps=[*source_keys, "raw_videos"],
        kinds={"ffmpeg", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["video_probe"],
    )
    def video_probe(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Duration, rate, upright size, codec and the length that really decodes, for each recording's video file.

        A recording without a video, or with a bad one, is a row with its reason.
        """
        from ml.video.probe import probe_video

        prints = Fingerprints(tables.store, settings.values)

        def make(ids: list[str]) -> dict[str, pl.DataFrame]:
            imported = imported_rows(tables.store, "imported_recordings", ids)

            def probe(identifier: str) -> pl.DataFrame:
                rows = imported[identifier]
                path = rows["video_path"][0] if rows.height else None
                return probe_video(Path(path) if path else None, identifier)

            with ThreadPoolExecutor(PROBES_AT_ONCE) as pool:
                return dict(zip(ids, pool.map(probe, ids), strict=True))

        return materialize_partitions(context, tables, "video_probe", made_from=prints.video_probe, make=make, reads_files=True)

    @dg.asset(
        partitions_def=RECORDINGS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        deps=[video_probe],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["recordings"],
    )
    def recordings(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Each recording with its source, split, licence and what is known of its video."""
        from ml.sources.placing import place_recording

        prints = Fingerprints(tables.store, settings.values)

        def make(ids: list[str]) -> dict[str, pl.DataFrame]:
            imported = imported_rows(tables.store, "imported_recordings", ids)
            return {i: place_recording(imported[i], tables.store.read("video_probe", i)) for i in ids}

        return materialize_partitions(context, tables, "recordings", made_from=prints.recordings, make=make)

    @dg.asset(
        partitions_def=RECORDINGS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        deps=[recordings, instructions, proposed_steps],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["steps"],
    )
    def steps(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Recipe steps in time order, checked against the recording's length; omitted and contradictory ones keep their reason.

        Descriptions are replaced by their instructions, and a raw video without a recipe has the steps proposed for it.
        """
        from ml.instructions.told import told_steps
        from ml.sources.placing import place_steps

        store = tables.store
        prints = Fingerprints(store, settings.values)

        def make(ids: list[str]) -> dict[str, pl.DataFrame]:
            imported = imported_rows(store, "imported_steps", ids)
            told = {i: told_steps(imported[i], store.read("instructions", i), store.read("proposed_steps", i)) for i in ids}
            return {i: place_steps(told[i], store.read("recordings", i)) for i in ids}

        return materialize_partitions(context, tables, "steps", made_from=prints.steps, make=make)

    return [video_probe, recordings, instructions, proposed_steps, steps]
