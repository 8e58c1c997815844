"""Why a file is refused, in words that help.

FFmpeg's own log would say it, but turning it on can deadlock the decoding threads of other files.
"""

import threading
from pathlib import Path

import av.logging
from av.container import InputContainer

_DUMP_LOCK = threading.Lock()


def why_unopened(path: Path, error: Exception) -> str:
    """Reason for a file that does not open: empty, an MP4 without its index, else what FFmpeg's error code means."""
    meaning = getattr(error, "strerror", None) or str(error)
    try:
        if path.stat().st_size == 0:
            return "the file is empty"
        boxes = top_level_boxes(path)
    except OSError:
        return meaning
    if b"ftyp" in boxes and b"moov" not in boxes:
        return f"moov atom not found: the file was cut before its index ({meaning})"
    return meaning


def top_level_boxes(path: Path) -> list[bytes]:
    """Types of the top-level boxes (atoms) of an ISO base media file, as far as they can be walked; nonsense for other formats."""
    found = []
    size = path.stat().st_size
    offset = 0
    with path.open("rb") as file:
        while offset + 8 <= size:
            file.seek(offset)
            header = file.read(16)
            length = int.from_bytes(header[:4], "big")
            if length == 1:  # 64-bit length follows the type
                length = int.from_bytes(header[8:16], "big")
            found.append(header[4:8])
            if length < 8:  # 0: to the end of the file; 1..7: not a box
                break
            offset += length
    return found


def undecodable_codec(container: InputContainer) -> str:
    """Codec name of the first video stream from FFmpeg's format dump: PyAV gives no codec object where there is no decoder."""
    with _DUMP_LOCK:
        level = av.logging.get_level()
        av.logging.set_level(av.logging.INFO)
        try:
            dump = container.dumps_format()  # type: ignore[attr-defined]
        finally:
            av.logging.set_level(level)
    _, _, rest = dump.partition("Video: ")
    return rest.split()[0].rstrip(",") if rest else "unknown"
