"""Rows of frames with a line of text below each, as one small JPEG for people to look at. No stage uses it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ml.errors import InputError
from ml.video.frames import sample_frames

FRAMES = 6
BOX = 96
GAP, LINE = 3, 18
INK, PAPER = (34, 36, 42), (255, 255, 255)


@dataclass(frozen=True)
class StripRow:
    """``FRAMES`` evenly spaced frames of a video from ``start_s`` to ``end_s``, above ``text``."""

    path: Path
    start_s: float
    end_s: float
    text: str


def film_strip(rows: Sequence[StripRow]) -> bytes:
    """The rows below each other; a video that cannot be read leaves its row without frames. Empty bytes without rows."""
    if not rows:
        return b""
    shown = [_frames(row) for row in rows]
    heights = [max((picture.height for picture in pictures), default=0) for pictures in shown]
    sheet = Image.new("RGB", (FRAMES * (BOX + GAP) + GAP, sum(heights) + len(rows) * (LINE + 2 * GAP)), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=12)
    top = GAP
    for row, pictures, height in zip(rows, shown, heights, strict=True):
        for column, picture in enumerate(pictures):
            sheet.paste(picture, (GAP + column * (BOX + GAP), top))
        draw.text((GAP + 1, top + height + 1), _cut(row.text, sheet.width - 2 * GAP, draw, font), INK, font)
        top += height + LINE + 2 * GAP
    written = io.BytesIO()
    sheet.save(written, format="JPEG", quality=65)
    return written.getvalue()


def _frames(row: StripRow) -> list[Image.Image]:
    times_s = [float(t) for t in np.linspace(row.start_s, row.end_s, FRAMES, endpoint=False)]
    try:
        pictures = [Image.fromarray(frame.image) for frame in sample_frames(row.path, times_s)]
    except InputError:
        return []
    for picture in pictures:
        picture.thumbnail((BOX, BOX))
    return pictures


def _cut(text: str, width: int, draw: ImageDraw.ImageDraw, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    if draw.textlength(text, font) <= width:
        return text
    while text and draw.textlength(f"{text} ...", font) > width:
        text = text[:-1]
    return f"{text.rstrip()} ..."
