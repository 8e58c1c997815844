"""Frames as JPEG for requests to vision models. Limits on count and bytes per provider belong to ``ml.llm.images``."""

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

MAX_SIDE = 2000  # the strictest published limit: more than 20 images in a request must each be at most 2000 px a side


def fit_within(size: tuple[int, int], box: tuple[int, int]) -> tuple[int, int]:
    """Largest (width, height) with the shape of ``size`` that fits into ``box`` in either orientation; never larger than ``size``.

    ``box`` is turned to the picture: a portrait picture may be as high as the box is wide. Sides are at least 1 px.
    """
    width, height = size
    long, short = max(box), min(box)
    room = (long, short) if width >= height else (short, long)
    scale = min(1.0, room[0] / width, room[1] / height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def encode_jpeg(image: np.ndarray, *, max_side: int = MAX_SIDE, quality: int = 85) -> bytes:
    """JPEG of a uint8 [H, W, 3] RGB picture, no side longer than ``max_side`` px."""
    picture = Image.fromarray(image)
    if max(picture.size) > max_side:
        picture = picture.resize(fit_within(picture.size, (max_side, max_side)), Image.Resampling.BOX, reducing_gap=None)
    written = io.BytesIO()
    picture.save(written, format="JPEG", quality=quality)
    return written.getvalue()


def encode_jpegs(frames: np.ndarray | Sequence[np.ndarray], *, max_side: int = MAX_SIDE, quality: int = 85) -> tuple[bytes, ...]:
    """``encode_jpeg`` for each of [T, H, W, 3] frames, in order."""
    return tuple(encode_jpeg(frame, max_side=max_side, quality=quality) for frame in frames)
