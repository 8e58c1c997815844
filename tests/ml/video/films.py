"""Small films made by PyAV for the tests of ``ml.video`` and ``ml.narration``. Each picture tells its own number and which way is up."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

WIDTH, HEIGHT = 160, 96
BITS = 10


def picture(number: int, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """Upper half: ``number`` as ten black or white bars, lowest bit left. Lower half: red left, blue right."""
    image = np.zeros((height, width, 3), np.uint8)
    for bit in range(BITS):
        if number >> bit & 1:
            image[: height // 2, width * bit // BITS : width * (bit + 1) // BITS] = 255
    image[height // 2 :, : width // 2] = (200, 0, 0)
    image[height // 2 :, width // 2 :] = (0, 0, 200)
    return image


def number_of(image: np.ndarray) -> int:
    """The number that an upright picture tells, at any size."""
    height, width = image.shape[:2]
    bars = [image[height // 4, round(width * (bit + 0.5) / BITS)].mean() > 128 for bit in range(BITS)]
    return sum(1 << bit for bit, is_set in enumerate(bars) if is_set)


def is_upright(image: np.ndarray) -> bool:
    """Whether red is at the lower left and blue at the lower right."""
    height, width = image.shape[:2]
    left, right = image[height * 3 // 4, width // 4].astype(int), image[height * 3 // 4, width * 3 // 4].astype(int)
    return bool(left[0] > 120 > left[2] and right[2] > 120 > right[0])


def make_film(
    path: Path,
    n_frames: int = 50,
    rate: Fraction | int = 25,
    *,
    codec: str = "libx264",
    start_s: Fraction | int = 0,
    key_interval: int = 250,
    width: int = WIDTH,
    height: int = HEIGHT,
    stored_turns: int = 0,
    rotation: int | None = None,
    tags: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
    codec_options: dict[str, str] | None = None,
    skip_frames: frozenset[int] = frozenset(),
) -> Path:
    """A film whose picture k is shown at ``start_s + k / rate``.

    ``stored_turns`` stores the picture turned that many quarter turns counter-clockwise; ``rotation`` writes a display matrix
    (FFmpeg's sign: -90 turns clockwise for display), ``tags`` stream tags.
    """
    rate = Fraction(rate)
    speed = {"preset": "10"} if "svt" in codec else {"preset": "ultrafast"} if "264" in codec or "265" in codec else {}
    if "265" in codec:
        speed["x265-params"] = "log-level=none"
    with av.open(str(path), "w", options=container_options or {}) as container:
        stream: Any = container.add_stream(codec, rate=rate, options=speed | {"g": str(key_interval)} | (codec_options or {}))
        shape = np.rot90(np.zeros((height, width)), stored_turns).shape
        stream.width, stream.height, stream.pix_fmt = shape[1], shape[0], "yuv420p"
        if rotation is not None:
            stream.set_display_rotation(rotation)
        stream.metadata.update(tags or {})
        for number in range(n_frames):
            if number in skip_frames:
                continue
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(np.rot90(picture(number, width, height), stored_turns)))
            frame.pts, frame.time_base = number + round(start_s * rate), 1 / rate
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def remux(source: Path, target: Path, container_options: dict[str, str] | None = None) -> Path:
    """Copy the video packets into another container without coding them anew."""
    with av.open(str(source)) as old, av.open(str(target), "w", options=container_options or {}) as new:
        stream = old.streams.video[0]
        copy = new.add_stream_from_template(stream)
        for packet in old.demux(stream):
            if packet.dts is not None:
                packet.stream = copy
                new.mux(packet)
    return target


def set_edit_start(path: Path, skip_s: Fraction) -> Path:
    """Change the first edit of an MP4 so that display starts ``skip_s`` into the media, as a phone does when it trims a clip."""
    data = bytearray(path.read_bytes())
    timescale = int.from_bytes(data[(mdhd := data.index(b"mdhd")) + 16 : mdhd + 20], "big")
    media_time = data.index(b"elst") + 16  # version and flags, count, segment duration
    data[media_time : media_time + 4] = (int.from_bytes(data[media_time : media_time + 4], "big") + round(skip_s * timescale)).to_bytes(
        4, "big"
    )
    path.write_bytes(data)
    return path
