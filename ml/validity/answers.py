"""What people answer, kept as they answer. One SQLite file in WAL mode; each change is a row, on disk before the page hears of it.

A state is keyed by reviewer, pair and the hash of what was shown, so that an answer never counts for a text that has changed since. Each
row holds the whole state after one change. Two browsers of one reviewer change different fields of one state without losing either:
every change is read, merged and written in one transaction. Undoing marks a row and deletes nothing.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from ml.databases import whole_database
from ml.errors import InputError
from ml.tables.declarations.pairs import VALIDITY_ANSWERS
from ml.validity.questions import QUESTIONS

LONGEST_NAME: Final = 60
_FIELDS = (*QUESTIONS, "apparent_s", "never_apparent", "comment")
_TABLE = """
CREATE TABLE IF NOT EXISTS changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, reviewer TEXT NOT NULL, pair_id TEXT NOT NULL, shown_sha256 TEXT NOT NULL,
    different INTEGER, feasible INTEGER, of_type INTEGER, apparent_s REAL, never_apparent INTEGER NOT NULL, comment TEXT,
    answered_at TEXT NOT NULL, undone_at TEXT
);
CREATE INDEX IF NOT EXISTS changes_by_state ON changes (reviewer, pair_id, shown_sha256, number);
"""
_STATE = f"reviewer, pair_id, shown_sha256, {', '.join(_FIELDS)}, answered_at"
_LATEST = f"SELECT {_STATE} FROM changes WHERE number IN (SELECT max(number) FROM changes WHERE undone_at IS NULL"
_BY_STATE = " GROUP BY reviewer, pair_id, shown_sha256)"


@dataclass(frozen=True)
class Answer:
    """The state of one reviewer's answer to one pair."""

    reviewer: str
    pair_id: str
    shown_sha256: str
    different: bool | None = None
    feasible: bool | None = None
    of_type: bool | None = None
    apparent_s: float | None = None
    never_apparent: bool = False
    comment: str | None = None
    answered_at: str = field(default="", compare=False)

    @property
    def is_valid(self) -> bool | None:
        """False as soon as one verdict is no, True when all three are yes, else None."""
        verdicts = (self.different, self.feasible, self.of_type)
        return False if False in verdicts else None if None in verdicts else True

    @property
    def is_complete(self) -> bool:
        """Three verdicts, and a moment (or that there is none) where all three are yes."""
        if None in (self.different, self.feasible, self.of_type):
            return False
        return self.is_valid is False or self.never_apparent or self.apparent_s is not None


class AnswerLog:
    """The file at ``path``, made on first use. Safe for several threads, processes and browsers of one machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as connection:
            connection.executescript(_TABLE)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        broken = whole_database(self.path, "file of answers", "Put a copy back, or move it away to begin a new one")
        with broken, closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")  # a power cut loses nothing that the page has shown as saved
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise

    def change(self, reviewer: str, pair_id: str, shown_sha256: str, changes: Mapping[str, Any]) -> Answer:
        """Merge ``changes`` (fields of ``Answer``) into the latest state and append the result; it is on disk when this returns."""
        reviewer = clean_name(reviewer)
        if unknown := sorted(changes.keys() - set(_FIELDS)):
            raise InputError(f"an answer has no {unknown[0]!r}", field=unknown[0], remedy=f"Fields: {', '.join(_FIELDS)}")
        with self._writing() as connection:
            before = self._state(connection, reviewer, pair_id, shown_sha256)
            after = replace(before, **changes, answered_at=_now())
            if after != before:
                values = (reviewer, pair_id, shown_sha256, *(getattr(after, name) for name in _FIELDS), after.answered_at)
                connection.execute(f"INSERT INTO changes ({_STATE}) VALUES ({', '.join('?' * len(values))})", values)
        return after

    def undo(self, reviewer: str) -> str | None:
        """Take back the reviewer's latest change; the pair that it belongs to, or None where nothing is left. Again goes further back."""
        with self._writing() as connection:
            row = connection.execute(
                "SELECT number, pair_id FROM changes WHERE reviewer = ? AND undone_at IS NULL ORDER BY number DESC LIMIT 1", (reviewer,)
            ).fetchone()
            if row is None:
                return None
            connection.execute("UPDATE changes SET undone_at = ? WHERE number = ?", (_now(), row[0]))
        return str(row[1])

    def _state(self, connection: sqlite3.Connection, reviewer: str, pair_id: str, shown_sha256: str) -> Answer:
        where = " AND reviewer = ? AND pair_id = ? AND shown_sha256 = ?"
        row = connection.execute(f"{_LATEST}{where}{_BY_STATE}", (reviewer, pair_id, shown_sha256)).fetchone()
        return Answer(reviewer, pair_id, shown_sha256) if row is None else _answer(row)

    def answer(self, reviewer: str, pair_id: str, shown_sha256: str) -> Answer:
        """The latest state; an empty one where nothing is answered yet."""
        with self._connection() as connection:
            return self._state(connection, reviewer, pair_id, shown_sha256)

    def answers(self, reviewer: str | None = None) -> list[Answer]:
        """The latest states of one reviewer or of all, in order of reviewer and pair."""
        where, values = (" AND reviewer = ?", (reviewer,)) if reviewer is not None else ("", ())
        with self._connection() as connection:
            rows = connection.execute(f"{_LATEST}{where}{_BY_STATE} ORDER BY reviewer, pair_id, shown_sha256", values).fetchall()
        return [_answer(row) for row in rows]

    def frame(self) -> pl.DataFrame:
        """``validity_answers``: the latest states that say anything."""
        return VALIDITY_ANSWERS.rows(
            [
                {**{name: getattr(answer, name) for name in ("reviewer", "pair_id", "shown_sha256", *_FIELDS)}}
                | {"is_complete": answer.is_complete, "answered_at": answer.answered_at}
                for answer in self.answers()
                if answer != Answer(answer.reviewer, answer.pair_id, answer.shown_sha256)
            ]
        )


def identity(path: Path) -> str:
    """What the file holds, for fingerprints: number of changes and of undone ones. No file says the same as one without changes."""
    if not path.exists():
        return "0/0"
    with AnswerLog(path)._connection() as connection:
        return "/".join(str(n) for n in connection.execute("SELECT count(*), count(undone_at) FROM changes").fetchone())


def clean_name(reviewer: str) -> str:
    """The name without blanks around it. Raises ``InputError`` for an empty, very long or unprintable one."""
    name = " ".join(reviewer.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InputError(f"{reviewer!r} is no name", field="reviewer", remedy=f"Give 1 to {LONGEST_NAME} printable characters")
    return name


def _answer(row: tuple[Any, ...]) -> Answer:
    reviewer, pair_id, shown, different, feasible, of_type, apparent_s, never, comment, at = row
    told = [None if value is None else bool(value) for value in (different, feasible, of_type)]
    return Answer(reviewer, pair_id, shown, told[0], told[1], told[2], apparent_s, bool(never), comment, at)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
