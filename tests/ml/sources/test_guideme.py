"""GuideMe's published layout: recordings, dialogues, and what a wrong file says."""

import json

import pytest

from ml.benchmarks.guideme.data import dialogue_tables, guidance_videos, items_from_tables, read_items
from ml.errors import InputError
from ml.sources.guideme import read_guideme_source
from ml.tables.declarations.recordings import RECORDINGS
from ml.tables.declarations.results import GUIDANCE_PREDICTIONS

ITEM = {
    "videos": ["0009.mp4"],
    "video_id": "0009",
    "type": "captaincook4d",
    "inferred_goal": "Make tea",
    "inferred_knowledge": "1. Boil water.",
    "conversations": [
        {"from": "user", "value": "Help me to make tea.", "timestamp": 2},
        {"from": "assistant", "value": "Boil water.", "timestamp": 3, "category": "instruction"},
        {"from": "assistant", "value": "Not that pot.", "timestamp": 20, "category": "error"},
    ],
}


def write(folder, items, name="annotation_test_subset50.json"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(items))
    return path


def recordings_of(imported):
    columns = {name: imported.recordings[name] for name in imported.recordings.columns}
    rows = [dict(zip(columns, row, strict=True)) for row in imported.recordings.rows()]
    return RECORDINGS.rows([{**row, "duration_s": 40.0, "video_status": "ok"} for row in rows])


def test_the_published_layout_becomes_recordings_and_turns(tmp_path):
    write(tmp_path, [ITEM, {**ITEM, "video_id": "11", "videos": ["R0027-12-GoPro.mp4"]}])
    (tmp_path / "videos_2fps").mkdir()
    (tmp_path / "videos_2fps" / "0009.mp4").touch()
    imported = read_guideme_source(tmp_path, None, source="guideme")
    rows = imported.recordings.select("recording_id", "split", "activity", "has_mistakes").rows()
    assert rows == [("guideme/0009", "test", "Make tea", True), ("guideme/11", "test", "Make tea", True)]
    assert imported.recordings["video_path"].to_list() == [str(tmp_path / "videos_2fps" / "0009.mp4"), None]
    assert imported.problems["kind"].to_list() == ["no_video"]
    dialogues, turns = dialogue_tables([item for _, item in read_items(tmp_path)], recordings_of(imported), "guideme")
    assert dialogues["start_s"].to_list() == [2.0, 2.0]
    assert turns.filter(turns["recording_id"] == "guideme/0009").select("t_s", "speaker", "text", "category").rows() == [
        (2.0, "user", "Help me to make tea.", None),
        (3.0, "assistant", "Boil water.", "instruction"),
        (20.0, "assistant", "Not that pot.", "error"),
    ]
    assert [item.duration_s for item in items_from_tables(dialogues, turns)] == [40.0, 40.0]


def test_a_train_file_gives_the_train_split_and_no_benchmark_test(tmp_path):
    write(tmp_path, [ITEM], "annotation_train.json")
    assert read_guideme_source(tmp_path, None, source="g").recordings["split"].to_list() == ["train"]


def test_turns_that_the_released_tools_add_are_passed_over(tmp_path):
    extra = [{"from": "system", "value": "You are"}, {"from": "user", "value": "<video>"}]
    write(tmp_path, [{**ITEM, "conversations": [*extra, *ITEM["conversations"]]}])
    assert [len(item.turns) for _, item in read_items(tmp_path)] == [3]


@pytest.mark.parametrize(
    ("change", "field", "record"),
    [
        ({"video_id": ""}, "video_id", "item 0"),
        ({"conversations": None}, "conversations", "0009"),
        ({"videos": "0009.mp4"}, "videos", "0009"),
        ({"conversations": [{"from": "robot", "value": "x", "timestamp": 1}]}, "from", "0009 turn 0"),
        ({"conversations": [{"from": "user", "value": 3, "timestamp": 1}]}, "value", "0009 turn 0"),
        ({"conversations": [{"from": "user", "value": "x", "timestamp": "00:05"}]}, "timestamp", "0009 turn 0"),
        ({"conversations": [{"from": "user", "value": "x", "timestamp": 1, "category": 4}]}, "category", "0009 turn 0"),
    ],
)
def test_a_wrong_value_names_file_record_and_field(tmp_path, change, field, record):
    path = write(tmp_path, [{**ITEM, **change}])
    with pytest.raises(InputError) as error:
        read_guideme_source(tmp_path, None, source="g")
    assert (error.value.file, error.value.record, error.value.field) == (path, record, field)


def test_a_video_in_two_files_is_refused(tmp_path):
    write(tmp_path, [ITEM])
    write(tmp_path, [ITEM], "annotation_more.json")
    with pytest.raises(InputError, match="stands in annotation_more"):
        read_items(tmp_path)


def test_ids_are_compared_whole_and_absent_instants_are_missing(tmp_path):
    """ "1" and "11" in one set (metrics.md 7, 22); a failed or absent instant stays in the grid (18)."""
    write(tmp_path, [{**ITEM, "video_id": "1"}, {**ITEM, "video_id": "11"}])
    imported = read_guideme_source(tmp_path, None, source="g")
    items = items_from_tables(*dialogue_tables([item for _, item in read_items(tmp_path)], recordings_of(imported), "g"))
    common = {"experiment": "x", "protocol": "g.dense", "recording_id": "g/11", "reason": None}
    rows = [
        {**common, "instant_index": 0, "t_s": 2.0, "said": "Boil it", "status": "ok"},
        {**common, "instant_index": 1, "t_s": 3.0, "said": None, "status": "error"},
    ]
    by_id = {video.video_id: video for video in guidance_videos(items, GUIDANCE_PREDICTIONS.rows(rows), "g.dense")}
    assert [instant.said for instant in by_id["g/11"].instants[:3]] == ["Boil it", None, None]
    assert {instant.said for instant in by_id["g/1"].instants} == {None}
    assert len(by_id["g/1"].instants) > 25
