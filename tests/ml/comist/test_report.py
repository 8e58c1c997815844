import io

import numpy as np
import polars as pl
from PIL import Image

from ml.comist.report import counts_figure, counts_table, published_table, rejections_table
from ml.comist.selection import SelectionSettings, select
from ml.tables.declarations.pairs import EGO_COMIST
from ml.vocabulary import Direction, MistakeType, Status
from tests.ml.comist.made import candidate, candidates


def selection():
    rows = [candidate(f"s{n}", f"captaincook4d/{n}") for n in range(3)]
    rows += [candidate(f"g{n}", f"captaincook4d/{n}", direction=Direction.GREATER) for n in range(2)]
    technique = {"mistake_type": MistakeType.TECHNIQUE, "direction": Direction.ALTERNATIVE, "original_similarity": 0.6}
    rows += [candidate(f"t{n}", f"sample_kitchen/{n}", **technique) for n in range(4)]
    rows += [candidate("n", "captaincook4d/9", status=Status.NO_VIDEO, reason="no video")]
    return select(candidates(*rows), SelectionSettings())


def test_counts_by_source_type_and_direction_beside_the_published_ones():
    kept = selection().ego_comist
    assert counts_table(kept).rows() == [
        ("captaincook4d", "measurement", "greater", 2),
        ("captaincook4d", "measurement", "smaller", 2),
        ("sample_kitchen", "technique", "alternative", 4),
    ]
    assert published_table(kept).rows() == [
        ("captaincook4d", 4, 4969),
        ("ego4d_goalstep", 0, 13847),
        ("egoexo4d", 0, 6271),
        ("sample_kitchen", 4, None),
        ("all", 8, 25087),
    ]
    named = published_table(kept.with_columns(pl.lit("cc").alias("source")), {"cc": "captaincook4d"})
    assert named.rows() == [("cc", 8, 4969), ("ego4d_goalstep", 0, 13847), ("egoexo4d", 0, 6271), ("all", 8, 25087)]


def test_rejections_tell_what_became_of_every_candidate():
    chosen = selection()
    table = rejections_table(chosen.candidates.drop("rejection"), chosen.rejected)
    assert table.rows() == [("kept", "ok", 8), ("not_ok", "no_video", 1), ("unbalanced", "ok", 1)]
    assert sum(table["pairs"]) == chosen.candidates.height


def test_the_figure_is_a_png_that_changes_with_the_counts():
    kept = selection().ego_comist
    pictures = [counts_figure(frame) for frame in (kept, kept.head(2), EGO_COMIST.empty())]
    pixels = [np.asarray(Image.open(io.BytesIO(png)).convert("L")) for png in pictures]
    assert pixels[0].shape == (360, 1000)
    assert all((one != other).any() for one, other in ((pixels[0], pixels[1]), (pixels[1], pixels[2])))
    assert kept.filter(pl.col("split").is_null()).height == 0
