import io

import polars as pl
import pytest
from PIL import Image

from ml.comist.previews import choose_previews, make_previews, thumbnails
from ml.comist.report_page import ReportInputs, errors_table, write_report
from ml.comist.selection import SelectionSettings, select
from ml.counterfactuals.registry import DIRECTIONS
from ml.llm.spending import spent
from ml.tables.declarations.pairs import EGO_COMIST, VALIDITY_REVIEW
from ml.vocabulary import MistakeType, Status
from tests.ml.comist.made import candidate, candidates, recording, recordings
from tests.ml.video.films import make_film, number_of


@pytest.fixture
def known(tmp_path):
    film = make_film(tmp_path / "film.mp4", 250)  # picture k at k / 25 s
    return recordings(recording("cook/1", video_path=str(film)), recording("cook/2", video_path=str(tmp_path / "gone.mp4")))


def chosen():
    clip = {"clip_start_s": 2.0, "clip_end_s": 8.0, "t_s": 4.0}
    rows = [
        candidate(f"{kind}{way}{n}", "cook/1", step_uid=f"{n}#0", mistake_type=kind, direction=way, original_similarity=0.5, **clip)
        for n in range(3)
        for kind in MistakeType
        for way in DIRECTIONS[kind]
    ]
    rows[0] |= {"instruction": "Add <b>3</b> cups"}
    rows.append(candidate("lost", "cook/2", status=Status.NO_VIDEO, reason="no video", check_feasible=False))
    return select(candidates(*rows), SelectionSettings(near_duplicate=None))


def test_previews_are_of_many_kinds_and_show_the_moment_of_the_feedback(known):
    kept = chosen().ego_comist
    ten = choose_previews(kept, known)
    assert ten.height == 10
    assert ten.select("mistake_type", "direction").unique().height == sum(len(ways) for ways in DIRECTIONS.values())
    previews = make_previews(ten)
    assert len(previews) == 10
    first = previews[0]
    shown = [number_of(pl_image(jpeg)) for jpeg in first.jpegs]
    assert shown == [57, 100, 150]  # 2.3 s, 4 s, 6 s
    assert first.times_s[first.due] == 4.0
    sheet = Image.open(io.BytesIO(thumbnails(previews)))
    assert sheet.size == (750, 300)
    assert len(thumbnails(previews)) < 60_000
    assert make_previews(ten.with_columns(pl.lit(12.0).alias("t_s"))) == []  # the film is 10 s long
    assert thumbnails([]) == b""


def pl_image(jpeg):
    import numpy as np

    return np.asarray(Image.open(io.BytesIO(jpeg)))


def test_the_page_holds_counts_reasons_costs_errors_and_pictures(tmp_path, known):
    selection = chosen()
    inputs = ReportInputs(
        candidates=selection.candidates.drop("rejection"),
        rejected=selection.rejected,
        ego_comist=selection.ego_comist,
        review=VALIDITY_REVIEW.rows(
            [{"measure": "valid_share", "question": "valid", "group": "all", "value": 0.9, "n": 20, "low": 0.7, "high": 0.97}]
        ),
        spent=pl.DataFrame({"stage": ["attributes"], "model": ["m"], "replies": [12_345], "money_usd": [1.25]}),
        truth_errors=[0.0, 3.0],
        previews=make_previews(choose_previews(selection.ego_comist, known)),
    )
    page = write_report(tmp_path / "reports" / "r.html", inputs).read_text()
    for shown in (
        "13,847",
        "25,087",
        "no_video",
        "12,345",
        "$1.25",
        "90.0 %",
        "87.1 %",
        "65.0 %",
        "50.0 %",
        "Add &lt;b&gt;3&lt;/b&gt; cups",
    ):
        assert shown in page, shown
    assert page.count("data:image/jpeg") == 30
    assert 'src="http' not in page
    table = errors_table(inputs)
    assert table["against people"].null_count() == table.height
    assert table["published study"].sum() == pytest.approx(1.0)


def test_an_empty_set_has_a_page_too(tmp_path):
    none = ReportInputs(
        candidates().clear(), select(candidates().clear()).rejected, EGO_COMIST.empty(), VALIDITY_REVIEW.empty(), spent(tmp_path / "none")
    )
    page = write_report(tmp_path / "r.html", none).read_text()
    assert "No model call was paid for" in page
    assert "Nobody has answered yet" in page
