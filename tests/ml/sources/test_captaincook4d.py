"""Made inputs for what the published files hold once or not at all."""

import json

import pytest

from ml.errors import InputError
from ml.sources.captaincook4d import read_captaincook4d


def read(root, videos=None, **keywords):
    return read_captaincook4d(root, videos, source="cc", **keywords)


def kinds(source):
    return source.problems["kind"].to_list()


def test_an_omitted_step_has_no_times_and_stands_last(write_captaincook4d, make_step):
    root = write_captaincook4d({"1_1": [make_step(4, -1.0, -1.0, tags=["Missing Step"], changed="Skipped this step"), make_step(5, 0, 9)]})
    done, omitted = read(root).steps.iter_rows(named=True)
    assert (done["native_step_id"], done["start_s"], done["position"]) == ("5", 0.0, 0)
    assert (omitted["start_s"], omitted["end_s"], omitted["status"], omitted["position"]) == (None, None, "omitted", 1)
    assert omitted["performed_text"] is None
    assert not omitted["is_clean"]


@pytest.mark.parametrize(
    ("start", "end", "tags", "changed", "kind", "is_timed"),
    [
        (-1.0, -1.0, [], None, "untimed_without_tag", False),
        (-1.0, -1.0, ["Order Error"], None, "untimed_without_tag", False),
        (3.0, 8.0, ["Missing Step"], None, "missing_tag_with_times", True),
        (-1.0, 8.0, [], None, "impossible_times", False),
        (8.0, 3.0, [], None, "impossible_times", False),
        (3.0, 3.0, [], None, "impossible_times", False),
        (3.0, 8.0, ["Order Error"], "Skipped this step", "skipped_text_with_times", True),
    ],
)
def test_contradictions(write_captaincook4d, make_step, start, end, tags, changed, kind, is_timed):
    source = read(write_captaincook4d({"1_1": [make_step(4, start, end, tags=tags, changed=changed)]}))
    row = source.steps.row(0, named=True)
    assert kind in kinds(source)
    assert row["status"] == "contradiction"
    assert row["reason"]
    assert not row["is_clean"]
    assert (row["start_s"] is not None) == is_timed


def test_uneven_error_texts_make_no_mistake_pair(write_captaincook4d, make_step):
    rows = [
        make_step(1, 0, 5, "Add-Add salt", tags=["Measurement Error"]),
        make_step(2, 5, 9, "Stir-Stir it", changed="Stir-Stir it with a fork"),
        make_step(3, 9, 12, "Cut-Cut it", tags=["Technique Error"], changed="Cut-Cut it"),
        make_step(4, 12, 15, "Wash-Wash it", changed="Wash-wash it."),
        make_step(5, 15, 19, "Boil-Boil it", tags=["Timing Error"], changed="Boil-Boil it for 2 hours"),
    ]
    source = read(write_captaincook4d({"1_1": rows}))
    performed = dict(source.steps.select("native_step_id", "performed_text").iter_rows())
    assert performed == {"1": None, "2": "Stir it with a fork", "3": None, "4": None, "5": "Boil it for 2 hours"}
    assert source.steps.filter("is_clean")["native_step_id"].to_list() == ["4"]
    for kind in (
        "error_without_changed_text",
        "changed_text_without_error",
        "changed_text_identical",
        "changed_text_same_but_for_spelling",
    ):
        assert kinds(source).count(kind) == 1


def test_overlapping_rows_of_one_step_with_opposite_labels_are_not_clean(write_captaincook4d, make_step):
    rows = [make_step(7, 21.0, 29.0), make_step(7, 24.0, 32.0, tags=["Technique Error"]), make_step(7, 40.0, 45.0)]
    source = read(write_captaincook4d({"1_1": rows}))
    assert source.steps["status"].to_list() == ["contradiction", "contradiction", "ok"]
    assert source.steps["is_clean"].to_list() == [False, False, True]
    assert source.steps["step_uid"].to_list() == ["7#0", "7#1", "7#2"]


def test_occurrence_follows_time_not_the_file(write_captaincook4d, make_step):
    rows = [make_step(7, 40, 45), make_step(7, -1, -1, tags=["Missing Step"]), make_step(7, 2, 9)]
    steps = read(write_captaincook4d({"1_1": rows})).steps
    assert steps.select("step_uid", "start_s").rows() == [("7#0", 2.0), ("7#1", 40.0), ("7#2", None)]


def test_flags_of_the_two_files_disagree(write_captaincook4d, make_step):
    rows = {"1_1": [make_step(4, 0, 5)]}
    root = write_captaincook4d(rows)
    path = root / "annotation_json" / "complete_step_annotations.json"
    value = json.loads(path.read_text())
    value["1_1"]["steps"][0]["has_errors"] = True
    path.write_text(json.dumps(value))
    source = read(root)
    assert kinds(source) == ["no_task_graph", "files_disagree"]
    assert not source.steps["is_clean"][0]
    value["1_1"]["steps"].append(value["1_1"]["steps"][0] | {"start_time": 7, "end_time": 8})
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=r"error_annotations\.json, record recording 1_1.*step 4 at 7\.0"):
        read(root)


def test_is_error_disagrees(write_captaincook4d, make_step):
    source = read(write_captaincook4d({"1_1": [make_step(4, 0, 5)]}, is_error=True))
    assert source.recordings["has_mistakes"].to_list() == [False]
    assert "is_error_disagrees" in kinds(source)


def test_graph_nodes_with_one_text(write_captaincook4d, make_step):
    root = write_captaincook4d(
        {"1_1": [make_step(4, 0, 5, "Add-Add salt")]}, graph={"0": "START", "10": "Add-Add salt", "9": "Add-Add salt"}
    )
    assert read(root).steps["graph_node_ids"].to_list() == [["9", "10"]]


def test_recording_ids_are_texts_in_natural_order(write_captaincook4d, make_step):
    source = read(write_captaincook4d({rid: [make_step(4, 0, 5)] for rid in ("10_137", "1_28", "1_7", "2_1")}))
    assert source.recordings["recording_id"].to_list() == ["cc/1_7", "cc/1_28", "cc/2_1", "cc/10_137"]


def test_two_recordings_with_a_step_at_one_time_stay_two(write_captaincook4d, make_step):
    source = read(write_captaincook4d({"1_1": [make_step(4, 120, 130)], "1_2": [make_step(4, 120, 130)]}))
    assert source.steps.select("recording_id", "step_uid").n_unique() == 2


def test_split_and_its_hash(write_captaincook4d, make_step):
    rows = {rid: [make_step(4, 0, 5)] for rid in ("1_1", "1_2", "1_3")}
    source = read(write_captaincook4d(rows, splits={"train": ["1_1"], "val": ["1_2"], "test": []}))
    assert source.recordings["split"].to_list() == ["train", "validation", None]
    assert source.recordings["split_file"][0] == "data_splits/recordings_data_split_combined.json"
    assert "no_split" in kinds(source)
    with pytest.raises(InputError, match=r"nowhere\.json.*recordings_data_split_combined\.json"):
        read(write_captaincook4d(rows), split_file="nowhere.json")
    with pytest.raises(InputError, match="in train and in test"):
        read(write_captaincook4d(rows, splits={"train": ["1_1"], "val": [], "test": ["1_1"]}))


def test_leak_between_the_split_families(write_captaincook4d, make_step):
    rows = {rid: [make_step(4, 0, 5)] for rid in ("1_1", "1_2", "1_3")}
    root = write_captaincook4d(rows, splits={"train": ["1_1"], "val": [], "test": ["1_2", "1_3"]})
    assert "split_leak" not in kinds(read(root))
    (root / "error_recognition").mkdir()
    other = root / "error_recognition" / "recordings_combined_splits.json"
    other.write_text(json.dumps({"train": ["1_2"], "val": ["1_1"], "test": ["1_3"]}))
    leak = read(root).problems.filter(kind="split_leak").row(0, named=True)
    assert leak["detail"].startswith("1 of 2 test recordings")
    assert "1_2" in leak["detail"]


def test_leak_between_two_official_splits(write_captaincook4d, make_step):
    rows = {rid: [make_step(4, 0, 5)] for rid in ("1_1", "1_2", "1_3")}
    root = write_captaincook4d(rows, splits={"train": ["1_1"], "val": [], "test": ["1_2", "1_3"]})
    other = root / "data_splits" / "environment_data_split_combined.json"
    other.write_text(json.dumps({"train": ["1_2", "1_3"], "val": [], "test": ["1_1"]}))
    (leak,) = read(root).problems.filter(kind="split_leak")["detail"].to_list()
    assert leak.startswith(
        "2 of 2 test recordings of data_splits/recordings_data_split_combined.json are in train of data_splits/environment"
    )
    (leak,) = read(root, split_file=other.name).problems.filter(kind="split_leak")["detail"].to_list()
    assert leak.startswith("1 of 1 test recordings of data_splits/environment")


def test_videos_in_the_downloader_trees(write_captaincook4d, make_step, tmp_path):
    root = write_captaincook4d({rid: [make_step(4, 0, 5)] for rid in ("1_1", "1_2", "12_6", "13_1")})
    videos = tmp_path / "videos"
    for name in (
        "gopro/resolution_360p/1_1_360p.mp4",
        "gopro/resolution_4K/1_1_4K.mp4",
        "captain_cook_4d/gopro/resolution_4K/1_2_4K.mp4",
        "hololens/sync/pv/12_6_360p.mp4",
    ):
        (videos / name).parent.mkdir(parents=True, exist_ok=True)
        (videos / name).touch()
    found = dict(read(root, videos).recordings.select("native_id", "video_path").iter_rows())
    assert found == {
        "1_1": str(videos / "gopro/resolution_360p/1_1_360p.mp4"),
        "1_2": str(videos / "captain_cook_4d/gopro/resolution_4K/1_2_4K.mp4"),
        "12_6": str(videos / "hololens/sync/pv/12_6_360p.mp4"),
        "13_1": None,
    }
    with pytest.raises(InputError, match="no such folder"):
        read(root, tmp_path / "nowhere")


def test_a_folder_with_another_licence_keeps_it(write_captaincook4d, make_step):
    root = write_captaincook4d({"1_1": [make_step(4, 0, 5)]})
    assert read(root).recordings["licence"].to_list() == ["Apache-2.0 (README) and MIT (LICENSE)"]
    (root / "LICENSE").write_text("CC0-1.0\n\nmore")
    assert read(root).recordings["licence"].to_list() == ["CC0-1.0"]


def test_a_wrong_value_is_told_with_its_place(write_captaincook4d, make_step):
    root = write_captaincook4d({"1_1": [make_step(4, "soon", 5)]})
    with pytest.raises(InputError) as caught:
        read(root)
    assert caught.value.record == "recording 1_1, steps[0]"
    assert caught.value.field == "start_time"
    assert "soon" in str(caught.value)


def test_a_byte_order_mark_is_no_trouble(write_captaincook4d, make_step):
    root = write_captaincook4d({"1_1": [make_step(4, 0, 5)]})
    path = root / "annotation_json" / "error_annotations.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read(root).steps.height == 1
