"""The asset of an LLM stage: its recordings' inputs read, the stage made, rows written, usage told. What a stage asks is in ``ml``."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, Fingerprints, rows_by_recording
from assets.partitioned import materialize_partitions
from assets.style import LLM_TAGS, OWNERS
from ml.llm_stages import llm_stage
from resources.llm import LanguageModels
from resources.partitions import RECORDINGS
from resources.settings import PlatformSettings
from resources.tables import Tables

CHUNK = 64  # recordings whose requests go out together: enough to fill a provider's window, little to lose on a kill


def llm_asset(name: str, *, group: str, deps: Sequence[Any], description: str) -> dg.AssetsDefinition:
    """The asset over recordings of the LLM stage ``name``. Its code version changes with the stage's prompts and readers.

    ``assets.fingerprints.Fingerprints`` has a method ``name(recording_id)`` that says what a partition is made from.
    """
    stage = llm_stage(name)

    @dg.asset(
        name=name,
        partitions_def=RECORDINGS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=group,
        deps=deps,
        kinds={"llm", "parquet"},
        owners=OWNERS,
        tags=LLM_TAGS,
        pool="llm",
        code_version=f"{CODE_VERSIONS[name]}-{stage.prompt_hash()}",
        description=description,
    )
    def made(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, llm: LanguageModels) -> dg.MaterializeResult:
        values, store = settings.values, tables.store
        made_from, client = getattr(Fingerprints(store, values), name), llm.client(name)

        def make(ids: list[str]) -> dict[str, pl.DataFrame]:
            frame = stage.make(stage.read(store, values, ids), client)
            found = rows_by_recording(frame)
            return {identifier: found.get(identifier, frame.clear()) for identifier in ids}

        result = materialize_partitions(context, tables, name, made_from=made_from, make=make, chunk=CHUNK)
        return llm.with_usage(result, client)

    return made
