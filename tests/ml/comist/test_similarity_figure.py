import io

import polars as pl
from PIL import Image

from ml.comist.selection import SelectionSettings
from ml.comist.similarity_figure import similarity_figure
from ml.tables.declarations.pairs import COMIST_CANDIDATES


def test_it_draws_what_is_there_and_nothing_alike():
    empty = COMIST_CANDIDATES.empty()
    some = pl.DataFrame({"original_similarity": [0.7, 0.99], "duplicate_similarity": [None, 0.4], "benchmark_similarity": [0.2, 0.3]})
    pictures = [similarity_figure(frame, SelectionSettings(near_benchmark=None)) for frame in (empty, some)]
    assert [Image.open(io.BytesIO(picture)).size for picture in pictures] == [(900, 252)] * 2
    assert pictures[0] != pictures[1]
