"""Source data: the sample kitchen, one importer asset per source that is on, and raw videos. Importing decodes no video."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, fingerprint_of_import
from assets.metadata import jpeg_metadata, preview_markdown
from assets.style import OWNERS, SINGLE_TAGS, SOURCES
from ml.errors import InputError
from ml.setting_sections.sources import RAW_VIDEOS, Source, SourceKind
from ml.settings import Settings
from ml.sources.imported import SPLIT_LEAK, ImportedSource
from ml.tables.store import TableStore, decode_key
from resources.partitions import RECORDINGS, recording_key
from resources.settings import PlatformSettings
from resources.tables import Tables

IMPORTED = {
    "imported_recordings": "recordings",
    "imported_steps": "steps",
    "imported_narrations": "narrations",
    "imported_messages": "messages",
    "import_problems": "problems",
}
JOINED = Path("joined")  # below the data folder: playlists that play several files as one video


def source_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """The sample kitchen where it is on, an asset for each source, and raw videos."""
    sources = settings.all_sources()
    kitchen = [_sample_kitchen()] if settings.sample_kitchen else []
    deps = ["sample_kitchen"] if kitchen else []
    return [
        *kitchen,
        *(_source(name, source, deps if name.startswith("kitchen_") else []) for name, source in sources.items()),
        _raw_videos(),
    ]


def read_source(name: str, source: Source, joined: Path) -> ImportedSource:
    """Read a source with the importer of its kind; playlists of joined videos are written below ``joined``."""
    match source.kind:
        case SourceKind.CAPTAINCOOK4D:
            from ml.sources.captaincook4d import read_captaincook4d

            chosen = {"split_file": source.split_file} if source.split_file else {}
            return read_captaincook4d(source.annotations, source.videos, source=name, **chosen)
        case SourceKind.EGO4D_GOALSTEP:
            from ml.sources.ego4d_goalstep import read_ego4d_goalstep

            return read_ego4d_goalstep(source.annotations, source.videos, source=name, joined=joined)
        case SourceKind.EGO4D_NARRATIONS:
            from ml.sources.ego4d_narrations import read_ego4d_narrations

            return read_ego4d_narrations(source.annotations, source.videos, source=name)
        case SourceKind.EGOEXO4D:
            from ml.sources.egoexo4d import read_egoexo4d

            return read_egoexo4d(source.annotations, source.videos, source=name)
        case SourceKind.QICD:
            from ml.sources.message_timeline import TimelineColumns
            from ml.sources.qicd import read_qicd

            named = TimelineColumns().renamed(source.columns)
            return read_qicd(source.annotations, source.videos, source=name, plan_set=source.plan_set or "main", columns=named)
        case SourceKind.EGO_MC_BENCH:
            from ml.sources.ego_mc_bench import read_ego_mc_bench
            from ml.sources.message_timeline import TimelineColumns

            named = TimelineColumns().renamed(source.columns)
            return read_ego_mc_bench(source.annotations, source.videos, source=name, columns=named)
        case SourceKind.GUIDEME:
            from ml.sources.guideme import read_guideme_source

            return read_guideme_source(source.annotations, source.videos, source=name)
        case SourceKind.COOK_MRE:
            from ml.sources.cook_mre import CookColumns, read_cook_mre_source

            columns = CookColumns().renamed(source.columns)
            return read_cook_mre_source(source.annotations, source.videos, source=name, columns=columns)


def write_imported(store: TableStore, imported: ImportedSource, partition: str, made_from: str) -> None:
    """Write all tables of an import under one partition; the recordings last, since they say that the import is whole."""
    for table, attribute in reversed(IMPORTED.items()):
        store.write(table, getattr(imported, attribute), partition, made_from=made_from)


def _sample_kitchen() -> dg.AssetsDefinition:
    @dg.asset(group_name=SOURCES, kinds={"python", "ffmpeg"}, owners=OWNERS, tags=SINGLE_TAGS, code_version=CODE_VERSIONS["sample_kitchen"])
    def sample_kitchen(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """A small rendered kitchen world with known truth, written in the real datasets' layouts: the default data."""
        from ml.sample_kitchen.kitchen import write_sample_kitchen
        from ml.sample_kitchen.plan import KitchenSizes
        from ml.video.film_strip import StripRow, film_strip

        values = settings.values
        manifest = write_sample_kitchen(
            values.path(Path("sample_kitchen")),
            KitchenSizes().scaled(values.sample_kitchen_share),
            seed=0,
            progress=tables.progress("sample_kitchen"),
        )
        first = {(recording.source, recording.split): recording for recording in reversed(manifest.recordings)}
        strip = [
            StripRow(manifest.root / one.video, 0.0, one.duration_s, f"{one.source}/{one.native_id}, {one.split}, {one.duration_s:.0f} s")
            for one in list(first.values())[:8]
        ]
        return dg.MaterializeResult(
            metadata={
                "recordings": len(manifest.recordings),
                "hours": round(manifest.seconds / 3600, 2),
                "folder": dg.MetadataValue.path(str(manifest.root)),
                "frames": jpeg_metadata(film_strip(strip), "frames of the sample kitchen"),
            }
        )

    return sample_kitchen


def _source(name: str, source: Source, deps: list[str]) -> dg.AssetsDefinition:
    @dg.asset(
        name=name,
        group_name=SOURCES,
        deps=deps,
        kinds={"json", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["imported"],
        description=f"Importer `{source.kind}` on {name}: recordings, steps, narrations and messages as its annotation files give them.",
    )
    def imported_source(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        imported = read_source(name, source, settings.values.path(JOINED))
        write_imported(tables.store, imported, name, fingerprint_of_import(settings.values)(name))
        keys = [recording_key(identifier) for identifier in imported.recordings["recording_id"].to_list()]
        known = set(context.instance.get_dynamic_partitions(RECORDINGS.name or ""))
        if new := [key for key in keys if key not in known]:
            context.instance.add_dynamic_partitions(RECORDINGS.name or "", new)
        return dg.MaterializeResult(metadata=_import_metadata(imported) | {"new partitions": len(new)})

    return imported_source


def _raw_videos() -> dg.AssetsDefinition:
    @dg.asset(
        name=RAW_VIDEOS,
        partitions_def=RECORDINGS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=SOURCES,
        kinds={"ffmpeg", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["imported"],
    )
    def raw_videos(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Videos dropped in the raw video folder, with the steps of their sidecar files; partitions of other sources pass through."""
        from ml.sources.raw_folder import list_raw_videos
        from ml.sources.raw_videos import read_raw_videos

        values = settings.values
        identifiers = [decode_key(key) for key in context.partition_keys]
        mine = [identifier for identifier in identifiers if identifier.startswith(f"{RAW_VIDEOS}/")]
        here = (
            {f"{RAW_VIDEOS}/{video.native_id}": video for video in list_raw_videos(values.path(values.raw_videos.folder)).videos}
            if mine
            else {}
        )
        waiting = 0
        for identifier in mine:
            if identifier not in here:
                raise InputError(
                    "the video is not in the raw video folder", record=identifier, remedy="Put it back, or delete the partition in the UI"
                )
            imported = read_raw_videos(
                [here[identifier]],
                source=RAW_VIDEOS,
                joined=values.path(JOINED),
                length_of=_length_of,
                are_proposed=values.raw_videos.propose_steps,
            )
            waiting += imported.steps.height == 0
            write_imported(tables.store, imported, identifier, CODE_VERSIONS["imported"])
        return dg.MaterializeResult(
            metadata={"raw videos": len(mine), "waiting for a recipe": waiting, "partitions of other sources": len(identifiers) - len(mine)}
        )

    return raw_videos


def _length_of(path: Path) -> float | None:
    from ml.video.probe import probe_video

    return probe_video(path, "chapter")["decodable_s"][0]


def _import_metadata(imported: ImportedSource) -> dict[str, Any]:
    steps = imported.steps
    files = imported.recordings.filter(pl.col("split_file").is_not_null()).select("split_file", "split_sha256").unique().sort("split_file")
    leaks = imported.problems.filter(pl.col("kind") == SPLIT_LEAK)
    told: dict[str, Any] = {"split files": dg.MetadataValue.md(preview_markdown(files, rows=20))} if files.height else {}
    if leaks.height:
        told["split leaks"] = dg.MetadataValue.md(preview_markdown(leaks.select("detail", "rule"), rows=20))
    count: Callable[[pl.DataFrame, str], dict[str, int]] = lambda frame, column: dict(  # noqa: E731
        frame.group_by(column).len().sort("len", descending=True).iter_rows()
    )
    return told | {
        "dagster/row_count": imported.recordings.height,
        "recordings": imported.recordings.height,
        "with video": imported.recordings["video_path"].is_not_null().sum(),
        "steps": steps.height,
        "clean steps": int(steps["is_clean"].sum()),
        "narrations": imported.narrations.height,
        "messages": imported.messages.height,
        "splits": dg.MetadataValue.json({str(k): v for k, v in count(imported.recordings, "split").items()}),
        "licences": dg.MetadataValue.json(count(imported.recordings, "licence")),
        "problems": dg.MetadataValue.json(count(imported.problems, "kind")),
        "preview": dg.MetadataValue.md(
            preview_markdown(steps.select("recording_id", "step_uid", "start_s", "end_s", "instruction", "error_tags", "status"))
        ),
    }
