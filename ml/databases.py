"""What a broken SQLite file means to a user. Opening, tables and statements belong to those who keep the files."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ml.errors import InputError


@contextmanager
def whole_database(path: Path, kind: str, remedy: str) -> Iterator[None]:
    """Turns SQLite's word that ``path`` is no database, or a broken one, into ``InputError``. A full or locked one stays what it is."""
    try:
        yield
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise InputError(f"no usable {kind} ({error})", file=path, remedy=remedy) from error
