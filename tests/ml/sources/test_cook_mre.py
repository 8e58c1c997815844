"""Cook-MRE samples from JSON, JSON lines and CSV, and what a wrong one says."""

import csv
import json

import pytest

from ml.benchmarks.cook_mre.samples import samples_from_table
from ml.errors import InputError
from ml.sources.cook_mre import CookColumns, clips_table, read_cook_mre_source, read_cook_samples
from ml.tables.declarations.recordings import RECORDINGS

MISTAKE = {
    "sample_id": "1",
    "video": "v1.mp4",
    "start_time": 2.5,
    "end_time": 9,
    "instruction": "Dice the onion.",
    "class": "mistake",
    "element": "verb",
    "original_description": "Slice the onion.",
    "difficulty": "hard",
    "elements": ["verb", "ingredient"],
}
CORRECT = {**MISTAKE, "sample_id": "11", "class": "correct", "element": None, "instruction": "Slice the onion.", "difficulty": None}


def write_json(folder, samples):
    path = folder / "samples.json"
    path.write_text(json.dumps(samples))
    return path


def table(folder, source="cook", columns=None):
    imported = read_cook_mre_source(folder, None, source=source, columns=columns)
    rows = [dict(zip(imported.recordings.columns, row, strict=True)) for row in imported.recordings.rows()]
    recordings = RECORDINGS.rows([{**row, "duration_s": 30.0, "video_status": "ok"} for row in rows])
    return clips_table(read_cook_samples(folder, columns), recordings, "cook")


def test_the_same_samples_in_three_formats(tmp_path):
    found = []
    for name in ("json", "jsonl", "csv"):
        folder = tmp_path / name
        folder.mkdir()
        path = folder / f"samples.{name}"
        match name:
            case "json":
                path.write_text(json.dumps([MISTAKE, CORRECT]))
            case "jsonl":
                path.write_text("\n".join(json.dumps(sample) for sample in (MISTAKE, CORRECT)))
            case _:
                with path.open("w", newline="") as file:
                    writer = csv.DictWriter(file, MISTAKE)
                    writer.writeheader()
                    writer.writerows({**sample, "elements": ";".join(sample["elements"])} for sample in (MISTAKE, CORRECT))
        found.append(table(folder).rows())
    assert found[0] == found[1] == found[2]
    samples = samples_from_table(table(tmp_path / "json"))
    assert [(s.sample_id, s.element, s.difficulty, s.elements, s.start_s, s.end_s) for s in samples] == [
        ("1", "verb", "hard", ("verb", "ingredient"), 2.5, 9.0),
        ("11", None, None, ("verb", "ingredient"), 2.5, 9.0),
    ]
    assert len({s.clip_id for s in samples}) == 1


def test_other_names_and_absent_fields(tmp_path):
    short = {"sample_id": 7, "video": "a/b/front.mp4", "instruction": "Dice it."}
    short |= {"label": "error", "type": "verb", "recipe_step": "Slice it."}
    write_json(tmp_path, [short])
    columns = CookColumns().renamed({"sample_class": "label", "element": "type", "original": "recipe_step"})
    rows = table(tmp_path, columns=columns)
    assert rows.select("sample_id", "start_s", "end_s", "elements").rows() == [("7", 0.0, 30.0, ["verb", "ingredient", "tool", "location"])]
    assert rows["recording_id"].to_list() == ["cook/a/b/front"]
    with pytest.raises(InputError, match="no column 'colour'"):
        CookColumns().renamed({"colour": "x"})


def test_videos_with_one_name_in_several_folders_are_told_apart(tmp_path):
    videos = tmp_path / "videos" / "main"
    for recipe in ("r1", "r11"):
        (videos / recipe / "k1").mkdir(parents=True)
        (videos / recipe / "k1" / "front_compressed.mp4").touch()
    write_json(tmp_path, [{**MISTAKE, "video": "r1/k1/front_compressed.mp4"}, {**CORRECT, "video": "r11/k1/front_compressed.mp4"}])
    found = read_cook_mre_source(tmp_path / "samples.json", tmp_path / "videos", source="cook")
    assert found.recordings["video_path"].to_list() == [str(videos / recipe / "k1" / "front_compressed.mp4") for recipe in ("r1", "r11")]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"class": "perhaps"}, "class"),
        ({"element": None}, "element"),
        ({"element": "colour"}, "element"),
        ({"difficulty": "very"}, "difficulty"),
        ({"end_time": 2.5}, "end_time"),
        ({"start_time": "0:02"}, "start_time"),
        ({"instruction": "Slice the onion."}, "instruction"),
        ({"original_description": " "}, "original_description"),
        ({"elements": ["ingredient"]}, "elements"),
        ({"elements": ["verb", "heat"]}, "elements"),
        ({"video": None}, "video"),
    ],
)
def test_a_wrong_value_names_file_record_and_field(tmp_path, change, field):
    path = write_json(tmp_path, [CORRECT, {**MISTAKE, **change}])
    with pytest.raises(InputError) as error:
        read_cook_samples(tmp_path)
    assert (error.value.file, error.value.field) == (path, field)
    assert "(1)" in str(error.value.record)


def test_a_correct_sample_with_an_element_and_a_doubled_id_are_refused(tmp_path):
    write_json(tmp_path, [{**CORRECT, "element": "tool"}])
    with pytest.raises(InputError, match="has no element"):
        read_cook_samples(tmp_path)
    write_json(tmp_path, [MISTAKE, MISTAKE])
    with pytest.raises(InputError, match="comes twice"):
        read_cook_samples(tmp_path)


def test_levels_of_elements_that_have_none_are_dropped(tmp_path):
    write_json(tmp_path, [{**MISTAKE, "element": "tool", "elements": ["tool"]}])
    assert [sample.difficulty for sample in read_cook_samples(tmp_path)] == [None]


@pytest.mark.parametrize(("end", "words"), [(1e300, "no time in seconds on a recording"), ("9", "'9' is a text"), (2e7, "no time")])
def test_a_clip_has_times_of_a_recording(tmp_path, end, words):
    with pytest.raises(InputError, match=words) as error:
        read_cook_samples(write_json(tmp_path, [{**MISTAKE, "end_time": end}]))
    assert error.value.field == "end_time"
