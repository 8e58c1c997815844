"""A mix in the layouts that other trainers read."""

import dagster as dg
import polars as pl

from assets.metadata import preview_markdown
from assets.style import OWNERS, SINGLE_TAGS
from assets.style import TRAINING as GROUP
from ml.settings import Settings
from resources.partitions import every_recording, mixes
from resources.settings import PlatformSettings
from resources.tables import Tables


def export_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    @dg.asset(
        partitions_def=mixes(settings),
        group_name=GROUP,
        deps=["training_mix", every_recording("recordings")],
        kinds={"json", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
    )
    def exports(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """The mix as JSONL, Parquet, a `datasets` folder, QICD's layout and chat layouts of three trainers, each read back by its rules."""
        from ml.mixes.export_all import USED_BY, export_mix, licences_of

        name, store = context.partition_key, tables.store
        mix, recordings = store.read("training_mix", name), store.scan("recordings").collect()
        folder = settings.values.data / "exports" / name
        activities = recordings.select("recording_id", "activity").drop_nulls()
        made = export_mix(mix, folder, licences=licences_of(mix, recordings), activities=dict(activities.iter_rows()))
        rows = [(str(e.layout), e.samples, len(e.files), round(e.size_bytes / 1e6, 2), USED_BY[e.layout]) for e in made]
        table = pl.DataFrame(rows, schema=["layout", "samples", "files", "MB", "loaded by"], orient="row")
        return dg.MaterializeResult(
            metadata={
                "samples": mix.height,
                "folder": dg.MetadataValue.path(str(folder)),
                "layouts": dg.MetadataValue.md(preview_markdown(table)),
                "licences": dg.MetadataValue.json(licences_of(mix, recordings)),
            }
        )

    return [exports]
