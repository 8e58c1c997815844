"""From every recording's pairs to EGO-CoMist: text vectors in LanceDB, candidates with their scores, the selection."""

from typing import TYPE_CHECKING

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, Fingerprints
from assets.metadata import png_metadata, preview_markdown
from assets.style import COUNTERFACTUALS as GROUP
from assets.style import OWNERS, SINGLE_TAGS
from resources.embeddings import TextEmbeddings
from resources.settings import PlatformSettings
from resources.tables import Tables

if TYPE_CHECKING:
    from ml.comist.selection import SelectionSettings


def comist_assets() -> list[dg.AssetsDefinition]:
    """The fan-in over all recordings."""

    @dg.asset(
        group_name=GROUP,
        deps=["counterfactuals", "benchmark_steps"],
        kinds={"lancedb", "huggingface"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        pool="lance_writer",
        code_version=CODE_VERSIONS["comist_candidates"],
    )
    def embeddings(
        context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, text_vectors: TextEmbeddings
    ) -> dg.MaterializeResult:
        """Unit vectors of every distinct instruction, searchable by text; one writer."""
        from ml.comist.candidates import candidate_texts

        texts = candidate_texts(tables.store.scan("counterfactuals").collect(), _benchmark_texts(tables))
        vectors = text_vectors.open()
        before = vectors.count()
        vectors.embed(texts, tables.progress("embeddings"))
        index = vectors.build_index()
        vectors.optimise()
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": vectors.count(),
                "distinct texts": len(texts),
                "new": vectors.count() - before,
                "index": index.note,
                "model": vectors.encoder.name,
                "folder": dg.MetadataValue.path(str(text_vectors.folder)),
            }
        )

    @dg.asset(
        group_name=GROUP,
        deps=[embeddings, "counterfactuals", "feedback_timestamps", "validity_check", "recordings", "benchmark_steps"],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["comist_candidates"],
    )
    def comist_candidates(
        context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, text_vectors: TextEmbeddings
    ) -> dg.MaterializeResult:
        """Every counterfactual with every score and verdict that a filter may use; no threshold is applied here."""
        from ml.comist.candidates import build_candidates, candidate_texts
        from ml.comist.leaks import benchmark_leaks, sources_that_share
        from ml.comist.similarity_figure import similarity_figure

        store = tables.store
        made = Fingerprints(store, settings.values).comist_candidates()
        pairs, recordings = store.scan("counterfactuals").collect(), store.scan("recordings").collect()
        candidates = build_candidates(
            pairs,
            store.scan("feedback_timestamps").collect(),
            recordings,
            _benchmark_texts(tables),
            text_vectors.open().read(candidate_texts(pairs, _benchmark_texts(tables))),
            checks=store.scan("validity_check").collect(),
            leaks=benchmark_leaks(store.scan("benchmark_steps").collect(), recordings, sources_that_share(settings.values.source_kinds())),
        )
        store.write("comist_candidates", candidates, made_from=made)
        counts = candidates.group_by("status").len().sort("len", "status", descending=[True, False])
        shown = ("mistake_type", "direction", "instruction", "counterfactual_instruction", "original_similarity", "duplicate_similarity")
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": candidates.height,
                "by status": dg.MetadataValue.json(dict(counts.iter_rows())),
                "similarities": png_metadata(similarity_figure(candidates, selection_settings(settings)), "similarities"),
                "preview": dg.MetadataValue.md(preview_markdown(candidates.filter(pl.col("status") == "ok").select(shown))),
            }
        )

    @dg.asset(
        group_name=GROUP,
        deps=[comist_candidates, "validity_answers"],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["ego_comist"],
    )
    def ego_comist(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """The training pairs: filtered, balanced over directions, split by recording. The others have a reason in comist_rejections."""
        from ml.comist.report import counts_figure, counts_table
        from ml.comist.selection import select
        from ml.validity.agreement import people_refuse
        from ml.validity.sample import shown_hash

        store = tables.store
        made = Fingerprints(store, settings.values).ego_comist()
        candidates = store.read("comist_candidates")
        refused = people_refuse(store.read("validity_answers"), candidates.with_columns(shown_hash(candidates)))
        chosen = select(candidates, selection_settings(settings), refused=refused)
        kept = chosen.ego_comist
        store.write("comist_rejections", chosen.rejected, made_from=made)
        store.write("ego_comist", kept, made_from=made)
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": kept.height,
                "candidates": chosen.candidates.height,
                "rejections": dg.MetadataValue.json(dict(chosen.rejections)),
                "splits": dg.MetadataValue.json({str(k): v for k, v in kept.group_by("split").len().iter_rows()}),
                "pairs by source, type and direction": dg.MetadataValue.md(preview_markdown(counts_table(kept), rows=40)),
                "plot": png_metadata(counts_figure(kept)),
                "preview": dg.MetadataValue.md(
                    preview_markdown(kept.select("recording_id", "mistake_type", "counterfactual_instruction", "feedback", "t_s"))
                ),
            }
        )

    return [embeddings, comist_candidates, ego_comist]


def selection_settings(settings: PlatformSettings) -> "SelectionSettings":
    """The selection of ``ml.comist`` under the platform's settings."""
    from ml.comist.selection import SelectionSettings

    values = settings.values
    return SelectionSettings(**values.selection.model_dump(), few_texts=frozenset(values.sources_of_few_texts()))


def _benchmark_texts(tables: Tables) -> list[str]:
    return tables.store.scan("benchmark_steps").select("instruction").unique().collect().to_series().sort().to_list()
