"""What a video file really holds, as one row of ``video_probe``. Nothing here raises for bad media: the row says what is wrong.

The header is a claim. The tail is proven by decoding it: from the last key frames to the end of the file.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from av.video.frame import VideoFrame

from ml.errors import InputError
from ml.tables.declarations.recordings import VIDEO_PROBE
from ml.video.reader import VideoReader
from ml.vocabulary import Status

# Seek this far before the claimed end, then decode to the end of the file.
_TAIL_S = 2.0


def probe_video(path: Path | None, recording_id: str) -> pl.DataFrame:
    """One row of ``video_probe`` for a file.

    ``no_video`` where ``path`` is None or does not exist; ``bad_video`` with reason and size where nothing decodes; else ``ok``,
    with ``decodable_s`` = end of the last frame that decodes, and ``warning`` where the header claims another length.
    """
    row: dict[str, object] = {"recording_id": recording_id, "video_path": None if path is None else str(path)}
    if path is None:
        return VIDEO_PROBE.rows([row | {"status": Status.NO_VIDEO, "reason": "no video file is known for this recording"}])
    try:
        size = path.stat().st_size
    except OSError as error:
        return VIDEO_PROBE.rows([row | {"status": Status.NO_VIDEO, "reason": f"video file cannot be read: {error.strerror}"}])
    row["file_bytes"] = size
    try:
        with VideoReader(path) as reader:
            row |= _describe(reader)
            end_s = _decodable_s(reader)
            claims_s = reader.header_claims_s
    except InputError as error:
        return VIDEO_PROBE.rows([row | {"status": Status.BAD_VIDEO, "reason": f"{error.problem} ({size} bytes)"}])
    header_s = min(claims_s, key=lambda claim_s: abs(claim_s - end_s), default=None)
    row |= {"decodable_s": end_s, "header_duration_s": header_s, "warning": _warning(header_s, end_s), "status": Status.OK}
    return VIDEO_PROBE.rows([row])


def _describe(reader: VideoReader) -> dict[str, object]:
    rate = reader.rate
    return {
        "rate_num": rate.numerator if rate else None,
        "rate_den": rate.denominator if rate else None,
        "width": reader.width,
        "height": reader.height,
        "rotation_deg": reader.orientation.quarter_turns * 90,
        "codec": reader.codec,
    }


def _decodable_s(reader: VideoReader) -> float:
    """End of the last frame that decodes, in s from zero.

    Tries the claimed tail first. Where nothing decodes there, or there is no claim, the key packets that can be read are listed
    without decoding and tried from the last one backwards, in doubling steps. Streams without time stamps are decoded whole.
    """
    if not reader.is_timed:
        return _end_s(reader, reader.frames()) or 0.0
    claims_s = reader.header_claims_s
    if claims_s and claims_s[0] > _TAIL_S:
        end_s = _end_s(reader, reader.seek(reader.pts_at(claims_s[0] - _TAIL_S)))
        if end_s is not None and not reader.n_bad_packets:
            return end_s
    keys = reader.key_packets()
    back = 1
    while back <= len(keys):
        end_s = _end_s(reader, reader.seek(keys[-back]))
        if end_s is not None:
            return end_s
        back *= 2
    return _end_s(reader, reader.frames()) or 0.0


def _end_s(reader: VideoReader, frames: Iterator[tuple[int, VideoFrame]]) -> float | None:
    end = None
    for pts, frame in frames:
        end = reader.end_pts(pts, frame)
    return None if end is None else reader.seconds(end)


def _warning(header_s: float | None, end_s: float) -> str | None:
    if header_s is None:
        return "header gives no duration"
    if abs(header_s - end_s) > max(0.5, 0.01 * end_s):
        return f"header claims {header_s:.3f} s, frames decode to {end_s:.3f} s"
    return None
