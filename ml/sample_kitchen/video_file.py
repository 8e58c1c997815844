"""Recordings as h264 files. Pictures come from `render`; where files lie is decided in `plan`."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from pathlib import Path

from ml.sample_kitchen.render import iter_frames
from ml.sample_kitchen.script import Recording

VIDEO_SIZE = 128
GOP_S = 2
_OPTIONS = {"preset": "ultrafast", "crf": "28", "threads": "1"}


def write_video(recording: Recording, path: Path, rate: Fraction, size: int = VIDEO_SIZE) -> int:
    """Writes `recording` as an mp4 (h264, yuv420p) at `rate` frames a second and returns the number of frames.

    Frame i is presented at i / rate and shows the kitchen at that time; the last frame reaches the end of the recording. The file
    is written under a temporary name and renamed, so that a file under its own name is whole. Same arguments, same bytes.
    """
    import av

    count = math.ceil(Fraction(recording.duration_s).limit_denominator(1000) * rate)
    times = [float(index / rate) for index in range(count)]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with av.open(str(partial), "w", format="mp4") as container:
            stream = container.add_stream("libx264", rate=rate, options=_OPTIONS)
            stream.width = stream.height = size
            stream.pix_fmt = "yuv420p"
            stream.gop_size = max(1, round(GOP_S * rate))
            stream.time_base = 1 / rate
            for index, picture in enumerate(iter_frames(recording, times, size)):
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                frame.pts = index
                frame.time_base = 1 / rate
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return count
