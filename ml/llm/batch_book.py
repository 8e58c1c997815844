"""What is remembered of batches, in the reply cache's own file: batches, their items, what was told of their cost, runs that wait.

Statements only. When to send, collect or run again is decided in ``ml.llm.batches`` and by the sensor.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from ml.llm.backends.batching import BatchResult
from ml.llm.cache import ReplyCache, store
from ml.llm.calls import Answer, Backend
from ml.llm.requests import Request

LIFE_S = 26 * 3600.0  # a batch ends within 24 hours, one way or another
MOST_TRIES = 3  # batches that one request may fail in (errored, expired, missing) before it counts as failed
_AT_ONCE = 500
_ITEMS = "batch_items i JOIN batches b USING (batch_id) WHERE b.provider = ? AND b.model = ?"
_LOST = "i.outcome IS NOT NULL AND i.outcome <> 'succeeded'"


def custom_id(key: str) -> str:
    """The id that a request has inside a batch: short and plain whatever the row's own key is; the map is stored."""
    return f"r-{key[:48]}"


@dataclass(frozen=True)
class OpenBatch:
    """A batch on its way. ``native_id`` is None while it is unknown whether the provider took it."""

    batch_id: str
    native_id: str | None
    submitted_at: float


class BatchBook:
    """The batches of one provider and model in one cache file."""

    def __init__(self, cache: ReplyCache, backend: Backend) -> None:
        self._cache, self._backend = cache, backend
        self._named = (backend.provider, backend.model)

    def open(self) -> list[OpenBatch]:
        rows = self._cache.rows(
            "SELECT batch_id, native_id, submitted_at FROM batches "
            "WHERE provider = ? AND model = ? AND state IN ('uploading', 'open') ORDER BY submitted_at",
            self._named,
        )
        return [OpenBatch(*row) for row in rows]

    def on_the_way(self) -> dict[str, str]:
        """Cache keys in open batches, with the batch."""
        rows = self._cache.rows(
            f"SELECT i.cache_key, coalesce(b.native_id, b.batch_id) FROM {_ITEMS} "
            "AND b.state IN ('uploading', 'open') AND b.submitted_at > ?",
            (*self._named, time.time() - LIFE_S),
        )
        return dict(rows)

    def hopeless(self) -> dict[str, str]:
        """Cache keys that will not do, with the reason: called invalid by the provider, or failed in ``MOST_TRIES`` batches."""
        rows = self._cache.rows(
            f"SELECT i.cache_key, max(i.reason) FROM {_ITEMS} AND {_LOST} "
            "GROUP BY i.cache_key HAVING count(*) >= ? OR sum(i.reason LIKE 'invalid_request_error%') > 0",
            (*self._named, MOST_TRIES),
        )
        return dict(rows)

    def lost(self) -> dict[str, str]:
        """Cache keys without a result in their last batch, with outcome and reason."""
        rows = self._cache.rows(
            f"SELECT i.cache_key, i.outcome || ': ' || coalesce(i.reason, '') FROM {_ITEMS} AND {_LOST} ORDER BY b.submitted_at",
            self._named,
        )
        return dict(rows)

    def begin(self, batch_id: str, part: Mapping[str, Request]) -> None:
        """Before the upload, so that a kill in between leaves a trace."""
        with self._cache.transaction() as connection:
            connection.execute("INSERT INTO batches VALUES (?, ?, ?, NULL, 'uploading', ?, NULL)", (batch_id, *self._named, time.time()))
            connection.executemany(
                "INSERT INTO batch_items VALUES (?, ?, ?, ?, ?, NULL, NULL)",
                [(custom_id(key), batch_id, key, request.key, request.task) for key, request in part.items()],
            )

    def opened(self, batch_id: str, native_id: str) -> None:
        with self._cache.transaction() as connection:
            connection.execute("UPDATE batches SET state = 'open', native_id = ? WHERE batch_id = ?", (native_id, batch_id))

    def collected(self, batch_id: str) -> None:
        with self._cache.transaction() as connection:
            connection.execute("UPDATE batches SET state = 'collected', ended_at = ? WHERE batch_id = ?", (time.time(), batch_id))

    def forget(self, batch_id: str) -> None:
        """The provider never took it."""
        with self._cache.transaction() as connection:
            connection.execute("DELETE FROM batch_items WHERE batch_id = ?", (batch_id,))
            connection.execute("DELETE FROM batches WHERE batch_id = ?", (batch_id,))

    def size(self, batch_id: str) -> int:
        count: int = self._cache.rows("SELECT count(*) FROM batch_items WHERE batch_id = ?", (batch_id,))[0][0]
        return count

    def native_ids(self) -> set[str]:
        return {row[0] for row in self._cache.rows("SELECT native_id FROM batches WHERE native_id IS NOT NULL")}

    def items(self, batch_id: str) -> dict[str, tuple[str, str]]:
        """Cache key and task by custom id."""
        rows = self._cache.rows("SELECT custom_id, cache_key, task FROM batch_items WHERE batch_id = ?", (batch_id,))
        return {identifier: (key, task) for identifier, key, task in rows}

    def keep(self, batch_id: str, results: Sequence[tuple[BatchResult, str, str, Answer | None]]) -> None:
        """Results with cache key, task and priced answer, all in one transaction."""
        with self._cache.transaction() as connection:
            for result, key, task, answer in results:
                if answer is not None:  # it was asked for, so it comes before what was stored
                    store(connection, key, task, *self._named, answer, replace=True)
                connection.execute(
                    "UPDATE batch_items SET outcome = ?, reason = ? WHERE custom_id = ? AND batch_id = ?",
                    (result.outcome, result.reason, result.custom_id, batch_id),
                )

    def untold(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys whose reply came by batch and whose cost no run has told."""
        wanted, found = list(keys), []
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            rows = self._cache.rows(
                "SELECT DISTINCT i.cache_key FROM batch_items i LEFT JOIN batch_items_told t USING (custom_id, batch_id) "
                f"WHERE i.outcome = 'succeeded' AND t.batch_id IS NULL AND i.cache_key IN ({','.join('?' * len(part))})",
                part,
            )
            found += [row[0] for row in rows]
        return found

    def told(self, keys: Iterable[str]) -> None:
        with self._cache.transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO batch_items_told SELECT custom_id, batch_id FROM batch_items "
                "WHERE cache_key = ? AND outcome = 'succeeded'",
                [(key,) for key in keys],
            )


@dataclass(frozen=True)
class WaitingRun:
    """A run that ended because replies are in batches: the same job, assets and partitions are to run again when those are collected.

    ``selection`` holds the run's asset keys where it did not have the whole job.
    """

    stage: str
    job: str
    selection: tuple[str, ...] | None
    partitions: tuple[str, ...]
    batch_ids: tuple[str, ...]

    @property
    def run_key(self) -> str:
        return sha256(json.dumps([self.stage, self.partitions, self.batch_ids]).encode()).hexdigest()[:24]


def remember_waiting(cache: ReplyCache, run: WaitingRun) -> None:
    """In the place of what waited for this stage and any of these partitions before."""
    forget_waiting(cache, run.stage, run.partitions)
    selection = None if run.selection is None else json.dumps(run.selection)
    row = (run.run_key, run.stage, run.job, selection, json.dumps(run.partitions), json.dumps(run.batch_ids), time.time())
    with cache.transaction() as connection:
        connection.execute("INSERT OR REPLACE INTO waiting_runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def forget_waiting(cache: ReplyCache, stage: str, partitions: Iterable[str]) -> None:
    """The stage ran over these partitions: runs that waited for no others need not come."""
    here = set(partitions)
    done = [run.run_key for run in waiting_runs(cache) if run.stage == stage and set(run.partitions) <= here]
    with cache.transaction() as connection:
        connection.executemany("DELETE FROM waiting_runs WHERE run_key = ?", [(key,) for key in done])


def waiting_runs(cache: ReplyCache) -> list[WaitingRun]:
    """Oldest first."""
    rows = cache.rows("SELECT stage, job, selection, partitions, batch_ids FROM waiting_runs ORDER BY since")
    return [
        WaitingRun(stage, job, None if chosen is None else tuple(json.loads(chosen)), tuple(json.loads(keys)), tuple(json.loads(ids)))
        for stage, job, chosen, keys, ids in rows
    ]


def waiting_partitions(cache: ReplyCache, stage: str) -> set[str]:
    """Partitions of the runs of a stage that wait."""
    return {key for run in waiting_runs(cache) if run.stage == stage for key in run.partitions}


def open_batch_ids(cache: ReplyCache) -> set[str]:
    """Batches on their way, of every provider and model."""
    return {row[0] for row in cache.rows("SELECT batch_id FROM batches WHERE state IN ('uploading', 'open')")}
