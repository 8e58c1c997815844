"""A clip as a small file that browsers play: H.264 in MP4, upright, no sound, index first. What is done with it belongs to the callers."""

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
from av.container import OutputContainer
from av.video.frame import VideoFrame

from ml.errors import InputError
from ml.video.jpeg import fit_within
from ml.video.reader import VideoReader

_OPTIONS = {"preset": "veryfast", "crf": "24", "threads": "1"}
_KEY_FRAME_S = 0.5  # a seek on a time line lands at once
_TIME_BASE = Fraction(1, 90_000)


def cut_clip(path: Path, start_s: float, end_s: float, out: Path, *, box: tuple[int, int] = (640, 640)) -> float:
    """Write what is shown in [start_s, end_s) to ``out`` and return the length in s; 0.0 s of it is ``start_s``.

    Fitted into ``box`` with its shape kept and sides even, as players want them; never enlarged. Frames keep their times, so a
    variable rate stays one. The file is put in place in one rename. Raises ``InputError`` for an unreadable video, and where it shows
    nothing in that time.
    """
    if not 0 <= start_s < end_s:
        raise InputError(f"{start_s} to {end_s} s is no clip", file=path, field="start_s, end_s")
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with VideoReader(path) as reader, av.open(str(partial), "w", format="mp4", options={"movflags": "+faststart"}) as container:
            length_s = _encode(reader, container, start_s, end_s, box)
        os.replace(partial, out)
    finally:
        partial.unlink(missing_ok=True)
    return length_s


def _encode(reader: VideoReader, container: OutputContainer, start_s: float, end_s: float, box: tuple[int, int]) -> float:
    width, height = (max(2, side - side % 2) for side in fit_within((reader.width, reader.height), box))
    rate = reader.rate or Fraction(30)
    stream = container.add_stream("libx264", rate=rate, options=_OPTIONS)
    stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
    stream.codec_context.time_base = _TIME_BASE
    stream.gop_size = max(1, round(_KEY_FRAME_S * rate))
    first, last = reader.pts_at(start_s), reader.pts_at(end_s)
    end_pts = first
    for pts, stop, picture in _spans(reader, start_s):
        if pts >= last:
            break
        if stop <= first:
            continue
        frame = av.VideoFrame.from_ndarray(reader.image(picture, (width, height)), format="rgb24")
        frame.pts = round((max(pts, first) - first) * reader.time_base / _TIME_BASE)
        frame.time_base = _TIME_BASE
        container.mux(stream.encode(frame))
        end_pts = min(stop, last)
    if end_pts == first:
        raise InputError(f"the video shows nothing from {start_s:g} to {end_s:g} s", file=reader.path)
    container.mux(stream.encode(None))
    return float((end_pts - first) * reader.time_base)


def _spans(reader: VideoReader, from_s: float) -> Iterator[tuple[int, int, VideoFrame]]:
    """Each picture from the key frame before ``from_s`` on, with the time stamps at which it is shown and at which it stops."""
    held: tuple[int, VideoFrame] | None = None
    for pts, picture in reader.frames(from_s):
        if held is not None:
            yield held[0], pts, held[1]
        held = (pts, picture)
    if held is not None:
        yield held[0], reader.end_pts(*held), held[1]
