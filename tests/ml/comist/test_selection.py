import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.comist.selection import Rejection, SelectionSettings, select
from ml.comist.splits import SplitSettings, SplitUnit
from ml.counterfactuals.registry import DIRECTIONS
from ml.errors import InputError
from ml.vocabulary import Direction, MistakeType, Status
from tests.ml.comist.made import candidate, candidates

LOOSE = SelectionSettings(balance=False, near_duplicate=None, near_benchmark=None)


def reasons(selection):
    return dict(selection.candidates.filter(pl.col("rejection").is_not_null()).select("pair_id", "rejection").iter_rows())


def test_filters_come_in_the_stated_order_with_one_reason_each():
    alternative = {"mistake_type": MistakeType.TECHNIQUE, "direction": Direction.ALTERNATIVE}
    frame = candidates(
        candidate("a", "s/1", status=Status.NEVER_APPARENT, reason="None", differs=False),
        candidate("b", "s/2", differs=False, benchmark_similarity=1.0),
        candidate("c", "s/3", original_similarity=0.995, **alternative),
        candidate("d", "s/4", benchmark_step="Add 2 cups of rice", benchmark_similarity=0.995),
        candidate("e", "s/5", step_uid="1#0"),
        candidate("f", "s/5", step_uid="1#0", duplicate_of="e", duplicate_similarity=0.99),
        candidate("g", "s/6", original_similarity=0.995),
    )
    got = select(frame, SelectionSettings(balance=False))
    assert reasons(got) == {
        "a": Rejection.NOT_OK,
        "b": Rejection.NOT_DIFFERENT,
        "c": Rejection.TOO_CLOSE,
        "d": Rejection.NEAR_BENCHMARK,
        "f": Rejection.NEAR_DUPLICATE,
    }
    assert got.rejections == {"near_benchmark": 1, "near_duplicate": 1, "not_different": 1, "not_ok": 1, "too_close": 1}
    assert sorted(got.ego_comist["pair_id"]) == ["e", "g"]
    assert got.candidates.height == frame.height


def test_an_equal_text_never_becomes_a_mistake():
    frame = candidates(candidate("a", "s/1", counterfactual_instruction="Add 3 cups of rice", differs=False, original_similarity=1.0))
    assert select(frame, LOOSE).rejections == {"not_different": 1}


def test_the_same_text_on_many_videos_is_kept_up_to_the_cap():
    rows = [candidate("p00", "s/00")] + [
        candidate(f"p{n:02}", f"s/{n:02}", duplicate_of="p00", duplicate_similarity=1.0) for n in range(1, 12)
    ]
    got = select(candidates(*rows), SelectionSettings(balance=False, copies_per_text=8))
    assert got.rejections == {"too_many_copies": 4}
    assert select(candidates(*rows), SelectionSettings(balance=False, copies_per_text=None)).rejections == {}


def test_sources_of_few_texts_may_repeat_others_and_a_benchmark_and_take_no_place_from_them():
    near = {"benchmark_step": "Add 2 cups of rice", "benchmark_similarity": 1.0}
    again = {"duplicate_of": "a0", "duplicate_similarity": 1.0}
    rows = [candidate("a0", "few/0", source="few", **near)]
    rows += [candidate(f"a{n}", f"few/{n}", source="few", **near, **again) for n in range(1, 4)]
    rows += [candidate(f"b{n}", f"s/{n}", **again) for n in range(3)] + [candidate("c", "s/9", **near)]
    settings = SelectionSettings(balance=False, copies_per_text=2, few_texts=frozenset({"few"}))
    assert reasons(select(candidates(*rows), settings)) == {"b2": Rejection.TOO_MANY_COPIES, "c": Rejection.NEAR_BENCHMARK}


def test_copies_are_counted_along_chains_and_rejected_pairs_take_no_place():
    rows = [
        candidate("p0", "s/0", status=Status.NO_VIDEO, reason="no video"),
        candidate("p1", "s/1", duplicate_of="p0", duplicate_similarity=0.99),
        candidate("p2", "s/2", duplicate_of="p1", duplicate_similarity=0.98),
        candidate("p3", "s/3", duplicate_of="p2", duplicate_similarity=0.98),
    ]
    got = select(candidates(*rows), SelectionSettings(balance=False, copies_per_text=2))
    assert reasons(got) == {"p0": Rejection.NOT_OK, "p3": Rejection.TOO_MANY_COPIES}


def test_a_duplicate_on_the_same_clip_stays_where_its_model_was_rejected():
    rows = [
        candidate("a", "s/1", t_s=None, status=Status.OFF_LIST, reason="14 s"),
        candidate("b", "s/1", duplicate_of="a", duplicate_similarity=1.0),
        candidate("c", "s/1", duplicate_of="b", duplicate_similarity=1.0),
        candidate("d", "s/1", step_uid="9#0", clip_start_s=11.0, clip_end_s=41.0, duplicate_of="c", duplicate_similarity=1.0),
        candidate("e", "s/1", step_uid="9#1", clip_start_s=100.0, clip_end_s=130.0, duplicate_of="c", duplicate_similarity=1.0),
    ]
    got = select(candidates(*rows), SelectionSettings(balance=False))
    assert reasons(got) == {"a": Rejection.NOT_OK, "c": Rejection.NEAR_DUPLICATE, "d": Rejection.NEAR_DUPLICATE}


def test_a_repeat_of_a_kept_pair_goes_also_where_both_point_to_a_rejected_one():
    rows = [
        candidate("a", "s/1", t_s=None, status=Status.OFF_LIST, reason="14 s"),
        candidate("b", "s/1", duplicate_of="a", duplicate_similarity=0.99),
        candidate("c", "s/1", duplicate_of="a", duplicate_similarity=0.99),
        candidate("d", "s/2", duplicate_of="a", duplicate_similarity=0.99),
    ]
    got = select(candidates(*rows), SelectionSettings(balance=False))
    assert reasons(got) == {"a": Rejection.NOT_OK, "c": Rejection.NEAR_DUPLICATE}


def test_leaks_and_verdicts_of_the_check_and_of_people():
    frame = candidates(
        candidate("a", "s/1", benchmark_leak=True),
        candidate("b", "s/2"),
        candidate("c", "s/3", check_different=True, check_feasible=False, check_of_type=False),
        candidate("d", "s/4", check_different=False),
        candidate("e", "s/5", check_different=True, check_of_type=False),
        candidate("f", "s/6", check_different=True, check_feasible=None, check_of_type=True),
    )
    got = select(frame, LOOSE, refused=["b", "a"])
    assert reasons(got) == {
        "a": Rejection.BENCHMARK_LEAK,
        "b": Rejection.REFUSED_BY_PEOPLE,
        "c": Rejection.NOT_FEASIBLE,
        "d": Rejection.NOT_DIFFERENT,
        "e": Rejection.OTHER_TYPE,
    }
    assert got.rejected.select("pair_id", "rejection").rows() == sorted(reasons(got).items())
    trusting = SelectionSettings(balance=False, near_duplicate=None, validity_check=False, reviews=False)
    assert reasons(select(frame, trusting, refused=["b"])) == {"a": Rejection.BENCHMARK_LEAK}


@st.composite
def made_candidates(draw):
    rows = []
    for n in range(draw(st.integers(0, 40))):
        kind = draw(st.sampled_from(list(MistakeType)))
        rows.append(
            candidate(
                f"p{n:03}",
                f"{draw(st.sampled_from('st'))}/{draw(st.integers(0, 6))}",
                step_uid=f"{draw(st.integers(0, 3))}#0",
                mistake_type=kind,
                direction=draw(st.sampled_from(DIRECTIONS[kind])),
                differs=draw(st.sampled_from([True, True, True, False])),
                original_similarity=draw(st.sampled_from([0.5, 0.99])),
                duplicate_of=f"p{draw(st.integers(0, n - 1)):03}" if n and draw(st.booleans()) else None,
                duplicate_similarity=draw(st.sampled_from([0.9, 0.98, 1.0])),
            )
        )
    # A pointer goes to an earlier row in the frame's own order.
    order = sorted(rows, key=lambda row: (row["recording_id"], row["step_uid"], row["mistake_type"], row["pair_id"]))
    place = {row["pair_id"]: n for n, row in enumerate(order)}
    for row in rows:
        if row["duplicate_of"] is None or place[row["duplicate_of"]] >= place[row["pair_id"]]:
            row["duplicate_of"] = row["duplicate_similarity"] = None
    return candidates(*rows)


@settings(max_examples=60, deadline=None)
@given(frame=made_candidates(), seed=st.integers(0, 3), order=st.randoms(use_true_random=False))
def test_balanced_split_and_independent_of_row_order(frame, seed, order):
    wanted = SelectionSettings(seed=seed, copies_per_text=3, split=SplitSettings(validation_share=0.3, test_share=0.1, seed=seed))
    got = select(frame, wanted)
    kept = got.ego_comist
    for (_, kind, _), group in kept.group_by("source", "mistake_type", "split"):
        counts = [group.filter(pl.col("direction") == direction).height for direction in DIRECTIONS[MistakeType(kind)]]
        assert len(set(counts)) == 1
    assert kept.group_by("recording_id").agg(pl.col("split").n_unique())["split"].to_list() == [1] * kept["recording_id"].n_unique()
    assert kept.height + sum(got.rejections.values()) == frame.height
    rows = list(range(frame.height))
    order.shuffle(rows)
    again = select(frame[rows], wanted)
    assert again.ego_comist.equals(kept)
    assert again.candidates.equals(got.candidates)


def test_source_splits_stay_and_the_rest_is_drawn_by_recording():
    rows = [candidate(f"a{n}", f"s/{n}", split="test") for n in range(5)]
    rows += [candidate(f"b{n}-{k}", f"s/x{n}", step_uid=f"{k}#0") for n in range(60) for k in range(3)]
    kept = select(candidates(*rows), SelectionSettings(balance=False, split=SplitSettings(validation_share=0.25))).ego_comist
    assert set(kept.filter(pl.col("pair_id").str.starts_with("a"))["split"]) == {"test"}
    drawn = kept.filter(pl.col("pair_id").str.starts_with("b"))
    assert 15 <= drawn.filter(pl.col("split") == "validation").height <= 75
    assert drawn.group_by("recording_id").agg(pl.col("split").n_unique())["split"].max() == 1


def test_the_split_file_travels_with_a_kept_source_split_only():
    frame = candidates(
        candidate("a", "s/1", split="validation", split_file="val.json", split_sha256="ab"),
        candidate("b", "s/2", counterfactual_instruction="Add 1 cup of rice"),
    )
    told = ("split", "split_file", "split_sha256")
    made = dict(zip("ab", select(frame, LOOSE).ego_comist.sort("pair_id").select(told).rows(), strict=True))
    assert made["a"] == ("validation", "val.json", "ab")
    assert made["b"][1:] == (None, None)
    drawn = SelectionSettings(balance=False, near_duplicate=None, split=SplitSettings(keep_source=False, validation_share=0.0))
    again = select(frame, drawn).ego_comist.sort("pair_id").select(told).rows()
    assert again[0] == ("train", None, None)


def test_split_by_person_keeps_a_person_on_one_side():
    rows = [candidate(f"p{n:02}", f"s/{n}") for n in range(40)]
    persons = {f"s/{n}": f"person {n % 7}" for n in range(39)}
    by_person = SplitSettings(unit=SplitUnit.PERSON, validation_share=0.5)
    kept = select(candidates(*rows), SelectionSettings(balance=False, split=by_person), persons=persons).ego_comist
    sides = kept.with_columns(pl.col("recording_id").replace_strict(persons, default=None).alias("person")).drop_nulls("person")
    assert sides.group_by("person").agg(pl.col("split").n_unique())["split"].to_list() == [1] * 7
    assert kept["split"].n_unique() == 2
    with pytest.raises(InputError, match="who performs"):
        select(candidates(*rows), SelectionSettings(split=by_person))
    parted = [candidate("a", "s/0", split="train"), candidate("b", "s/7", split="test")]
    with pytest.raises(InputError, match="person s/person 0"):
        select(candidates(*parted), SelectionSettings(balance=False, split=by_person), persons=persons)
