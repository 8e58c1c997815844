import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ml.video.jpeg import encode_jpeg, encode_jpegs, fit_within
from tests.ml.video.films import number_of, picture

SIDES = st.integers(1, 5000)


def read(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as opened:
        assert opened.format == "JPEG"
        return np.asarray(opened)


def test_small_frames_keep_their_size_and_content():
    assert number_of(read(encode_jpeg(picture(345)))) == 345
    assert [number_of(read(data)) for data in encode_jpegs(np.stack([picture(k) for k in (1, 2, 3)]))] == [1, 2, 3]


def test_no_side_over_2000_pixels():
    assert read(encode_jpeg(picture(77, 3840, 2160))).shape == (1125, 2000, 3)
    tall = read(encode_jpeg(picture(77, 1080, 2400)))
    assert tall.shape == (2000, 900, 3)
    assert number_of(tall) == 77


@given(size=st.tuples(SIDES, SIDES), box=st.tuples(SIDES, SIDES))
def test_fit_within_keeps_shape_and_stays_inside(size, box):
    width, height = fit_within(size, box)
    assert 1 <= width <= size[0]
    assert 1 <= height <= size[1]
    assert max(width, height) <= max(box)
    assert min(width, height) <= max(1, min(box))
    assert abs(width * size[1] - height * size[0]) <= max(size)
