"""What the person does in each window of a recording: from the dataset where it says so, else from a video language model."""

from pathlib import Path

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, Fingerprints, narrator_hash
from assets.imported import narrations_of
from assets.metadata import jpeg_metadata
from assets.partitioned import fail_where_unmade, make_partitions, partition_metadata, recording_ids
from assets.style import GPU_TAGS, OWNERS
from assets.style import NARRATIONS as GROUP
from ml.setting_sections.sources import SourceKind
from ml.settings import Settings
from ml.tables.store import TableStore, encode_key
from ml.vocabulary import Status
from resources.narrator import NarratorModel
from resources.partitions import RECORDINGS
from resources.settings import PlatformSettings
from resources.tables import Tables

PICTURED = 3  # recordings of a run, the last ones, whose partitions show frames: it takes up to a second each
CHUNK = 4  # recordings whose windows share a batch; a kill loses no more


def narration_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    @dg.asset(
        partitions_def=RECORDINGS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        deps=["video_probe", "recordings", *settings.sources_of_kind(SourceKind.EGO4D_NARRATIONS)],
        kinds={"pytorch", "parquet"},
        owners=OWNERS,
        tags=GPU_TAGS,
        pool="gpu",
        code_version=f"{CODE_VERSIONS['narrations']}-{narrator_hash(settings.narration)}",
    )
    def narrations(
        context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, narrator: NarratorModel
    ) -> dg.MaterializeResult:
        """10 s windows every 5 s to the end of each recording, described with a focus on hands and objects.

        A recording without a usable video and without narrations of its own has one row, which says so.
        """
        from ml.narration.stage import ToNarrate, narrate_recordings

        store = tables.store

        def make(ids: list[str]) -> dict[str, pl.DataFrame]:
            imported = narrations_of(store, settings.values, ids)
            wanted = []
            for identifier in ids:
                row = store.read("recordings", identifier).row(0, named=True)
                path = None if row["video_path"] is None else Path(row["video_path"])
                status = Status(row["video_status"])
                wanted.append(ToNarrate(identifier, path, row["duration_s"], imported[identifier], status, row["reason"]))
            return narrate_recordings(wanted, narrator.get)

        prints = Fingerprints(store, settings.values)
        tally = make_partitions(context, tables, "narrations", made_from=prints.narrations, make=make, chunk=CHUNK, reads_files=True)
        spent = narrator.spend()
        fail_where_unmade(context, tables, "narrations", tally, spent)
        for identifier in recording_ids(context)[-PICTURED:]:
            _show_frames(context, store, identifier)
        return dg.MaterializeResult(metadata={**partition_metadata(context, tables, "narrations", tally), **spent})

    return [narrations]


def _show_frames(context: dg.AssetExecutionContext, store: TableStore, recording_id: str) -> None:
    """Windows from the start, the middle and the end of a recording, with what was said of them."""
    from ml.video.film_strip import StripRow, film_strip

    path = store.read("recordings", recording_id)["video_path"][0]
    told = store.read("narrations", recording_id).filter((pl.col("status") == Status.OK) & pl.col("text").is_not_null())
    if path is None or told.is_empty():
        return
    places = sorted({0, told.height // 2, told.height - 1})
    rows = [
        StripRow(Path(path), row["start_s"], row["end_s"], f"{row['start_s']:.0f} to {row['end_s']:.0f} s: {row['text']}")
        for row in told[places].iter_rows(named=True)
    ]
    context.add_asset_metadata(
        {"frames and narrations": jpeg_metadata(film_strip(rows), "narrations")}, partition_key=encode_key(recording_id)
    )
