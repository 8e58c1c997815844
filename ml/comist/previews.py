"""Ten pairs to look at: frames at the start, at the moment when the feedback is due, and after it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from PIL import Image, ImageDraw, ImageFont

from ml.comist.splits import unit_interval
from ml.errors import InputError
from ml.video.frames import sample_frames
from ml.video.jpeg import encode_jpeg, fit_within
from ml.video.reader import VideoReader
from ml.vocabulary import Status

PREVIEWS: Final = 10
BOX: Final = (360, 360)
LEAD_S: Final = 0.3  # a clip's very first picture often still shows the step before
AFTER_S: Final = 2.0
THUMB: Final = 150


@dataclass(frozen=True)
class Preview:
    """A pair with JPEGs of what is shown at ``times_s`` (ascending, on the recording's time line); number ``due`` is the feedback's."""

    pair: dict[str, Any]
    times_s: tuple[float, ...]
    jpegs: tuple[bytes, ...]
    due: int


def choose_previews(pairs: pl.DataFrame, recordings: pl.DataFrame, count: int = PREVIEWS, seed: int = 0) -> pl.DataFrame:
    """``count`` pairs whose video can be shown, as many different (type, direction, source) as there are, drawn by hash."""
    videos = recordings.filter(pl.col("video_status") == Status.OK).select("recording_id", "video_path").drop_nulls()
    shown = pairs.join(videos, on="recording_id", how="inner")
    draw = pl.Series("draw", [unit_interval("preview", seed, pair_id) for pair_id in shown["pair_id"]], dtype=pl.Float64)
    ranked = shown.with_columns(draw).sort("draw", "pair_id")
    turn = pl.int_range(pl.len()).over("mistake_type", "direction", "source").alias("turn")
    return ranked.with_columns(turn).sort("turn", "mistake_type", "direction", "source").head(count).drop("draw", "turn")


def make_previews(chosen: pl.DataFrame) -> list[Preview]:
    """Previews of chosen pairs; one whose video cannot be read, or ends before the feedback, is left out."""
    made = (_preview(row) for row in chosen.iter_rows(named=True))
    return [preview for preview in made if preview is not None]


def _preview(pair: dict[str, Any]) -> Preview | None:
    path = Path(pair["video_path"])
    last = max(pair["clip_start_s"], pair["clip_end_s"] - 0.1)
    before, after = min(pair["clip_start_s"] + LEAD_S, pair["t_s"]), max(pair["t_s"], min(pair["t_s"] + AFTER_S, last))
    times = sorted({before, pair["t_s"], after})
    try:
        with VideoReader(path) as reader:
            size = fit_within((reader.width, reader.height), BOX)
        images = [frame.image for frame in sample_frames(path, times, size)]
    except InputError:
        return None
    due = times.index(pair["t_s"])
    if due >= len(images):
        return None
    return Preview(pair, tuple(times[: len(images)]), tuple(encode_jpeg(image, quality=80) for image in images), due)


def thumbnails(previews: Sequence[Preview], columns: int = 5) -> bytes:
    """One small JPEG with the feedback moment of each preview, numbered from 1; for asset metadata. Empty without previews."""
    if not previews:
        return b""
    rows = -(-len(previews) // columns)
    sheet = Image.new("RGB", (columns * THUMB, rows * THUMB), (255, 255, 255))
    draw = ImageDraw.Draw(sheet)
    for number, preview in enumerate(previews, start=1):
        left, top = (number - 1) % columns * THUMB, (number - 1) // columns * THUMB
        picture = Image.open(io.BytesIO(preview.jpegs[preview.due]))
        picture.thumbnail((THUMB - 4, THUMB - 4))
        sheet.paste(picture, (left + 2, top + 2))
        draw.rectangle((left + 2, top + 2, left + 22, top + 20), fill=(255, 255, 255))
        draw.text((left + 6, top + 4), str(number), (196, 40, 40), ImageFont.load_default(size=13))
    written = io.BytesIO()
    sheet.save(written, format="JPEG", quality=70)
    return written.getvalue()
