"""The reply cache: paid answers by the content of their question. Reading what a reply means comes after it and is never stored.

One SQLite file in WAL mode, from the standard library. Chosen over one file per reply because design forbids tens of thousands of small
files, a look-up of a whole run is a few statements, batch results and their bookkeeping share one transaction, and concurrent writers of
several processes are the database's daily work. A commit is on disk for every later reader even when the writer is killed the next
moment; only a power cut may lose the last commits (``synchronous=NORMAL``), and then they are paid again. Not for network file systems.

The key is the hash of provider, model, system, prompt, image bytes, parameters and schema; the request's own key, task, inputs, the date
and the code that reads replies are not in it. Only what was paid for is stored: ok, truncated, refused, empty, and text lost half-way.
Two processes that ask the same question at the same moment may both pay; the first good answer stays.
"""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from ml.errors import InputError
from ml.llm.calls import Answer, Backend
from ml.llm.requests import Request, Usage
from ml.vocabulary import Status

FORMAT = 1  # part of the key: raise it when the meaning of a key's parts changes
_TABLES = """
CREATE TABLE IF NOT EXISTS replies (
    cache_key TEXT PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL, task TEXT NOT NULL, status TEXT NOT NULL, text TEXT,
    reason TEXT, answered_by TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL, money_usd REAL NOT NULL, calls INTEGER NOT NULL,
    retries INTEGER NOT NULL, stored_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (
    batch_id TEXT PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL, native_id TEXT, state TEXT NOT NULL, submitted_at REAL NOT NULL,
    ended_at REAL
);
CREATE TABLE IF NOT EXISTS batch_items (
    custom_id TEXT NOT NULL, batch_id TEXT NOT NULL REFERENCES batches(batch_id), cache_key TEXT NOT NULL, request_key TEXT NOT NULL,
    task TEXT NOT NULL, outcome TEXT, reason TEXT, PRIMARY KEY (custom_id, batch_id)
);
CREATE INDEX IF NOT EXISTS batch_items_by_key ON batch_items (cache_key);
CREATE TABLE IF NOT EXISTS batch_items_told (custom_id TEXT NOT NULL, batch_id TEXT NOT NULL, PRIMARY KEY (custom_id, batch_id));
CREATE TABLE IF NOT EXISTS waiting_runs (
    run_key TEXT PRIMARY KEY, stage TEXT NOT NULL, job TEXT NOT NULL, selection TEXT, partitions TEXT NOT NULL, batch_ids TEXT NOT NULL,
    since REAL NOT NULL
);
"""
_PUT = """
INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (cache_key) DO UPDATE SET
    status = excluded.status, text = excluded.text, reason = excluded.reason, answered_by = excluded.answered_by,
    input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cache_read_tokens = excluded.cache_read_tokens,
    cache_write_tokens = excluded.cache_write_tokens, money_usd = excluded.money_usd, calls = excluded.calls, retries = excluded.retries,
    stored_at = excluded.stored_at
WHERE replies.status <> 'ok' OR ?
"""
_USED = "input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, money_usd, calls, retries"
_ANSWER = f"cache_key, status, text, reason, answered_by, {_USED}"
_AT_ONCE = 500  # SQLite's oldest limit of bound values is 999


def cache_key(request: Request, backend: Backend) -> str:
    """Hex SHA-256 of all that shapes the reply. Parts are length-prefixed by JSON, so that no two questions run together."""
    digest = hashlib.sha256()
    head = {
        "format": FORMAT,
        "provider": backend.provider,
        "model": backend.model,
        "system": request.system,
        "prompt": request.prompt,
        "images": [hashlib.sha256(image).hexdigest() for image in request.images],
        "image_limits": repr(backend.image_limits) if request.images else None,
        "parameters": {**backend.parameters, "max_tokens": request.max_tokens, "temperature": request.temperature},
        "schema": request.schema,
    }
    digest.update(json.dumps(head, sort_keys=True, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class ReplyCache:
    """The file at ``path``. Safe to share between threads and between processes of one machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._pid = -1

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction that writes: all of it or nothing."""
        with self._lock:
            connection = self._connect()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def get(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Stored answers by cache key; absent keys are left out. ``usage`` is what was once paid."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, Answer] = {}
        with self._lock:
            connection = self._connect()
            for start in range(0, len(wanted), _AT_ONCE):
                part = wanted[start : start + _AT_ONCE]
                marks = ",".join("?" * len(part))
                for row in connection.execute(f"SELECT {_ANSWER} FROM replies WHERE cache_key IN ({marks})", part):
                    key, status, text, reason, model, *used = row
                    found[key] = Answer(Status(status), text, reason, Usage(*used), model)
        return found

    def put(self, key: str, request: Request, backend: Backend, answer: Answer, *, replace: bool = False) -> None:
        """Stores a paid answer at once. A stored good answer stays unless ``replace``; a failed one gives way."""
        with self.transaction() as connection:
            store(connection, key, request.task, backend.provider, backend.model, answer, replace=replace)

    def totals(self) -> Mapping[str, float]:
        """What the file holds: replies, and the money that they once cost."""
        with self._lock:
            replies, money = self._connect().execute("SELECT count(*), coalesce(sum(money_usd), 0) FROM replies").fetchone()
        return {"replies": replies, "money_usd": money}

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple]:
        """Reads with the bookkeeping's own statement."""
        with self._lock:
            return self._connect().execute(statement, values).fetchall()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None or self._pid != os.getpid():  # a connection must not cross a fork
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                connection = _open(self.path)
            except sqlite3.DatabaseError as error:
                raise InputError(
                    f"not a usable reply cache ({error})", file=self.path, remedy="Move the file away to begin a new one"
                ) from error
            self._connection, self._pid = connection, os.getpid()
        return self._connection


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
    for patience in range(200):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError:  # the switch to WAL does not wait for others that do the same, so this does
            if patience == 199:
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.executescript(f"BEGIN IMMEDIATE;{_TABLES}COMMIT;")
    return connection


def store(connection: sqlite3.Connection, key: str, task: str, provider: str, model: str, answer: Answer, *, replace: bool = False) -> None:
    """Writes one answer inside a transaction of ``ReplyCache.transaction``."""
    used = answer.usage
    connection.execute(
        _PUT,
        (
            key,
            provider,
            model,
            task,
            answer.status.value,
            answer.text,
            answer.reason,
            answer.model,
            used.input_tokens,
            used.output_tokens,
            used.cache_read_tokens,
            used.cache_write_tokens,
            used.money_usd,
            used.calls,
            used.retries,
            time.time(),
            replace,
        ),
    )
