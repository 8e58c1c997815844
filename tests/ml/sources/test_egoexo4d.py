import json

import pytest

from ml.errors import InputError
from ml.sources.egoexo4d import read_egoexo4d


def keystep(start, end, name, unique_id=843, essential=True):
    return {
        "start_time": start,
        "end_time": end,
        "step_id": 31,
        "step_name": name,
        "step_description": f"{name} carefully",
        "is_essential": essential,
        "step_unique_id": unique_id,
    }


def take(uid, segments):
    return {"take_uid": uid, "take_name": f"cooking_{uid}", "scenario": "Cooking Noodles", "segments": segments}


def description(text, t):
    return {"text": text, "timestamp": t, "narration_subject": "C", "unsure": "0"}


def write(folder, takes, name="keystep_val.json", as_list=False):
    annotations = list(takes) if as_list else {t["take_uid"]: t for t in takes}
    (folder / name).write_text(json.dumps({"annotations": annotations, "taxonomy": {}, "vocabulary": {}}))


@pytest.mark.parametrize("as_list", [False, True])
def test_keysteps_are_descriptive_steps(tmp_path, as_list):
    segments = [keystep(5.0, 9.0, "Stir"), keystep(0.85598, 4.0, "Cut", 818, essential=False), keystep(8.0, 12.0, "Stir")]
    write(tmp_path, [take("t1", segments)], as_list=as_list)
    source = read_egoexo4d(tmp_path, None, source="ee")
    assert source.steps.select("step_uid", "start_s", "instruction", "relevance", "is_instruction").rows() == [
        ("818#0", 0.85598, "Cut carefully", "optional", False),
        ("843#0", 5.0, "Stir carefully", "essential", False),
        ("843#1", 8.0, "Stir carefully", "essential", False),
    ]
    row = source.recordings.row(0, named=True)
    assert (row["recording_id"], row["activity"], row["split"], row["split_file"]) == (
        "ee/t1",
        "Cooking Noodles",
        "validation",
        "keystep_val.json",
    )
    assert source.problems["kind"].to_list() == ["overlapping_steps"]


def test_atomic_descriptions_by_annotator(tmp_path):
    write(tmp_path, [take("t1", [keystep(0, 9, "Stir")])])
    annotations = {
        "t1": [
            {"annotator_id": "A", "rejected": False, "descriptions": [description("C moves.", 2.0), description("C cuts.", 1.0)]},
            {"annotator_id": "B", "rejected": "1", "reject_reason": "blurred", "descriptions": [description("x", 0.0)]},
            {"annotator_id": "A", "rejected": "0", "descriptions": [description("C stirs.", 1.5)]},
        ],
        "other": [],
    }
    (tmp_path / "atomic_descriptions_val.json").write_text(json.dumps({"annotations": annotations}))
    source = read_egoexo4d(tmp_path, None, source="ee")
    assert source.narrations.select("recording_id", "annotator", "start_s", "end_s", "text").rows() == [
        ("ee/t1", "A", 1.0, 2.0, "C cuts."),
        ("ee/t1", "A", 2.0, 12.0, "C moves."),
        ("ee/t1", "A.2", 1.5, 11.5, "C stirs."),
    ]
    assert sorted(source.problems["kind"]) == ["descriptions_without_keysteps", "rejected_descriptions"]


def test_descriptions_that_train_on_held_out_keysteps_are_a_leak(tmp_path):
    write(tmp_path, [take("t1", [keystep(0, 9, "Stir")]), take("t2", [keystep(0, 9, "Stir")])])
    described = {"t1": [{"annotator_id": "A", "rejected": False, "descriptions": [description("C cuts.", 1.0)]}]}
    (tmp_path / "atomic_descriptions_train.json").write_text(json.dumps({"annotations": described}))
    source = read_egoexo4d(tmp_path, None, source="ee")
    details = source.problems.filter(kind="split_leak")["detail"].to_list()
    assert details == ["1 of 2 validation takes of the keysteps are in train of atomic_descriptions_train.json: t1"]
    assert source.narrations["recording_id"].to_list() == ["ee/t1"]


def test_videos_through_takes_json_or_by_name(tmp_path):
    videos = tmp_path / "videos"
    head = videos / "takes" / "cooking_t1" / "frame_aligned_videos" / "aria01_214-1.mp4"
    plain = videos / "cooking_t2.mp4"
    for path in (head, plain):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    cameras = {
        "cam01": {"0": {"relative_path": "frame_aligned_videos/cam01.mp4"}},
        "aria01": {"slam": {"relative_path": "x"}, "rgb": {"relative_path": "frame_aligned_videos/aria01_214-1.mp4"}},
    }
    (videos / "takes.json").write_text(json.dumps([{"take_uid": "t1", "take_name": "cooking_t1", "frame_aligned_videos": cameras}]))
    write(tmp_path, [take(uid, [keystep(0, 9, "Stir")]) for uid in ("t1", "t2", "t3")])
    found = read_egoexo4d(tmp_path, videos, source="ee").recordings["video_path"].to_list()
    assert found == [str(head), str(plain), None]


def test_impossible_times_and_empty_takes(tmp_path):
    write(tmp_path, [take("t1", [keystep(9, 3, "Stir")]), take("t2", [])])
    source = read_egoexo4d(tmp_path, None, source="ee")
    assert source.steps.select("status", "start_s").rows() == [("contradiction", None)]
    assert source.recordings["status"].to_list() == ["ok", "empty"]


def test_bad_files(tmp_path):
    with pytest.raises(InputError, match=r"keystep_<split>\.json"):
        read_egoexo4d(tmp_path, None, source="ee")
    write(tmp_path, [take("t1", [])])
    write(tmp_path, [take("t1", [])], name="keystep_train.json")
    with pytest.raises(InputError, match=r"t1 stands in keystep_train\.json too"):
        read_egoexo4d(tmp_path, None, source="ee")
