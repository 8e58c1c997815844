"""How an asset over recordings does its partitions: skip what is current, write each as soon as it is made, keep failures apart.

One run may hold one partition or thousands. A partition is current when its file was made from the same fingerprint, so a rerun
after a kill repeats nothing. A partition that raises leaves the others alone: they are reported as materialized, then the step fails and
names the failed ones, which Dagster therefore keeps as failed. Rows that are not made yet (over budget, in a batch) leave their partition
unwritten, for a later run.
"""

import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg
import polars as pl

from assets.metadata import PREVIEW_ROWS, preview_markdown
from ml.errors import InputError, StopError
from ml.progress import format_seconds
from ml.tables.store import TableStore, decode_key
from ml.vocabulary import UNMADE, Status
from resources.tables import Tables

LOG_EVERY_S = 10.0

Make = Callable[[list[str]], Mapping[str, pl.DataFrame]]
Shown = dg.MetadataValue | int | float | str


@dataclass
class Tally:
    """What became of the partitions of one step."""

    made: dict[str, int] = field(default_factory=dict)
    current: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    unmade: dict[str, tuple[Status, str]] = field(default_factory=dict)
    stopped: str | None = None
    statuses: Counter[str] = field(default_factory=Counter)
    shown: dict[str, dict[str, Shown]] = field(default_factory=dict)
    """What the partition of a recording that was made shows in the UI."""

    def count(self, identifier: str, frame: pl.DataFrame) -> None:
        self.made[identifier] = frame.height
        self.statuses.update(_statuses(frame))
        self.shown[identifier] = _rows_shown(frame.height, frame)


def _statuses(frame: pl.DataFrame) -> dict[str, int]:
    return dict(frame.group_by("status").len().sort("status").iter_rows()) if "status" in frame.columns else {}


def _rows_shown(rows: int, frame: pl.DataFrame | None) -> dict[str, Shown]:
    shown: dict[str, Shown] = {"dagster/partition_row_count": rows}
    if frame is not None and frame.height:
        shown |= {"rows by status": dg.MetadataValue.json(_statuses(frame)), "preview": dg.MetadataValue.md(preview_markdown(frame))}
    return shown


def materialize_partitions(
    context: dg.AssetExecutionContext,
    tables: Tables,
    name: str,
    *,
    made_from: Callable[[str], str],
    make: Make,
    chunk: int = 16,
    reads_files: bool = False,
) -> dg.MaterializeResult:
    """Make the run's partitions of table ``name``, or fail naming those that could not be made.

    ``made_from(recording_id)`` is the fingerprint of everything the partition depends on; ``make(recording_ids)`` returns a frame for
    each id of a chunk. A chunk that raises is retried one by one, so that only the culprits fail. ``reads_files``: see ``make_partitions``.
    """
    tally = make_partitions(context, tables, name, made_from=made_from, make=make, chunk=chunk, reads_files=reads_files)
    fail_where_unmade(context, tables, name, tally)
    return dg.MaterializeResult(metadata=partition_metadata(context, tables, name, tally))


def make_partitions(
    context: dg.AssetExecutionContext,
    tables: Tables,
    name: str,
    *,
    made_from: Callable[[str], str],
    make: Make,
    chunk: int = 16,
    again: Collection[str] = (),
    reads_files: bool = False,
) -> Tally:
    """Makes and writes what is not current, and the recordings in ``again``; reports nothing to Dagster but progress.

    ``reads_files``: a recording whose fingerprint is another after it was made has failed, as its file changed meanwhile.
    """
    store, ids = tables.store, recording_ids(context)
    wanted = {identifier: made_from(identifier) for identifier in ids}
    tally = Tally()
    todo = [identifier for identifier in ids if identifier in again or store.made_from(name, identifier) != wanted[identifier]]
    tally.current = {identifier: store.rows(name, identifier) for identifier in sorted(set(ids) - set(todo))}
    progress = tables.progress(name)
    progress(0, len(todo))
    started = logged = time.monotonic()
    try:
        for done, (identifier, frame) in enumerate(_made(todo, make, chunk, tally), start=1):
            if frame is not None and (open_row := _unmade(frame)) is not None:
                tally.unmade[identifier] = open_row
            elif frame is not None and reads_files and made_from(identifier) != wanted[identifier]:
                tally.failed[identifier] = "its video changed while it was read. Materialize video_probe and this again"
            elif frame is not None:
                store.write(name, frame, identifier, made_from=wanted[identifier])
                tally.count(identifier, frame)
            progress(done, len(todo))
            if time.monotonic() - logged > LOG_EVERY_S:
                logged = time.monotonic()
                context.log.info(progress.snapshot().text())
    except StopError as error:
        tally.stopped = str(error)
    context.log.info(
        f"{name}: {len(tally.made)} made, {len(tally.current)} current, {len(tally.failed)} failed, {len(tally.unmade)} not made yet, "
        f"{format_seconds(time.monotonic() - started)}"
    )
    return tally


def recording_ids(context: dg.AssetExecutionContext) -> list[str]:
    """Recordings of the run."""
    return [decode_key(key) for key in context.partition_keys]


def _unmade(frame: pl.DataFrame) -> tuple[Status, str] | None:
    """Status and reason of the first row that is not made yet; a budget comes before a batch."""
    if "status" not in frame.columns:
        return None
    for status in UNMADE:
        rows = frame.filter(pl.col("status") == status)
        if rows.height:
            return status, str(rows["reason"][0])
    return None


def _made(todo: Sequence[str], make: Make, chunk: int, tally: Tally) -> Iterator[tuple[str, pl.DataFrame | None]]:
    for start in range(0, len(todo), chunk):
        part = list(todo[start : start + chunk])
        try:
            frames = make(part)
        except StopError:
            raise
        except Exception as error:  # noqa: BLE001  one bad recording must not stop the others; it is reported
            if len(part) > 1:
                yield from _made(part, make, 1, tally)
            else:
                tally.failed[part[0]] = str(error) if isinstance(error, InputError) else traceback.format_exc(limit=4)
                yield part[0], None
            continue
        for identifier in part:
            yield identifier, frames[identifier]


def report_done(
    context: dg.AssetExecutionContext, tables: Tables, name: str, tally: Tally, extra: Mapping[str, Shown] | None = None
) -> None:
    """Tells Dagster which partitions are there, where the step as a whole gives no output."""
    for key, shown in _partitions_shown(context, tables.store, name, tally):
        context.log_event(dg.AssetMaterialization(context.asset_key, partition=key, metadata={**shown, **(extra or {})}))


def _partitions_shown(
    context: dg.AssetExecutionContext, store: TableStore, name: str, tally: Tally
) -> Iterator[tuple[str, dict[str, Shown]]]:
    """Key and metadata of every partition of the run that is there; many that were current are not read again."""
    for key in context.partition_keys:
        identifier = decode_key(key)
        if identifier in tally.made:
            yield key, tally.shown[identifier]
        elif identifier in tally.current:
            frame = store.read(name, identifier) if len(tally.current) <= PREVIEW_ROWS else None
            yield key, _rows_shown(tally.current[identifier], frame)


def fail_where_unmade(
    context: dg.AssetExecutionContext, tables: Tables, name: str, tally: Tally, extra: Mapping[str, Shown] | None = None
) -> None:
    """Reports what was made and fails the step, where a recording failed, a budget ended or the run was stopped."""
    count = len(context.partition_keys)
    over_budget = {identifier: reason for identifier, (status, reason) in tally.unmade.items() if status is Status.OVER_BUDGET}
    if tally.stopped is not None:
        told = f"{tally.stopped} ({len(tally.made)} of {count} recordings were made before)"
    elif tally.failed:
        first, why = next(iter(tally.failed.items()))
        told = f"{len(tally.failed)} of {count} recordings failed, first {first}: {why.strip().splitlines()[-1]}"
    elif over_budget:
        reason = next(iter(over_budget.values()))
        told = f"the budget of {name} ended with {len(over_budget)} of {count} recordings to be made: {reason}. Raise it and run again"
    else:
        return
    report_done(context, tables, name, tally, extra)
    raise dg.Failure(
        told,
        metadata={
            "failed": dg.MetadataValue.json(dict(list({**tally.failed, **over_budget}.items())[:20])),
            "failed_count": len(tally.failed) + len(over_budget),
            **(extra or {}),
        },
        allow_retries=False,
    )


def partition_metadata(context: dg.AssetExecutionContext, tables: Tables, name: str, tally: Tally) -> dict[str, Shown]:
    """What an asset over recordings shows of its run; what each partition shows (rows, statuses, a preview) is given to Dagster here."""
    for key, of_partition in _partitions_shown(context, tables.store, name, tally):
        context.add_asset_metadata(of_partition, partition_key=key)
    shown: dict[str, Shown] = {
        "recordings": len(context.partition_keys),
        "made": len(tally.made),
        "already current": len(tally.current),
        "rows made": sum(tally.made.values()),
        "folder": dg.MetadataValue.path(str(tables.store.root / name)),
    }
    if len(tally.made) > 1:
        shown["statuses of the run"] = dg.MetadataValue.json(dict(sorted(tally.statuses.items())))
    return shown
