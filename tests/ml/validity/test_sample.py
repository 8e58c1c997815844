import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.validity.sample import STRATA, allot, draw_sample
from tests.ml.comist.made import recording, recordings
from tests.ml.validity.made import many_pairs, pair, pairs


def test_every_stratum_has_its_share_and_the_draw_repeats():
    frame, known = many_pairs(900)
    shown = frame.filter(pl.col("recording_id") != "cook/4")
    drawn = draw_sample(frame, known, 120)
    assert drawn.height == 120
    assert drawn["pair_id"].n_unique() == 120
    assert drawn["position"].to_list() == list(range(120))
    assert "cook/4" not in set(drawn["recording_id"])  # no video to show
    sizes = shown.group_by(*STRATA).len("size")
    got = drawn.group_by(*STRATA).agg(pl.len().alias("n"), pl.col("weight").sum().alias("stands_for")).join(sizes, on=STRATA, how="right")
    assert got["n"].min() >= 1
    assert ((got["n"] - got["size"] * 120 / shown.height).abs() < 1).all()
    assert got["stands_for"].to_list() == pytest.approx(got["size"].to_list())
    assert draw_sample(frame.sample(fraction=1.0, shuffle=True, seed=1), known, 120).equals(drawn)
    assert set(draw_sample(frame, known, 120, seed=1)["pair_id"]) != set(drawn["pair_id"])


def test_further_pairs_leave_most_of_the_sample_where_it_was():
    frame, known = many_pairs(900)
    before, after = (set(draw_sample(part, known, 100)["pair_id"]) for part in (frame.head(850), frame))
    assert len(before & after) >= 88


def test_a_small_set_is_drawn_whole_and_an_empty_one_is_empty():
    frame, known = many_pairs(20)
    assert draw_sample(frame, known, 500).height == frame.filter(pl.col("recording_id") != "cook/4").height
    assert draw_sample(frame.clear(), known, 500).height == 0
    with pytest.raises(InputError, match="at least 1"):
        draw_sample(frame, known, 0)


def test_an_answer_is_tied_to_what_was_shown_but_not_to_the_inferred_time():
    known = recordings(recording("cook/1"))

    def shown(**changes: object) -> str:
        return draw_sample(pairs(pair("a", **changes)), known)["shown_sha256"][0]

    assert shown() == shown(t_s=4.0)
    assert len({shown(), shown(feedback="No."), shown(clip_end_s=6.0), shown(counterfactual_instruction="Add 1 cup of rice")}) == 4


@settings(deadline=None)
@given(sizes=st.lists(st.integers(1, 400), min_size=1, max_size=12), total=st.integers(1, 600))
def test_places_add_up_and_never_exceed_a_stratum(sizes, total):
    places = allot(sizes, total)
    assert sum(places) == min(total, sum(sizes))
    assert all(0 <= place <= size for place, size in zip(places, sizes, strict=True))
    if total >= len(sizes):
        assert min(places) >= 1
