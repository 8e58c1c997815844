"""Prediction files of others: what is read, and what is refused with file, record and field."""

import json

import polars as pl
import pytest

from ml.benchmarks.ego.scores import score_ego
from ml.benchmarks.readers import read_predictions
from ml.errors import InputError
from ml.tables.declared import BENCHMARK_MESSAGES, BENCHMARK_STEPS


@pytest.fixture
def steps():
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
    return BENCHMARK_STEPS.rows(rows)


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


def write(tmp_path, items):
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(items))
    return path


def test_qicd_file(tmp_path, steps):
    run = read_predictions(write(tmp_path, [QICD]), steps, experiment="x", protocol="demo.per_step")
    assert run.select("unit_id", "t_s", "kind", "text").rows() == [
        ("demo/1/0", 5.5, "feedback", "smaller"),
        ("demo/1/0", 20.0, "success", "Good job!"),
        ("demo/1/2", 55.0, "success", "Good"),
        ("demo/1/1", None, None, None),
    ]
    scores = score_ego(steps, BENCHMARK_MESSAGES.empty(), run)
    assert set(scores.filter(pl.col("group") == "all")["n_missing"]) == {3}  # the recording that the file lacks


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"video_id": "7"}, "recording_id"),
        ({"pred_timestamps": [0.0]}, "pred_timestamps"),
        ({"pred_timestamps": [0.0, "soon", 1.0, 2.0, 3.0, 4.0]}, "pred_timestamps"),
        ({"pred_timestamps": [0.0, float("nan"), 1.0, 2.0, 3.0, 4.0]}, "pred_timestamps"),
        ({"pred_timestamps": [0.0, -5.0, 1.0, 2.0, 3.0, 4.0]}, "pred_timestamps"),
        ({"pred_texts": ["Hello", *QICD["pred_texts"][1:]]}, "pred_texts"),
        ({"pred_texts": ["Feedback: x", *QICD["pred_texts"][1:]]}, "pred_texts"),
    ],
)
def test_bad_qicd_items_are_refused(tmp_path, steps, change, field):
    with pytest.raises(InputError) as error:
        read_predictions(write(tmp_path, [{**QICD, **change}]), steps, experiment="x", protocol="demo.per_step")
    assert error.value.field == field
    assert error.value.file is not None
    assert error.value.record is not None


def test_a_recording_twice_is_refused(tmp_path, steps):
    with pytest.raises(InputError, match="comes twice"):
        read_predictions(write(tmp_path, [QICD, QICD]), steps, experiment="x", protocol="demo.per_step")


def test_csv_in_any_order_gives_the_same_rows(tmp_path, steps):
    lines = ["1.mp4,5,feedback,smaller", "11,44,success,done", "1,21,feedback,more"]
    runs = []
    for number, order in enumerate((lines, lines[::-1])):
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(["video_id,timestamp,kind,text", *order]))
        runs.append(read_predictions(path, steps, experiment="x", protocol="demo.per_step").sort("recording_id", "message_index"))
    assert runs[0].equals(runs[1])
    assert runs[0].filter(pl.col("kind").is_not_null())["unit_id"].to_list() == ["demo/1/0", "demo/1/1", "demo/11/2"]


def test_bad_csv_is_refused_with_its_line(tmp_path, steps):
    path = tmp_path / "p.csv"
    path.write_text("video_id,timestamp,kind,text\n1,5,feedback,x\n1,6,shout,x\n")
    with pytest.raises(InputError) as error:
        read_predictions(path, steps, experiment="x", protocol="demo.per_step")
    assert (error.value.record, error.value.field) == ("line 3", "kind")
    path.write_text("video_id,kind,text\n1,feedback,x\n")
    with pytest.raises(InputError, match="no column t_s"):
        read_predictions(path, steps, experiment="x", protocol="demo.per_step")


def test_parquet_round_trip_and_duplicate_ids(tmp_path, steps):
    run = read_predictions(write(tmp_path, [QICD]), steps, experiment="x", protocol="demo.per_step")
    path = tmp_path / "run.parquet"
    run.write_parquet(path)
    assert read_predictions(path, steps, experiment="y", protocol="demo.per_step")["experiment"].unique().to_list() == ["y"]
    pl.concat([run, run]).write_parquet(path)
    with pytest.raises(InputError, match="share a key"):
        read_predictions(path, steps, experiment="y", protocol="demo.per_step")


def test_absent_and_unknown_files_are_refused(tmp_path, steps):
    with pytest.raises(InputError, match="no such file"):
        read_predictions(tmp_path / "none.json", steps, experiment="x", protocol="demo.per_step")
    (tmp_path / "p.xml").write_text("<a/>")
    with pytest.raises(InputError, match="not known"):
        read_predictions(tmp_path / "p.xml", steps, experiment="x", protocol="demo.per_step")
