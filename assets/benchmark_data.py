"""GuideMe and Cook-MRE benchmarks in canonical form. EGO benchmarks come from message timelines, in ``assets.benchmarks``."""

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, Fingerprints
from assets.metadata import preview_markdown
from assets.style import BENCHMARKS as GROUP
from assets.style import OWNERS, SINGLE_TAGS
from ml.setting_sections.sources import SourceKind
from ml.settings import Settings
from ml.tables.store import TableStore
from resources.settings import PlatformSettings
from resources.tables import Tables


def benchmark_data_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """The two assets; they depend on the sources of their kind."""
    return [_dialogues(settings), _clips(settings)]


def _test_recordings(store: TableStore, source: str) -> pl.DataFrame:
    return store.scan("recordings").filter((pl.col("source") == source) & (pl.col("split") == "test")).collect()


def _dialogues(settings: Settings) -> dg.AssetsDefinition:
    @dg.asset(
        group_name=GROUP,
        deps=["recordings", *settings.sources_of_kind(SourceKind.GUIDEME)],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["benchmark_dialogues"],
    )
    def benchmark_dialogues(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """GuideMe benchmarks in canonical form: videos with their task, and the turns of the reference dialogues."""
        from ml.benchmarks.guideme.data import dialogue_tables, read_items

        store, values = tables.store, settings.values
        prints = Fingerprints(store, values)
        shown = []
        for name, source in values.sources_of_kind(SourceKind.GUIDEME).items():
            items = [item for _, item in read_items(source.annotations)]
            dialogues, turns = dialogue_tables(items, _test_recordings(store, name), name)
            store.write("benchmark_turns", turns, name, made_from=prints.benchmark_dialogues(name))
            store.write("benchmark_dialogues", dialogues, name, made_from=prints.benchmark_dialogues(name))
            shown.append(turns)
        everything = pl.concat(shown) if shown else store.read("benchmark_turns", "none")
        counts = (
            everything.group_by("benchmark", "speaker", "category").agg(pl.len().alias("turns")).sort("benchmark", "speaker", "category")
        )
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": everything.height,
                "videos": everything["recording_id"].n_unique(),
                "turns": dg.MetadataValue.md(preview_markdown(counts)),
                "preview": dg.MetadataValue.md(preview_markdown(everything.drop("benchmark"))),
            }
        )

    return benchmark_dialogues


def _clips(settings: Settings) -> dg.AssetsDefinition:
    @dg.asset(
        group_name=GROUP,
        deps=["recordings", *settings.sources_of_kind(SourceKind.COOK_MRE)],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["benchmark_clips"],
    )
    def benchmark_clips(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Cook-MRE benchmarks in canonical form: clips with an instruction that they follow, or deviate from in one element."""
        from ml.sources.cook_mre import CookColumns, clips_table, read_cook_samples

        store, values = tables.store, settings.values
        prints = Fingerprints(store, values)
        shown = []
        for name, source in values.sources_of_kind(SourceKind.COOK_MRE).items():
            samples = read_cook_samples(source.annotations, CookColumns().renamed(source.columns))
            clips = clips_table(samples, _test_recordings(store, name), name)
            store.write("benchmark_clips", clips, name, made_from=prints.benchmark_clips(name))
            shown.append(clips)
        everything = pl.concat(shown) if shown else store.read("benchmark_clips", "none")
        by_element = everything.group_by("benchmark", "sample_class", "element", "difficulty").agg(pl.len().alias("samples"))
        preview = everything.select("sample_id", "clip_id", "instruction", "original", "element", "difficulty")
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": everything.height,
                "clips": everything["clip_id"].n_unique(),
                "samples": dg.MetadataValue.md(preview_markdown(by_element.sort(pl.all()), rows=20)),
                "preview": dg.MetadataValue.md(preview_markdown(preview)),
            }
        )

    return benchmark_clips
