"""Windows over a recording and their frames, each frame decoded once. What a window means to a model belongs in ``ml.narration``.

Windows are 10 s long and start every 5 s (EGO-CoMist, section 4.2). They stop at the first one that reaches the end of the
recording; that one ends with the recording and is longer than the stride, unless the whole recording is shorter.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ml.errors import InputError
from ml.video.frames import Frame, sample, spaced_times
from ml.video.reader import VideoReader

WINDOW_S = 10.0
STRIDE_S = 5.0


@dataclass(frozen=True)
class Window:
    """[start_s, end_s) on the recording's time line; ``index`` is 0-based over the recording."""

    index: int
    start_s: float
    end_s: float


@dataclass(frozen=True, eq=False)
class WindowFrames:
    """Frames of one window: ``times_s`` are their true presentation times, ascending; ``frames`` uint8 [T, H, W, 3] upright."""

    window: Window
    times_s: tuple[float, ...]
    frames: np.ndarray


def make_windows(duration_s: float, length_s: float = WINDOW_S, stride_s: float = STRIDE_S) -> list[Window]:
    """Windows that cover [0, duration_s] to its end; a recording of any positive length has at least one, of length 0 none."""
    if not 0 < stride_s <= length_s:
        raise InputError(f"stride {stride_s} s must be positive and at most the length {length_s} s", field="stride_s")
    windows: list[Window] = []
    while duration_s > 0 and (not windows or windows[-1].end_s < duration_s):
        start_s = len(windows) * stride_s
        windows.append(Window(len(windows), start_s, min(start_s + length_s, duration_s)))
    return windows


def iter_windows(
    path: Path, windows: Sequence[Window], fps: float, size: tuple[int, int] | None = None, max_frames: int | None = None
) -> Iterator[WindowFrames]:
    """The frames of each window in order of start, from one sequential decode.

    Frames are taken at ``spaced_times``; equal pictures count once, so a window never holds more frames than the file has.
    A window past the end of the file holds 0 frames. Memory holds the sampled pictures of one window at a time.
    Raises ``InputError`` for an unreadable file.
    """
    with VideoReader(path) as reader:
        yield from read_windows(reader, windows, fps, size, max_frames)


def read_windows(
    reader: VideoReader, windows: Sequence[Window], fps: float, size: tuple[int, int] | None = None, max_frames: int | None = None
) -> Iterator[WindowFrames]:
    """``iter_windows`` on an open reader."""
    pending = deque(
        (window, spaced_times(window.start_s, window.end_s, fps, max_frames))
        for window in sorted(windows, key=lambda w: (w.start_s, w.end_s))
    )
    wanted = sorted({t_s for _, times_s in pending for t_s in times_s})
    held: deque[Frame] = deque()
    width, height = size or (reader.width, reader.height)
    empty = np.empty((0, height, width, 3), np.uint8)
    for frame in sample(reader, wanted, size):
        held.append(frame)
        while pending and pending[0][1][-1] <= frame.t_s:
            yield _collect(*pending.popleft(), held, empty)
            while held and pending and held[0].t_s < pending[0][0].start_s:
                held.popleft()
    while pending:
        yield _collect(*pending.popleft(), held, empty)


def _collect(window: Window, times_s: list[float], held: deque[Frame], empty: np.ndarray) -> WindowFrames:
    wanted = set(times_s)
    by_shown = {frame.shown_s: frame.image for frame in held if frame.t_s in wanted}
    frames = np.stack(list(by_shown.values())) if by_shown else empty
    return WindowFrames(window, tuple(by_shown), frames)
