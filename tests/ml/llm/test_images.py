"""Pictures within limits: rows 65 and 66."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ml.errors import InputError
from ml.llm.images import ANTHROPIC_LIMITS, ImageLimits, media_type, prepare, size, split


def encoded(width: int, height: int, kind: str, noise: bool = False) -> bytes:
    picture = Image.new("RGB", (width, height), "green")
    if noise:
        picture = Image.fromarray(np.random.default_rng(1).integers(0, 255, (height, width, 3), dtype=np.uint8))
    written = io.BytesIO()
    picture.save(written, kind)
    return written.getvalue()


@pytest.mark.parametrize(("kind", "expected"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")])
def test_row_66_the_type_comes_from_the_bytes(kind: str, expected: str):
    data = encoded(8, 6, kind)
    assert media_type(data) == expected
    (picture,) = prepare([data], ANTHROPIC_LIMITS)
    assert (picture.data, picture.media_type, picture.width, picture.height) == (data, expected, 8, 6)


def test_types_that_no_provider_takes_are_written_anew():
    (picture,) = prepare([encoded(8, 6, "BMP")], ANTHROPIC_LIMITS)
    assert media_type(picture.data) == picture.media_type == "image/jpeg"


def test_row_65_more_than_twenty_4k_frames_come_out_within_2000_px():
    pictures = prepare([encoded(3840, 2160, "JPEG")] * 21, ANTHROPIC_LIMITS)
    assert len(pictures) == 21
    assert all(max(size(picture.data)) <= 2000 for picture in pictures)
    assert pictures[0].width / pictures[0].height == pytest.approx(3840 / 2160, rel=0.01)


def test_row_65_too_many_pictures_are_split_before_sending():
    frames = [encoded(4, 4, "PNG")] * 101
    with pytest.raises(InputError, match="101 pictures"):
        prepare(frames, ANTHROPIC_LIMITS)
    assert [len(group) for group in split(frames, ANTHROPIC_LIMITS)] == [50, 51]


def test_row_65_too_many_bytes_in_total_are_made_fewer():
    limits = ImageLimits(max_bytes=100_000, max_total_bytes=150_000)
    pictures = prepare([encoded(400, 300, "PNG", noise=True)] * 5, limits)
    assert sum(len(picture.data) for picture in pictures) <= 150_000
    assert all(media_type(picture.data) == "image/jpeg" for picture in pictures)


def test_bytes_that_are_no_picture_are_named():
    with pytest.raises(InputError, match="no readable picture"):
        prepare([b"\x89PNG\r\n\x1a\n broken"], ANTHROPIC_LIMITS)
    with pytest.raises(InputError, match="no readable picture"):
        prepare([b"hello"], ANTHROPIC_LIMITS)


@given(st.integers(0, 500), st.integers(1, 100))
def test_split_keeps_all_in_order_and_evenly(count: int, most: int):
    frames = [bytes([place % 256, place // 256]) for place in range(count)]
    groups = split(frames, ImageLimits(max_count=most))
    assert [frame for group in groups for frame in group] == frames
    assert all(0 < len(group) <= most for group in groups)
    assert not groups or max(map(len, groups)) - min(map(len, groups)) <= 1
