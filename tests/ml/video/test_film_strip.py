import io

import numpy as np
from PIL import Image

from ml.video.film_strip import BOX, FRAMES, GAP, StripRow, film_strip
from tests.ml.video.films import make_film


def test_rows_of_frames_with_their_texts(tmp_path):
    film = make_film(tmp_path / "a.mp4", 50)
    strip = Image.open(
        io.BytesIO(film_strip([StripRow(film, 0.0, 2.0, "Stirs. " * 40), StripRow(tmp_path / "absent.mp4", 0.0, 1.0, "No file")]))
    )
    assert strip.width == FRAMES * (BOX + GAP) + GAP
    pixels = np.asarray(strip.convert("L"))
    assert pixels[GAP : GAP + 60, GAP : GAP + BOX].std() > 10  # a frame
    assert pixels[-20:].min() < 100  # the text of the row without frames
    assert len(film_strip([StripRow(film, 0.0, 2.0, "x")])) < 40_000


def test_nothing_to_show():
    assert film_strip([]) == b""
