"""How an asset over recordings does its partitions: skip what is current, write each as soon as it is made, keep failures apart.

One run may hold one partition or thousands. A partition is current when its file was made from the same fingerprint, so a rerun
after a kill repeats nothing. A partition that raises leaves the others alone: they are reported as materialized, then the step fails and
names the failed ones, which Dagster therefore keeps as failed.
"""

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg
import polars as pl

from assets.metadata import PREVIEW_ROWS, preview_markdown
from ml.errors import InputError
from ml.progress import format_seconds
from ml.tables.store import TableStore, decode_key
from resources.tables import Tables

LOG_EVERY_S = 10.0

Make = Callable[[list[str]], Mapping[str, pl.DataFrame]]


@dataclass
class Tally:
    """What became of the partitions of one step."""

    made: dict[str, int] = field(default_factory=dict)
    current: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    preview: pl.DataFrame | None = None

    def count(self, frame: pl.DataFrame) -> None:
        if "status" in frame.columns:
            for status, n in frame.group_by("status").len().iter_rows():
                self.statuses[status] = self.statuses.get(status, 0) + n
        if self.preview is None or self.preview.height < PREVIEW_ROWS:
            self.preview = frame.head(PREVIEW_ROWS) if self.preview is None else pl.concat([self.preview, frame]).head(PREVIEW_ROWS)


def materialize_partitions(
    context: dg.AssetExecutionContext,
    tables: Tables,
    name: str,
    *,
    made_from: Callable[[str], str],
    make: Make,
    chunk: int = 16,
) -> dg.MaterializeResult:
    """Make the run's partitions of table ``name``.

    ``made_from(recording_id)`` is the fingerprint of everything the partition depends on; ``make(recording_ids)`` returns a frame for
    each id of a chunk. A chunk that raises is retried one by one, so that only the culprits fail.
    """
    store, keys = tables.store, list(context.partition_keys)
    ids = [decode_key(key) for key in keys]
    wanted = {identifier: made_from(identifier) for identifier in ids}
    tally = Tally()
    todo = [identifier for identifier in ids if store.made_from(name, identifier) != wanted[identifier]]
    for identifier in sorted(set(ids) - set(todo)):
        tally.current[identifier] = store.read(name, identifier).height if len(ids) <= PREVIEW_ROWS else -1
    progress = tables.progress(name)
    progress(0, len(todo))
    started = logged = time.monotonic()
    for done, (identifier, frame) in enumerate(_made(todo, make, chunk, tally), start=1):
        if frame is not None:
            store.write(name, frame, identifier, made_from=wanted[identifier])
            tally.made[identifier] = frame.height
            tally.count(frame)
        progress(done, len(todo))
        if time.monotonic() - logged > LOG_EVERY_S:
            logged = time.monotonic()
            context.log.info(progress.snapshot().text())
    context.log.info(
        f"{name}: {len(tally.made)} made, {len(tally.current)} current, {len(tally.failed)} failed, "
        f"{format_seconds(time.monotonic() - started)}"
    )
    if tally.failed:
        _report_and_fail(context, name, tally, keys)
    return dg.MaterializeResult(metadata=_metadata(tally, store, name, ids))


def _made(todo: Sequence[str], make: Make, chunk: int, tally: Tally) -> Iterator[tuple[str, pl.DataFrame | None]]:
    for start in range(0, len(todo), chunk):
        part = list(todo[start : start + chunk])
        try:
            frames = make(part)
        except InputError as error:
            if len(part) == 1:
                tally.failed[part[0]] = str(error)
                yield part[0], None
                continue
            yield from _made(part, make, 1, tally)
            continue
        except Exception:  # noqa: BLE001  one bad recording must not stop the others; it is reported with its traceback
            if len(part) == 1:
                tally.failed[part[0]] = traceback.format_exc(limit=4)
                yield part[0], None
                continue
            yield from _made(part, make, 1, tally)
            continue
        for identifier in part:
            yield identifier, frames[identifier]


def _report_and_fail(context: dg.AssetExecutionContext, name: str, tally: Tally, keys: Sequence[str]) -> None:
    for key in keys:
        identifier = decode_key(key)
        if identifier not in tally.failed:
            rows = tally.made.get(identifier, tally.current.get(identifier, -1))
            context.log_event(
                dg.AssetMaterialization(context.asset_key, partition=key, metadata={"dagster/partition_row_count": max(rows, 0)})
            )
    first, why = next(iter(tally.failed.items()))
    raise dg.Failure(
        f"{len(tally.failed)} of {len(keys)} recordings failed, first {first}: {why.strip().splitlines()[-1]}",
        metadata={"failed": dg.MetadataValue.json(dict(list(tally.failed.items())[:20])), "failed_count": len(tally.failed)},
        allow_retries=False,
    )


def _metadata(tally: Tally, store: TableStore, name: str, ids: Sequence[str]) -> dict[str, dg.MetadataValue | int | str]:
    rows = sum(tally.made.values())
    shown: dict[str, dg.MetadataValue | int | str] = {
        "recordings": len(ids),
        "made": len(tally.made),
        "already current": len(tally.current),
        "rows made": rows,
        "folder": dg.MetadataValue.path(str(store.root / name)),
    }
    if len(ids) == 1:
        shown["dagster/partition_row_count"] = store.read(name, ids[0]).height
    if tally.statuses:
        shown["rows by status"] = dg.MetadataValue.json(dict(sorted(tally.statuses.items())))
    preview = tally.preview if tally.preview is not None else store.read(name, ids[0]).head(PREVIEW_ROWS) if ids else None
    if preview is not None and preview.height:
        shown["preview"] = dg.MetadataValue.md(preview_markdown(preview))
    return shown
