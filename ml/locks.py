"""Locks between processes of one machine, kept by the operating system: a killed process holds none."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ml.errors import InputError


@contextmanager
def only_one(path: Path, doing: str, *, waits: bool = False) -> Iterator[None]:
    """Only one process at a time is inside for one ``path``, an empty file that stays. ``doing`` is what it does, in words.

    Where another is inside, this one waits for it, or without ``waits`` raises ``InputError`` that names the other process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            file.seek(0)
            holder = f"process {number}" if (number := file.read(20).strip()) else "another process"
            raise InputError(f"{holder} is {doing} already", file=path.parent, remedy="Wait for it, or end it and run this again") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
