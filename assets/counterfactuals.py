"""EGO-CoMist stages 1 and 2 on each recording: attributes, counterfactuals, and when their feedback is due."""

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, Fingerprints, rows_by_recording
from assets.imported import source_of
from assets.partitioned import materialize_partitions
from assets.style import COUNTERFACTUALS as GROUP
from assets.style import LLM_TAGS, OWNERS
from ml.counterfactuals.prompt_hashes import stage_hash
from resources.llm import LanguageModels
from resources.partitions import RECORDINGS
from resources.settings import PlatformSettings
from resources.tables import Tables

CHUNK = 64  # recordings whose requests go out together: enough to fill a provider's window, little to lose on a kill


def counterfactual_assets() -> list[dg.AssetsDefinition]:
    """The three assets of the group."""

    @dg.asset(
        partitions_def=RECORDINGS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        deps=["steps"],
        kinds={"llm", "parquet"},
        owners=OWNERS,
        tags=LLM_TAGS,
        pool="llm",
        code_version=f"{CODE_VERSIONS['attributes']}-{stage_hash('attributes')}",
    )
    def attributes(
        context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, llm: LanguageModels
    ) -> dg.MaterializeResult:
        """What each clean step says about the five mistake types: quantity, method, technique, heat setting, time."""
        from ml.counterfactuals.stages import extract_attributes

        values, store = settings.values, tables.store
        prints, client = Fingerprints(store, values), llm.client("attributes")
        sources = values.all_sources()

        def make(ids: list[str]) -> dict[str, pl.DataFrame]:
            steps = store.scan("steps", ids).collect()
            made = extract_attributes(steps, client)
            allowed = pl.DataFrame(
                [(i, t) for i in ids for t in (sources[source_of(i)].mistake_types if source_of(i) in sources else ())],
                schema={"recording_id": pl.String, "mistake_type": pl.String},
                orient="row",
            )
            return _by_recording(made.join(allowed, on=["recording_id", "mistake_type"], how="semi"), ids)

        result = materialize_partitions(context, tables, "attributes", made_from=prints.attributes, make=make, chunk=CHUNK)
        return llm.with_usage(result, client)

    @dg.asset(
        partitions_def=RECORDINGS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        deps=[attributes],
        kinds={"llm", "parquet"},
        owners=OWNERS,
        tags=LLM_TAGS,
        pool="llm",
        code_version=f"{CODE_VERSIONS['counterfactuals']}-{stage_hash('counterfactuals')}",
    )
    def counterfactuals(
        context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, llm: LanguageModels
    ) -> dg.MaterializeResult:
        """For each attribute and direction the changed attribute, the changed instruction and the feedback for it."""
        from ml.counterfactuals.stages import make_counterfactuals

        values, store = settings.values, tables.store
        prints, client = Fingerprints(store, values), llm.client("counterfactuals")

        def make(ids: list[str]) -> dict[str, pl.DataFrame]:
            made = make_counterfactuals(
                store.scan("attributes", ids).collect(), client, minimum_timing_change_s=values.counterfactuals.minimum_timing_change_s
            )
            return _by_recording(made, ids)

        result = materialize_partitions(context, tables, "counterfactuals", made_from=prints.counterfactuals, make=make, chunk=CHUNK)
        return llm.with_usage(result, client)

    @dg.asset(
        partitions_def=RECORDINGS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        deps=[counterfactuals, "narrations", "steps"],
        kinds={"llm", "parquet"},
        owners=OWNERS,
        tags=LLM_TAGS,
        pool="llm",
        code_version=f"{CODE_VERSIONS['feedback_timestamps']}-{stage_hash('feedback_timestamps')}",
    )
    def feedback_timestamps(
        context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, llm: LanguageModels
    ) -> dg.MaterializeResult:
        """The moment at which each counterfactual mistake becomes apparent, chosen from the clip's narrations."""
        from ml.counterfactuals.stages import infer_feedback_timestamps

        values, store = settings.values, tables.store
        prints, client = Fingerprints(store, values), llm.client("feedback_timestamps")

        def make(ids: list[str]) -> dict[str, pl.DataFrame]:
            made = infer_feedback_timestamps(
                store.scan("counterfactuals", ids).collect(),
                store.scan("steps", ids).collect(),
                store.scan("narrations", ids).collect(),
                client,
            )
            return _by_recording(made, ids)

        result = materialize_partitions(
            context, tables, "feedback_timestamps", made_from=prints.feedback_timestamps, make=make, chunk=CHUNK
        )
        return llm.with_usage(result, client)

    return [attributes, counterfactuals, feedback_timestamps]


def _by_recording(frame: pl.DataFrame, ids: list[str]) -> dict[str, pl.DataFrame]:
    found = rows_by_recording(frame)
    return {identifier: found.get(identifier, frame.clear()) for identifier in ids}
