"""Frames at wanted times, in one sequential decode.

Zero, seeking and orientation belong in ``ml.video.reader``, windows in ``ml.video.windows``.

The frame at time t is the one a player shows then: the last whose presentation time is not after t.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ml.errors import InputError
from ml.video.reader import VideoReader

MIN_FRAMES = 2


@dataclass(frozen=True, eq=False)
class Frame:
    """``t_s`` as asked for, ``shown_s`` the true presentation time, both in s from zero; ``image`` uint8 [H, W, 3] upright."""

    t_s: float
    shown_s: float
    image: np.ndarray


def sample_frames(path: Path, times_s: Sequence[float], size: tuple[int, int] | None = None) -> Iterator[Frame]:
    """One ``Frame`` per time of ``times_s`` (ascending, from 0), resized to ``size`` (width, height) while decoding.

    Times at or after the end of the last frame give nothing, so a short answer means a short file. Each frame is decoded once
    and each wanted picture converted once: equal frames share one array. Raises ``InputError`` for an unreadable file, or for
    times that are negative, not finite or not ascending.
    """
    with VideoReader(path) as reader:
        yield from sample(reader, times_s, size)


def sample(reader: VideoReader, times_s: Sequence[float], size: tuple[int, int] | None = None) -> Iterator[Frame]:
    """``sample_frames`` on an open reader."""
    _check_times(reader.path, times_s)
    if not times_s:
        return
    targets = [reader.pts_at(t_s) for t_s in times_s]
    index = 0
    shown: tuple[int, object] | None = None
    stop = 0
    for pts, frame in reader.frames(times_s[0]):
        if shown is not None and targets[index] < pts:
            image = reader.image(shown[1], size)  # type: ignore[arg-type]
            while index < len(targets) and targets[index] < pts:
                yield Frame(times_s[index], reader.seconds(shown[0]), image)
                index += 1
            if index == len(targets):
                return
        shown, stop = (pts, frame), reader.end_pts(pts, frame)
    if shown is not None and targets[index] < stop:
        image = reader.image(shown[1], size)  # type: ignore[arg-type]
        while index < len(targets) and targets[index] < stop:
            yield Frame(times_s[index], reader.seconds(shown[0]), image)
            index += 1


def clip_frames(
    path: Path, start_s: float, end_s: float, fps: float, size: tuple[int, int] | None = None, max_frames: int | None = None
) -> Iterator[Frame]:
    """Frames of the clip [start_s, end_s) at ``fps``; the first is the picture shown at ``start_s``.

    Seeks to the key frame before and drops what comes earlier.
    Times stay on the recording's time line. Spacing follows ``spaced_times``; a picture that is shown at several of the times
    comes once.
    """
    last = -1.0
    for frame in sample_frames(path, spaced_times(start_s, end_s, fps, max_frames), size):
        if frame.shown_s > last:
            last = frame.shown_s
            yield frame


def spaced_times(start_s: float, end_s: float, fps: float, max_frames: int | None = None) -> list[float]:
    """Times of a clip: ``start_s + k / fps`` before ``end_s``.

    At least two and at most ``max_frames``; where these bounds change the count, the times are spread evenly over the clip.
    """
    if not (math.isfinite(start_s) and math.isfinite(end_s)) or start_s < 0 or end_s <= start_s:
        raise InputError(f"clip {start_s} to {end_s} s is empty or not on the recording's time line", field="start_s, end_s")
    if fps <= 0 or (max_frames is not None and max_frames < 1):
        raise InputError(f"fps {fps} and max_frames {max_frames} must be positive", field="fps, max_frames")
    length_s = end_s - start_s
    count = math.ceil(length_s * fps - 1e-6)
    wanted = max(count, MIN_FRAMES) if max_frames is None else min(max(count, MIN_FRAMES), max_frames)
    if wanted == count:
        return [start_s + k / fps for k in range(count)]
    return [start_s + length_s * k / wanted for k in range(wanted)]


def _check_times(path: Path, times_s: Sequence[float]) -> None:
    previous = 0.0
    for t_s in times_s:
        if not math.isfinite(t_s) or t_s < previous:
            raise InputError(f"time {t_s} s is negative, not finite or before {previous} s", file=path, field="times_s")
        previous = t_s
