"""Half-written files of killed processes. Writers here write `.<name>.<process id>...` and rename it when it is whole."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

ABANDONED_AFTER_S = 3600.0  # a file that is being written changes more often; a process id says nothing on a shared disk
_TEMPORARY = re.compile(r"\..+\.\d+(\.[0-9a-f]{8})?(\.(tmp|part|npy))?")
_WRITTEN_BY_US = (
    "tables",
    "video_features",
    "checkpoints",
    "exports",
    "joined",
    "reports",
    "progress",
    "sample_kitchen",
)


def remove_leftovers(data: Path, now: float | None = None) -> list[Path]:
    """Remove temporary files below the data folder that nobody has written to for an hour; returns them. Other files are left alone."""
    oldest = (time.time() if now is None else now) - ABANDONED_AFTER_S
    removed = []
    for name in _WRITTEN_BY_US:
        for entry in _files(data / name):
            if _TEMPORARY.fullmatch(entry.name):
                try:
                    if entry.stat(follow_symlinks=False).st_mtime < oldest:
                        os.unlink(entry.path)
                        removed.append(Path(entry.path))
                except OSError:  # another process was quicker, or the folder is read-only
                    continue
    return removed


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(Path(entry.path))
                else:
                    yield entry
    except OSError:
        return
