"""The asset of an LLM stage: its recordings' inputs read, the stage made, rows written, usage told. What a stage asks is in ``ml``."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl
from pydantic import Field

from assets.fingerprints import CODE_VERSIONS, Fingerprints, rows_by_recording
from assets.partitioned import (
    Shown,
    Tally,
    fail_where_unmade,
    make_partitions,
    partition_metadata,
    recording_ids,
    report_done,
)
from assets.style import LLM_TAGS, OWNERS
from ml.llm.stage import LLMStage
from ml.llm_stages import llm_stage
from ml.setting_sections.models import LLMBackend
from ml.settings import Settings
from ml.tables.store import TableStore, encode_key
from ml.vocabulary import FAILED, Status
from resources.llm import LanguageModels, open_client, spend_metadata
from resources.partitions import RECORDINGS
from resources.settings import PlatformSettings
from resources.tables import Tables

if TYPE_CHECKING:
    from ml.llm.batches import Batches
    from ml.llm.client import Client
    from ml.llm.estimate import Estimate

CHUNK = 64  # recordings whose requests go out together: enough to fill a provider's window, little to lose on a kill
BATCH_CHUNK = 4096  # likewise for the batch interface: few large batches


class LLMRun(dg.Config):
    """How an LLM asset runs this time."""

    retry_failed: bool = Field(
        False, description="Ask again for rows that are truncated, refused, empty, unparsable or error; else they are never paid for again."
    )
    dry_run: bool = Field(False, description="Only say what the run would ask and cost, as an observation of the asset.")


Tell = Callable[[TableStore, Settings, Sequence[str]], dict[str, Shown]]


def llm_asset(name: str, *, group: str, deps: Sequence[Any], description: str, tell: Tell | None = None) -> dg.AssetsDefinition:
    """The asset over recordings of the LLM stage ``name``. Its code version changes with the stage's prompts and readers.

    ``tell`` gives further metadata on the recordings of a run, once their rows are written.

    ``assets.fingerprints.Fingerprints`` has a method ``name(recording_id)`` that says what a partition is made from. A run whose replies
    are in a batch ends without output, and what it waits for is remembered for the sensor.
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
        code_version=f"{CODE_VERSIONS[name]}-{stage.version()}",
        description=description,
        output_required=False,
    )
    def made(
        context: dg.AssetExecutionContext, config: LLMRun, tables: Tables, settings: PlatformSettings, llm: LanguageModels
    ) -> Iterator[dg.MaterializeResult]:
        values, store = settings.values, tables.store
        chosen, made_from, ids = stage.settings(values), getattr(Fingerprints(store, values), name), recording_ids(context)
        asked_again = ids if config.retry_failed else _waiting(llm, name, ids)
        again = failed_recordings(store, name, asked_again) if asked_again else set()
        told: dict[str, Shown] = {}
        if config.dry_run or chosen.backend is not LLMBackend.RULES:
            due = [identifier for identifier in ids if identifier in again or store.made_from(name, identifier) != made_from(identifier)]
            told |= estimate_metadata(estimate_stage(stage, store, values, llm, due, retry_failed=config.retry_failed))
            context.log.info(f"{name}: {', '.join(f'{key} {value}' for key, value in told.items())}")
        if config.dry_run:
            context.log_event(dg.AssetObservation(context.asset_key, metadata={"recordings due": len(due), **told}))
            return
        client = llm.client(name, retry_failed=config.retry_failed)

        def make(part: list[str]) -> dict[str, pl.DataFrame]:
            frame = stage.make(stage.read(store, values, part), client)
            found = rows_by_recording(frame)
            return {identifier: found.get(identifier, frame.clear()) for identifier in part}

        chunk = BATCH_CHUNK if chosen.batch else CHUNK
        tally = make_partitions(context, tables, name, made_from=made_from, make=make, chunk=chunk, again=again)
        told |= spend_metadata(client.report())
        if chosen.batch:
            _remember_batches(context, llm, name, tally)
        with _settling(client, tally):
            fail_where_unmade(context, tables, name, tally, told)
            _fail_where_too_much_failed(context, tables, name, tally, chosen.max_failed_share, told)
            if tally.unmade:
                context.log.info(f"{name}: {len(tally.unmade)} recordings wait for a batch; the sensor llm_batches requests the next run")
                report_done(context, tables, name, tally, told)
                return
            if tell is not None:
                told |= tell(store, values, ids)
            yield dg.MaterializeResult(metadata={**partition_metadata(context, tables, name, tally), **told})

    return made


def _waiting(llm: LanguageModels, name: str, ids: Sequence[str]) -> list[str]:
    """Recordings that a run of this stage waited for. Where that run asked again for failed rows, they are still there and look current."""
    from ml.llm.batch_book import waiting_partitions

    if not llm.cache.path.exists():
        return []
    waiting = waiting_partitions(llm.cache, name)
    return [identifier for identifier in ids if encode_key(identifier) in waiting]


def failed_recordings(store: TableStore, name: str, ids: Sequence[str]) -> set[str]:
    """Those whose table holds failed rows."""
    rows = store.scan(name, ids).filter(pl.col("status").is_in([status.value for status in FAILED]))
    return set(rows.select("recording_id").unique().collect()["recording_id"])


def estimate_stage(
    stage: LLMStage, store: TableStore, settings: Settings, llm: LanguageModels, ids: Sequence[str], *, retry_failed: bool = False
) -> "Estimate":
    """What these recordings would ask and cost now, with what is on disk and in the cache."""
    from ml.llm.dry_run import dry_run
    from ml.llm.estimate import estimate

    chosen = stage.settings(settings)
    client = open_client(chosen, llm.cache, settings, stage.rules(), retry_failed=retry_failed, needs_key=False)
    _, questions = dry_run(stage, stage.read(store, settings, ids), client)
    return estimate(questions.asked, client, is_batch=chosen.batch, guesses=questions.stood_in)


def estimate_metadata(found: "Estimate") -> dict[str, Shown]:
    """An estimate as asset metadata."""
    shown: dict[str, Shown] = {
        "estimated calls": found.calls,
        "estimated cache hits": found.cached,
        "estimated input tokens": found.input_tokens,
        "estimated output tokens": found.output_tokens,
        "estimated seconds": round(found.seconds, 1),
    }
    if found.money_usd is not None and found.money_worst_usd is not None:
        shown |= {"estimated money usd": round(found.money_usd, 6), "estimated worst money usd": round(found.money_worst_usd, 6)}
    return shown


@contextmanager
def _settling(client: "Client | Batches", tally: Tally) -> Iterator[None]:
    """What batches cost is told by one run only: it is settled once this one has told it of any partition."""
    from ml.llm.batches import Batches

    try:
        yield
    finally:
        if isinstance(client, Batches) and (tally.made or tally.current):
            client.settle()


def _remember_batches(context: dg.AssetExecutionContext, llm: LanguageModels, name: str, tally: Tally) -> None:
    from ml.llm.batch_book import WaitingRun, forget_waiting, remember_waiting

    client: Batches = llm.client(name)  # type: ignore[assignment]
    keys = tuple(context.partition_keys)
    if not any(status is Status.IN_BATCH for status, _ in tally.unmade.values()):
        forget_waiting(llm.cache, name, keys)
        return
    run = context.run
    selection = None if run.asset_selection is None else tuple(sorted(key.to_user_string() for key in run.asset_selection))
    remember_waiting(llm.cache, WaitingRun(name, run.job_name, selection, keys, tuple(client.open_batches())))


def _fail_where_too_much_failed(
    context: dg.AssetExecutionContext, tables: Tables, name: str, tally: Tally, limit: float, told: dict[str, Shown]
) -> None:
    """Judged on the rows as they stand, whenever they were made, so that a mere rerun does not hide it. The rows stay and are told."""
    rows = tables.store.scan(name, recording_ids(context)).select("status", "reason").collect()
    failed = rows.filter(pl.col("status").is_in([status.value for status in FAILED]))
    nothing = failed.height == rows.height
    if failed.is_empty() or (failed.height / rows.height <= limit and not nothing):
        return
    counts = failed.group_by("status", "reason").len().sort("len", descending=True).row(0, named=True)
    report_done(context, tables, name, tally, told)
    what = "nothing came out" if nothing else f"more than {limit:.0%} of the rows"
    raise dg.Failure(
        f"{failed.height} of {rows.height} rows of {name} failed ({what}); most often {counts['status']}: {counts['reason']}. "
        f"The rows are kept; ask again with `interject retry-failed {name}`, or raise stages.{name}.max_failed_share",
        metadata={"failed rows": failed.height, "rows": rows.height, **told},
        allow_retries=False,
    )
