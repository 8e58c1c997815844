import json

import polars as pl
import pytest

from ml.errors import InputError
from ml.sources.ego4d_goalstep import Member, read_ego4d_goalstep


def segment(start, end, text, *, category="General: Cook", continued=False, relevant="essential", segments=None):
    value = {
        "start_time": start,
        "end_time": end,
        "step_category": category,
        "step_description": text,
        "is_continued": continued,
        "is_procedural": True,
        "is_relevant": relevant,
        "summary": [],
    }
    return value if segments is None else value | {"segments": segments}


def video(uid, segments, start=0.02, end=600.0):
    return {"video_uid": uid, "start_time": start, "end_time": end, "goal_category": "COOKING:MAKE_BREAD", "segments": segments}


@pytest.fixture
def write(tmp_path):
    def write_files(videos, *, groups=(), durations=None, split="val", name="goalstep_valid.json"):
        (tmp_path / name).write_text(json.dumps({"version": "1.0", "split": split, "videos": videos}))
        lines = ["university\tvideo_group", *(f"kitchen\t{members!r}" for members in groups)]
        (tmp_path / "goalstep_video_groups.tsv").write_text("\n".join(lines) + "\n")
        if durations:
            listed = [{"video_uid": uid, "duration_sec": seconds} for uid, seconds in durations.items()]
            (tmp_path / "ego4d.json").write_text(json.dumps({"videos": listed}))
        return tmp_path

    return write_files


def read(folder, videos=None, **keywords):
    return read_ego4d_goalstep(folder, videos, source="gs", **keywords)


def test_published_excerpt(shared):
    source = read(shared / "datasets" / "ego4d_goalstep")
    assert source.recordings.height == 6
    assert source.steps.height == 104 + 113
    assert source.steps["parent_uid"].null_count() == 104
    relevance = dict(source.steps["relevance"].value_counts().iter_rows())
    assert relevance == {"essential": 156, "irrelevant": 41, "optional": 17, "unsure": 3}
    assert not source.steps["is_instruction"].any()
    assert set(source.recordings["split"]) == {"validation"}
    assert set(source.recordings["licence"]) == {"MIT"}
    grouped = source.recordings.filter(pl.col("native_id").str.starts_with("grp-"))
    assert grouped["status"].to_list() == ["skipped", "skipped"]
    assert grouped["members"].list.len().to_list() == [4, 3]
    assert source.problems.filter(kind="substep_sticks_out").height == 2


def test_times_stay_on_the_full_video(write):
    source = read(write([video("u", [segment(532.459, 540.0, "cut onions", segments=[])], start=531.83, end=560.0)]))
    assert source.steps["start_s"].to_list() == [532.459]


def test_a_group_with_known_lengths_has_offsets(write):
    folder = write([video("grp-a", [segment(1, 2, "cut", segments=[])])], groups=[["a", "b", "c"]], durations={"a": 100.5, "b": 50.0})
    row = read(folder).recordings.row(0, named=True)
    assert row["status"] == "ok"
    members = [Member(**member) for member in row["members"]]
    assert members == [Member("a", 0.0), Member("b", 100.5), Member("c", 150.5)]


@pytest.mark.parametrize(
    ("groups", "told"), [([["a", "b"]], r"lengths of 1 of its 2 members are unknown \(give ego4d.json\), e.g. a"), ([], "does not list")]
)
def test_an_unresolved_group_is_skipped_with_its_reason(write, groups, told):
    source = read(write([video("grp-a", [segment(1, 2, "cut", segments=[])])], groups=groups))
    row = source.recordings.row(0, named=True)
    assert row["status"] == "skipped"
    assert pl.Series([row["reason"]]).str.contains(told).all()
    assert source.steps.height == 1


def test_a_group_that_lies_as_one_file_is_used(write, tmp_path):
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "grp-a.mp4").touch()
    row = read(write([video("grp-a", [])], groups=[["a", "b"]]), tmp_path / "videos").recordings.row(0, named=True)
    assert (row["status"], row["video_path"]) == ("ok", str(tmp_path / "videos" / "grp-a.mp4"))


def test_members_that_end_before_the_annotations_are_reported(write):
    folder = write([video("grp-a", [], end=200.0)], groups=[["a", "b"]], durations={"a": 100.0, "b": 50.0})
    assert read(folder).problems["kind"].to_list() == ["beyond_members"]


def test_relevance_is_kept_as_it_is(write):
    first = segment(1, 2, "cut", relevant="unsure", segments=[])
    second = {key: value for key, value in segment(3, 4, "stir", segments=[]).items() if key not in ("is_relevant", "is_continued")}
    source = read(write([video("u", [first, second])]))
    assert source.steps["relevance"].to_list() == ["unsure", None]
    assert source.steps["is_continued"].to_list() == [False, False]
    assert source.problems["kind"].to_list() == ["no_relevance"]


def test_substeps_name_their_step_and_stick_out(write):
    children = [segment(81.0, 97.0, "weigh", segments=None), segment(260.0, 270.0, "cover", segments=None)]
    source = read(write([video("u", [segment(81.1, 269.0, "prepare bread", segments=children)])]))
    step = source.steps.filter(pl.col("instruction") == "prepare bread")
    assert set(source.steps.filter(pl.col("parent_uid").is_not_null())["parent_uid"]) == {step["step_uid"][0]}
    assert source.steps["start_s"].to_list() == [81.0, 81.1, 260.0]
    assert source.problems["detail"].to_list() == ["1.00 s outside its step"]


def test_a_continued_segment_says_so_and_one_that_continues_nothing_is_told(write):
    segments = [
        segment(1, 10, "fry the chicken", segments=[]),
        segment(30, 40, "Fry the chicken", continued=True, segments=[]),
        segment(90, 95, "serve", continued=True, segments=[]),
    ]
    source = read(write([video("u", segments)]))
    assert source.steps.select("instruction", "is_continued", "occurrence").rows() == [
        ("fry the chicken", False, 0),
        ("Fry the chicken", True, 1),
        ("serve", True, 0),
    ]
    assert source.problems.filter(kind="continues_nothing").height == 1


def test_test_split_has_texts_without_times(write):
    entries = [{"step_description": "cut onions", "segment_count": 2}, {"step_description": "cut onions", "segment_count": 1}]
    folder = write([{"video_uid": "t", "step_segments": entries}], split="test", name="goalstep_test.json")
    first, second = read(folder).steps, read(folder).steps
    assert first.equals(second)
    assert first["step_uid"].n_unique() == 2
    assert first["native_step_id"].n_unique() == 1
    assert first["start_s"].null_count() == 2
    assert set(first["status"]) == {"skipped"}
    assert "2 segments" in first["reason"][0]


def test_a_video_in_two_split_files_alone_or_in_a_group_is_a_leak(write):
    write([video("b", []), video("c", [])], groups=[["a", "b"]])
    root = write([video("grp-a", [])], groups=[["a", "b"]], split="train", name="goalstep_train.json")
    details = read(root).problems.filter(kind="split_leak")["detail"].to_list()
    assert details == ["1 of 2 validation videos of goalstep_valid.json are in train of goalstep_train.json: b"]


def test_impossible_times(write):
    source = read(write([video("u", [segment(9, 9, "cut", segments=[])])]))
    assert source.steps.select("status", "start_s", "is_clean").rows() == [("contradiction", None, False)]


def test_bad_files(write, tmp_path):
    with pytest.raises(InputError, match="no goalstep_"):
        read(tmp_path)
    write([video("u", [])])
    write([video("u", [])], split="train", name="goalstep_train.json")
    with pytest.raises(InputError, match=r"u stands in goalstep_train\.json too"):
        read(tmp_path)
    write([video("u", [])], split="half", name="goalstep_train.json")
    with pytest.raises(InputError, match="'half' is no split"):
        read(tmp_path)
