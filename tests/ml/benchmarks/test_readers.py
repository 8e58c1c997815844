"""Prediction files of others for all families: what is read, and what is refused with file, record and field."""

import gzip
import json

import polars as pl
import pytest

from ml.benchmarks.data import BenchmarkData, read_benchmark
from ml.benchmarks.ego.scores import score_ego
from ml.benchmarks.families import Family
from ml.benchmarks.readers import read_predictions
from ml.errors import InputError
from ml.tables.declarations.benchmarks import BENCHMARK_MESSAGES, BENCHMARK_STEPS


@pytest.fixture
def ego():
    rows: list[dict[str, object]] = []
    for recording in ("demo/1", "demo/11"):
        for position, instruction in enumerate(("dice the onion", "add two cups of flour", "dice the onion")):
            rows.append(
                {
                    "benchmark": "demo",
                    "unit_id": f"{recording}/{position}",
                    "recording_id": recording,
                    "position": position,
                    "start_s": 20.0 * position,
                    "end_s": 20.0 * position + 20,
                    "instruction": instruction,
                }
            )
    tables = {"benchmark_steps": BENCHMARK_STEPS.rows(rows), "benchmark_messages": BENCHMARK_MESSAGES.empty()}
    return BenchmarkData("demo", Family.EGO, tables)


@pytest.fixture
def guideme(tmp_path):
    path = tmp_path / "talks.json"
    turns = [("user", "help me", 0), ("assistant", "take the cup", 3), ("assistant", "not that one", 8)]
    conversations = [{"from": who, "value": text, "timestamp": t} for who, text, t in turns]
    path.write_text(json.dumps([{"video_id": name, "videos": [f"{name}.mp4"], "conversations": conversations} for name in ("1", "11")]))
    return read_benchmark(path)


@pytest.fixture
def cook(tmp_path):
    path = tmp_path / "clips.csv"
    path.write_text(
        "sample_id,video,start_time,end_time,instruction,class,element,original_description,difficulty,elements\n"
        "a,v1.mp4,0,9,dice the onion,mistake,verb,slice the onion,hard,\n"
        "b,v2.mp4,0,9,slice the onion,correct,,slice the onion,,verb;ingredient\n"
    )
    return read_benchmark(path)


QICD = {
    "video_id": "1",
    "pred_texts": [
        "Instruction: dice the onion",
        "Feedback: smaller",
        "Success: Good job!",
        "Instruction: add 2 cups of flour",
        "Instruction: dice the onion",
        "Success: Good",
    ],
    "pred_timestamps": [0.0, 5.5, 20.0, 20.0, 40.0, 55.0],
}


def write(tmp_path, items, name="predictions.json"):
    path = tmp_path / name
    path.write_text("\n".join(json.dumps(item) for item in items) if name.endswith("l") else json.dumps(items))
    return path


def refused(path, data, **kwargs):
    with pytest.raises(InputError) as error:
        read_predictions(path, data, **kwargs)
    assert error.value.file == path
    return error.value


@pytest.mark.parametrize("name", ["predictions.json", "predictions.jsonl"])
def test_qicd_file(tmp_path, ego, name):
    read = read_predictions(write(tmp_path, [QICD], name), ego)
    assert (read.experiment, read.protocol) == ("predictions", "demo.per_step")
    assert read.table.select("unit_id", "t_s", "kind", "text").rows() == [
        ("demo/1/0", 5.5, "feedback", "smaller"),
        ("demo/1/0", 20.0, "success", "Good job!"),
        ("demo/1/2", 55.0, "success", "Good"),
        ("demo/1/1", None, None, None),
    ]
    scores = score_ego(ego["benchmark_steps"], ego["benchmark_messages"], read.table)
    assert set(scores.filter(pl.col("group") == "all")["n_missing"]) == {3}  # the recording that the file lacks


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"video_id": "7"}, "video_id"),
        ({"pred_timestamps": [0.0]}, "pred_timestamps"),
        ({"pred_timestamps": [0.0, "soon", 1.0, 2.0, 3.0, 4.0]}, "pred_timestamps"),
        ({"pred_timestamps": [0.0, -5.0, 1.0, 2.0, 3.0, 4.0]}, "pred_timestamps"),
        ({"pred_timestamps": [0.0, True, 1.0, 2.0, 3.0, 4.0]}, "pred_timestamps"),
        ({"pred_timestamps": 3}, "pred_texts"),
        ({"pred_texts": ["Hello", *QICD["pred_texts"][1:]]}, "pred_texts"),
        ({"pred_texts": ["Feedback: x", *QICD["pred_texts"][1:]]}, "pred_texts"),
    ],
)
def test_bad_qicd_items_are_refused(tmp_path, ego, change, field):
    error = refused(write(tmp_path, [{**QICD, **change}]), ego)
    assert error.field == field
    assert error.record is not None


def test_a_recording_twice_is_refused(tmp_path, ego):
    assert "comes twice" in str(refused(write(tmp_path, [QICD, QICD]), ego))


def test_csv_in_any_order_gives_the_same_rows(tmp_path, ego):
    lines = ["1.mp4,5,feedback,smaller", "11,44,success,done", "1,21,feedback,more"]
    runs = []
    for number, order in enumerate((lines, lines[::-1])):
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(["video_id,timestamp,kind,text", *order]))
        runs.append(read_predictions(path, ego, experiment="x").table.sort("recording_id", "message_index"))
    assert runs[0].equals(runs[1])
    assert runs[0].filter(pl.col("kind").is_not_null())["unit_id"].to_list() == ["demo/1/0", "demo/1/1", "demo/11/2"]


def test_bad_csv_is_refused_with_its_line(tmp_path, ego):
    path = tmp_path / "p.csv"
    path.write_text("video_id,timestamp,kind,text\n1,5,feedback,x\n1,6,shout,x\n")
    error = refused(path, ego)
    assert (error.record, error.field) == ("row 3", "kind")
    path.write_text("video_id,kind,text\n1,feedback,x\n")
    error = refused(path, ego)
    assert error.field == "t_s"
    assert "Found: video_id, kind, text" in str(error)
    path.write_text("video_id,timestamp,kind,text\n1,5,feedback,x\n1,6\n")
    assert refused(path, ego).record == "row 3"


def test_canonical_rows_survive_every_format(tmp_path, ego):
    run = read_predictions(write(tmp_path, [QICD]), ego, experiment="x").table
    failed = run.with_columns(status=pl.when(pl.col("kind").is_null()).then(pl.lit("error")).otherwise("status"), reason=pl.lit("why"))
    failed.write_parquet(tmp_path / "run.parquet")
    failed.write_csv(tmp_path / "run.csv")
    failed.write_ndjson(tmp_path / "run.jsonl")
    for name in ("run.parquet", "run.csv", "run.jsonl"):
        read = read_predictions(tmp_path / name, ego)
        assert (read.experiment, read.protocol) == ("x", "demo.per_step")
        assert read.table.equals(failed), name
    renamed = read_predictions(tmp_path / "run.parquet", ego, experiment="y", protocol="full_recipe")
    assert (renamed.experiment, renamed.protocol) == ("y", "demo.full_recipe")


def test_a_run_appended_twice_or_two_runs_in_one_file_are_refused(tmp_path, ego):
    run = read_predictions(write(tmp_path, [QICD]), ego, experiment="x").table
    path = tmp_path / "run.parquet"
    pl.concat([run, run]).write_parquet(path)
    error = refused(path, ego)
    assert error.field == "message_index"
    assert "resumed" in str(error)
    pl.concat([run, run.with_columns(experiment=pl.lit("z"))]).write_parquet(path)
    assert refused(path, ego).field == "experiment"


def test_broken_files_are_refused(tmp_path, ego):
    assert "no such file" in str(refused(tmp_path / "none.json", ego))
    for name, text, words in (
        ("p.xml", "<a/>", "not known"),
        ("p.json", "{", "not valid JSON"),
        ("p.json", "{}", "list is expected"),
        ("p.json", "[]", "no prediction"),
        ("p.json", "[3]", "object is expected"),
        ("p.jsonl", '{"a": 1}\n{', "not valid JSON"),
        ("p.parquet", "PAR1", "not a whole Parquet file"),
    ):
        (tmp_path / name).write_text(text)
        assert words in str(refused(tmp_path / name, ego)), (name, text)
    (tmp_path / "p.csv").write_bytes("video_id,timestamp,kind,text\n1,5,feedback,½\n".encode("cp1252"))
    assert "not UTF-8" in str(refused(tmp_path / "p.csv", ego))


MERGED = [
    {"video_id": "1", "endpoint_timestamp": 3, "prediction": "take the cup", "answer": "take the cup"},
    {"video_id": "1", "endpoint_timestamp": 4, "prediction": "Silent", "answer": "Silent"},
    {"video_id": "1", "endpoint_timestamp": 8, "prediction": None, "answer": "not that one"},
]


def test_guideme_merged_file(tmp_path, guideme):
    assert read_predictions(write(tmp_path, MERGED), guideme).protocol == "talks.anchor"  # most instants are more than a second apart
    assert read_predictions(write(tmp_path, MERGED[:2]), guideme).protocol == "talks.dense"
    read = read_predictions(write(tmp_path, MERGED), guideme, protocol="dense")
    rows = read.table.select("recording_id", "t_s", "said", "status").rows()
    assert rows[:3] == [("talks/1", 3.0, "take the cup", "ok"), ("talks/1", 4.0, "Silent", "ok"), ("talks/1", 8.0, None, "error")]
    other = read.table.filter(pl.col("recording_id") == "talks/11")
    assert other.height > 8  # the grid of the video that the file lacks, all missing
    assert set(other["status"]) == {"error"}


def test_guideme_utterances_only(tmp_path, guideme):
    path = tmp_path / "said.csv"
    path.write_text("video,time,text\n1,8.4,not that one\n11,3,take it\n")
    absent = read_predictions(path, guideme).table.filter(pl.col("recording_id") == "talks/1")
    assert absent.select("t_s", "said", "status").rows() == [(3.0, None, "error"), (8.0, None, "error"), (8.4, "not that one", "ok")]
    silent = read_predictions(path, guideme, absent_is_silence=True).table.filter(pl.col("recording_id") == "talks/1")
    assert silent.filter(pl.col("said") == "Silent").height > 15
    assert set(silent["status"]) == {"ok"}


def test_guideme_instants_come_once(tmp_path, guideme):
    error = refused(write(tmp_path, [MERGED[0], MERGED[0]]), guideme)
    assert (error.record, error.field) == ("item 1", "endpoint_timestamp")
    error = refused(write(tmp_path, [{**MERGED[0], "prediction": 3}]), guideme)
    assert error.field == "prediction"
    error = refused(write(tmp_path, [{**MERGED[0], "video_id": "111"}]), guideme)
    assert error.field == "video_id"


def test_a_merged_file_is_a_benchmark_by_its_own_answers(tmp_path):
    path = write(tmp_path, MERGED, "merged.json")
    data = read_benchmark(path)
    assert data.family is Family.GUIDEME
    assert data["benchmark_turns"].select("t_s", "text").rows() == [(3.0, "take the cup"), (8.0, "not that one")]
    assert read_predictions(path, data).table.height == 3


def test_cook_answers(tmp_path, cook):
    read = read_predictions(write(tmp_path, [{"sample_id": "a", "answer": "No, sliced."}]), cook)
    assert read.protocol == "clips.default"
    assert read.table.select("sample_id", "hint", "answer", "status").rows() == [
        ("a", "none", "No, sliced.", "ok"),
        ("b", "none", None, "error"),
    ]
    hinted = [{"id": "a", "hint": "verb", "response": "No."}, {"id": "b", "hint": "verb", "response": " "}]
    read = read_predictions(write(tmp_path, hinted), cook)
    assert read.protocol == "clips.hint"
    assert read.table.select("sample_id", "hint", "status").rows() == [
        ("a", "verb", "ok"),
        ("b", "ingredient", "error"),
        ("b", "verb", "empty"),
    ]
    assert refused(write(tmp_path, [hinted[0], hinted[0]]), cook).record == "item 1"
    assert refused(write(tmp_path, [{**hinted[1], "hint": "tool"}]), cook).field == "hint"
    assert refused(write(tmp_path, [{"id": "c", "answer": "x"}]), cook).field == "id"


def test_a_protocol_of_another_family_is_refused(tmp_path, cook):
    assert refused(write(tmp_path, [{"sample_id": "a", "answer": "x"}]), cook, protocol="dense").field == "protocol"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("b.json", '[{"foo": 1}]', "no benchmark begins with this record: foo"),
        ("b.txt", "x", "not known"),
        ("b.parquet", "x", "not a whole Parquet file"),
        ("b.json", '[{"video_id": "1", "conversations": [{"from": "robot", "value": "x", "timestamp": 1}]}]', "neither user nor assistant"),
        ("b.csv", "sample_id,video,instruction,class,element,original_description\na,v,dice,maybe,,dice\n", "is no class"),
    ],
)
def test_bad_benchmarks_are_refused(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words) as error:
        read_benchmark(tmp_path / name)
    assert error.value.file == tmp_path / name


TIMELINE = {
    "video_id": "1_1",
    "activity_name": "Ramen",
    "output_texts": ["boil water", "Good", "done"],
    "output_timestamps": [0.0, 20.0, 30.0],
    "output_types": ["instruction", "feedback_action_aligned_success", "feedback_finish_all"],
}


def test_a_download_of_a_dataset_hub_is_named_by_its_folder_and_its_configurations_stand_apart(tmp_path):
    for configuration in ("main", "advanced_planning"):
        (tmp_path / "qicd" / configuration).mkdir(parents=True)
        pl.DataFrame([TIMELINE]).write_parquet(tmp_path / "qicd" / configuration / "test-00000-of-00001.parquet")
    with pytest.raises(InputError, match="holds 2 configurations") as error:
        read_benchmark(tmp_path / "qicd")
    assert str(tmp_path / "qicd" / "main") in str(error.value)
    given = ("qicd/main", "qicd/main/test-00000-of-00001.parquet", "qicd/advanced_planning")
    assert [read_benchmark(tmp_path / path).name for path in given] == ["qicd", "qicd", "advanced_planning"]


def test_timelines_are_read_from_parquet_json_and_lines(tmp_path):
    row = TIMELINE
    pl.DataFrame([row]).write_parquet(tmp_path / "b.parquet")
    write(tmp_path, [row], "b.json")
    write(tmp_path, [row], "b.jsonl")
    tables = [read_benchmark(tmp_path / name)["benchmark_steps"] for name in ("b.parquet", "b.json", "b.jsonl")]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert tables[0].select("unit_id", "end_s").rows() == [("b/1_1/0", 30.0)]


@pytest.mark.parametrize(("t_s", "words"), [(1e300, "1e.300 is no time"), (2e7, "2e.07 is no time"), ("12", "'12' is a text")])
def test_a_timeline_has_times_as_predictions_have(tmp_path, t_s, words):
    times = [*TIMELINE["output_timestamps"][:-1], t_s]
    with pytest.raises(InputError, match=f"message {len(times) - 1}, field output_timestamps: {words}"):
        read_benchmark(write(tmp_path, [{**TIMELINE, "output_timestamps": times}], "b.json"))


@pytest.mark.parametrize("t_s", ["1_0", 1e8])
def test_a_prediction_has_a_time_that_is_written_as_one(tmp_path, ego, t_s):
    row = {"video_id": "1", "timestamp": t_s, "kind": "feedback", "text": "x"}
    with pytest.raises(InputError, match="is no time in seconds"):
        read_predictions(write(tmp_path, [row]), ego)


DEEP, LONG = "[" * 100_000, "9" * 5000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"a": NaN}]', "NaN is not a JSON number"),
        (DEEP, "nested too deeply"),
        (f"[{LONG}]", "thousands of digits"),
        ('[{"video_id": "1", "video_id": "2"}]', "stands twice"),
        ('[{"texts": [{"x": "a\\ud800b"}]}]', r"half of a character pair at \[0\]\.texts\[0\]\.x"),
        ('[{"\\udfff": 1}]', r"half of a character pair at \[0\]\.'\\udfff'"),
    ],
)
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_json_that_would_break_later_is_refused(tmp_path, ego, text, words, suffix):
    path = tmp_path / f"p.{suffix}"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as error:
        read_predictions(path, ego)
    assert error.value.file == path
    assert error.value.record == ("line 1" if suffix == "jsonl" else None)


def test_a_whole_character_pair_and_other_line_ends_stay_in_a_text(tmp_path, ego):
    said = "🍳 a\u2028b\x85c"
    row = {"video_id": "1", "timestamp": 5, "kind": "feedback", "text": said}
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "timestamp": 6}, ensure_ascii=False) + "\r\n", encoding="utf-8", newline="")
    assert read_predictions(path, ego).table.filter(pl.col("kind").is_not_null())["text"].to_list() == [said, said]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"timestamp": 10**400}, "t_s"),
        ({"timestamp": 1e8}, "t_s"),
        ({"score": "high"}, "score"),
        ({"score": [1]}, "score"),
        ({"message_index": "a"}, "message_index"),
        ({"message_index": 0.5}, "message_index"),
        ({"message_index": -1}, "message_index"),
        ({"unit_id": "11/0"}, "unit_id"),
        ({"protocol": "demo.often"}, "protocol"),
    ],
)
def test_values_that_no_message_can_have_are_refused(tmp_path, ego, change, field):
    row = {"video_id": "1", "timestamp": 5, "kind": "feedback", "text": "x", **change}
    error = refused(write(tmp_path, [row]), ego)
    assert error.field == field
    assert len(str(error)) < 500


def test_no_score_in_a_table_is_none(tmp_path, ego):
    path = tmp_path / "p.parquet"
    pl.DataFrame({"video_id": ["1"], "timestamp": [5.0], "kind": ["feedback"], "text": ["x"], "score": [float("nan")]}).write_parquet(path)
    assert read_predictions(path, ego).table["score"].null_count() == read_predictions(path, ego).table.height


def test_records_of_two_shapes_are_refused(tmp_path, ego):
    row = {"video_id": "11", "timestamp": 5, "kind": "feedback", "text": "x"}
    for items in ([QICD, row], [row, QICD]):
        assert refused(write(tmp_path, items), ego).field == "pred_texts"


def test_two_columns_of_one_name_are_refused(tmp_path, ego):
    path = tmp_path / "p.csv"
    path.write_text("video_id,timestamp,kind,text,text\n1,5,feedback,x,y\n")
    assert "two columns are called 'text'" in str(refused(path, ego))


def test_a_compressed_file_is_named_as_such(tmp_path, ego):
    path = tmp_path / "p.json"
    path.write_bytes(gzip.compress(b"[]"))
    assert "compressed with gzip. Unpack it" in str(refused(path, ego))
