"""Frames of benchmark videos for assistants: streams in time order, and single clips. Which frames a question shows is the assistant's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ml.benchmarks.assistants.interface import Frames, FramesProvider, LookAheadError, Times
from ml.errors import InputError
from ml.video.frames import sample
from ml.video.jpeg import encode_jpeg, fit_within
from ml.video.reader import VideoReader

DEFAULT_BOX = (448, 448)


@dataclass(frozen=True)
class FrameSettings:
    """``fps`` frames a second, each fitted into ``box`` (width, height) in its shape."""

    fps: float = 2.0
    box: tuple[int, int] = DEFAULT_BOX


def video_frames(video_paths: Mapping[str, str | None], settings: FrameSettings) -> FramesProvider:
    """Frames of recordings at ``start + k / fps``, one a chunk, from the start on; ``video_paths`` by recording id.

    A frame shows what a player shows then, never a later picture. Raises ``InputError`` for a recording without a readable video.
    """

    def provide(recording_id: str, start_s: float, end_s: float) -> Iterable[tuple[Frames, Times]]:
        path = video_paths.get(recording_id)
        if path is None:
            raise InputError("the recording has no video", record=recording_id, field="video_path", remedy="Name `videos` in the source")
        count = int((end_s - start_s) * settings.fps + 1e-6) + 1
        with VideoReader(Path(path)) as reader:
            size = fit_within((reader.width, reader.height), settings.box)
            for frame in sample(reader, [start_s + index / settings.fps for index in range(count)], size):
                yield frame.image[None], np.array([frame.t_s])

    return provide


def clip_images(path: str | None, start_s: float, end_s: float, times_s: Sequence[float], box: tuple[int, int]) -> tuple[bytes, ...]:
    """JPEGs of a clip at ``times_s`` (ascending). Raises ``LookAheadError`` for a time outside the clip, ``InputError`` without a picture.

    A time past the last frame shows the last frame.
    """
    if path is None:
        raise InputError("the clip has no video", field="video_path", remedy="Name `videos` in the source")
    outside = [t_s for t_s in times_s if not start_s - 1e-6 <= t_s <= end_s + 1e-6]
    if outside:
        raise LookAheadError(f"{path}: a frame at {outside[0]:.3f} s of a clip from {start_s:.3f} to {end_s:.3f} s")
    with VideoReader(Path(path)) as reader:
        size = fit_within((reader.width, reader.height), box)
        images = [encode_jpeg(frame.image) for frame in sample(reader, times_s, size)]
    if not images:
        raise InputError(f"the video ends before the clip's first frame at {times_s[0]:.3f} s", file=path, field="start_s")
    return tuple(images + images[-1:] * (len(times_s) - len(images)))


def video_end_s(path: str) -> float:
    """Time of the end of the last frame, from the container; for a clip that reaches to the end."""
    from ml.video.probe import probe_video

    end_s = probe_video(Path(path), "clip")["decodable_s"][0]
    if end_s is None:
        raise InputError("the video cannot be decoded", file=path)
    return float(end_s)
