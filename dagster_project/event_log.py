"""Dagster's SQLite event log at the speed of its disk. What is logged, and where, is Dagster's business.

Dagster opens and closes a connection for every event. Closing the last one of a database in WAL mode writes the log back and waits for
the disk, and so does every commit: 85 % of what a partition costs (29 of 42 ms measured). One connection that stays open and SQLite's
own advice for WAL (``synchronous = NORMAL``: safe against a killed process, at a power cut the last events may be lost) avoid both.
"""

import os
import sqlite3
from collections import OrderedDict
from pathlib import Path

KEPT_DATABASES = 8  # index, schedules, runs, and the events of the runs going on
_kept: OrderedDict[tuple[int, str], sqlite3.Connection] = OrderedDict()


def quicken_event_log() -> None:
    """From now on, every SQLite database below ``DAGSTER_HOME`` that this process opens through SQLAlchemy is kept open. Idempotent."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    if not event.contains(Engine, "connect", _on_connect):
        event.listen(Engine, "connect", _on_connect)


def _on_connect(connection: object, _record: object) -> None:
    if not isinstance(connection, sqlite3.Connection):
        return
    path = str(next((row[2] for row in connection.execute("PRAGMA database_list") if row[1] == "main"), ""))
    home = os.environ.get("DAGSTER_HOME")
    if not path or not home or not Path(path).is_relative_to(Path(home).resolve()):
        return
    connection.execute("PRAGMA synchronous = NORMAL")
    _keep(path)


def _keep(path: str) -> None:
    key = (os.getpid(), path)  # a forked child must not use its parent's connection
    if key not in _kept:
        _kept[key] = sqlite3.connect(path, check_same_thread=False)
    _kept.move_to_end(key)
    # A connection counts as open once it has read in the present journal mode, and Dagster changes the mode of a new database.
    _kept[key].execute("PRAGMA schema_version").fetchone()
    while len(_kept) > KEPT_DATABASES:
        (owner, _), oldest = _kept.popitem(last=False)
        if owner == os.getpid():
            oldest.close()
