"""Several video files as one: a playlist that the video reader opens like a file, on one time line. Nothing is re-encoded or copied."""

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from ml.errors import InputError


def join_videos(files: Sequence[Path], lengths_s: Sequence[float], folder: Path) -> Path:
    """An ``.ffconcat`` playlist of ``files`` in order, in a folder of its own below ``folder``; the same files give the same path.

    The reader's offsets come from ``lengths_s`` (seconds, one per file), without which it cannot seek. Playlists refuse absolute paths and
    unusual characters, so the files are named through links. Raises ``InputError`` for a file that is not there.
    """
    if len(files) != len(lengths_s) or not files:
        raise ValueError(f"{len(files)} files and {len(lengths_s)} lengths")
    for path in files:
        if not path.is_file():
            raise InputError("there is no such file", file=path)
    resolved = [path.resolve() for path in files]
    told = b"\x00".join(os.fsencode(path) + f":{length_s!r}".encode() for path, length_s in zip(resolved, lengths_s, strict=True))
    target = folder / sha256(told).hexdigest()[:16]
    target.mkdir(parents=True, exist_ok=True)
    lines = ["ffconcat version 1.0"]
    for number, (path, length_s) in enumerate(zip(resolved, lengths_s, strict=True)):
        link = target / f"{number:04d}{path.suffix.lower()}"
        if not (link.is_symlink() and link.resolve() == path):
            link.unlink(missing_ok=True)
            link.symlink_to(path)
        lines += [f"file {link.name}", f"duration {length_s!r}"]
    playlist = target / "joined.ffconcat"
    temporary = target / f".{playlist.name}.{os.getpid()}.tmp"
    temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    temporary.replace(playlist)
    return playlist
