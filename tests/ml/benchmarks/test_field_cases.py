"""Scoring inputs that broke other tools in this field, each with the value a user would expect."""

import json

import polars as pl
import pytest

from ml.benchmarks.cook_mre.judged import always
from ml.benchmarks.cook_mre.metrics import CookOptions
from ml.benchmarks.cook_mre.samples import CookSample
from ml.benchmarks.cook_mre.scores import score_cook
from ml.benchmarks.data import read_benchmark
from ml.benchmarks.ego.scores import score_ego
from ml.benchmarks.judging import read_grade
from ml.benchmarks.readers import read_predictions
from ml.benchmarks.scoring import Tools, score_files
from ml.benchmarks.text_overlap import rouge_l
from ml.errors import InputError
from ml.tables.declarations.benchmarks import BENCHMARK_MESSAGES, BENCHMARK_STEPS
from ml.tables.declarations.results import PREDICTIONS
from tests.ml.benchmarks.made_files import ego_files, write_json


def one_step(start_s, end_s, said, reference_s=5.0):
    """Scores of one step with one reference feedback and these predicted times."""
    at = {"benchmark": "d", "unit_id": "d/1/0"}
    step = {**at, "recording_id": "d/1", "position": 0, "start_s": start_s, "end_s": end_s, "instruction": "stir", "mistake_type": "timing"}
    message = {**at, "message_index": 0, "t_s": reference_s, "kind": "feedback", "text": "stop", "mistake_type": "timing"}
    run = {"experiment": "x", "protocol": "d.per_step", "recording_id": "d/1", "unit_id": "d/1/0", "status": "ok"}
    rows = [{**run, "message_index": i, "t_s": t, "kind": "feedback", "text": "stop"} for i, t in enumerate(said)]
    rows = rows or [{**run, "message_index": 0, "t_s": None, "kind": None, "text": None}]
    scores = score_ego(BENCHMARK_STEPS.rows([step]), BENCHMARK_MESSAGES.rows([message]), PREDICTIONS.rows(rows))
    return {row["metric"]: row["value"] for row in scores.filter(pl.col("group") == "all").iter_rows(named=True)}


def test_0_by_0_has_a_defined_value():
    """Row 105: a step without length, an empty bucket, a class that is never predicted."""
    assert one_step(5.0, 5.0, [5.0])["mistake_f1"] == 1.0
    assert one_step(5.0, 5.0, [])["mistake_f1"] == 0.0
    assert one_step(5.0, 5.0, [])["false_alarms_per_hour"] is None  # no time in which there could be one
    samples = [CookSample(f"m{i}", f"c{i}", "dice", "slice", "verb", "hard") for i in range(33)]
    samples += [CookSample(f"k{i}", f"k{i}", "slice", "slice") for i in range(10)]
    scores = score_cook(samples, always(samples, False), CookOptions(), experiment="x", protocol="c.default")
    whole = {row["metric"]: row["value"] for row in scores.filter(pl.col("group") == "all").iter_rows(named=True)}
    correct_f1 = 2 * 10 / (2 * 10 + 33)
    assert whole["mpc_f1"] == 0.0
    assert whole["macro_f1"] == pytest.approx(correct_f1 / 2)  # the class counts in the macro average
    assert "verb.easy" not in set(scores["group"])  # a bucket of 0 has no row, and no 0


def test_duplicates_never_raise_recall():
    """Row 107: the same prediction twice, and a file to which a resumed run was appended."""
    twice = one_step(0.0, 30.0, [5.0, 5.0])
    assert (twice["mistake_recall"], twice["mistake_precision"]) == (1.0, 0.5)


def test_a_file_with_an_item_twice_is_refused(tmp_path):
    benchmark, good, _ = ego_files(tmp_path)
    items = json.loads(good.read_text())
    with pytest.raises(InputError, match="comes twice") as error:
        read_predictions(write_json(tmp_path / "twice.json", [*items, items[3]]), read_benchmark(benchmark))
    assert error.value.record == "item 6"


def test_an_end_before_its_start_is_refused_and_order_does_not_matter(tmp_path):
    """Row 108: (165.5, 111.8), and events out of order."""
    path = tmp_path / "clips.csv"
    path.write_text(
        "sample_id,video,start_time,end_time,instruction,class,element,original_description\na,v.mp4,165.5,111.8,dice,mistake,verb,slice\n"
    )
    with pytest.raises(InputError, match=r"165\.5 to 111\.8 s is empty"):
        read_benchmark(path)
    assert one_step(0.0, 60.0, [50.0, 5.0, 20.0]) == one_step(0.0, 60.0, [5.0, 20.0, 50.0])
    benchmark, good, _ = ego_files(tmp_path)
    shuffled = write_json(tmp_path / "shuffled.json", json.loads(good.read_text())[::-1])
    found = [score_files(p, benchmark, experiment="x", tools=Tools(), floors=False).scores for p in (good, shuffled)]
    assert found[0].equals(found[1])


def test_other_scripts_and_number_signs_count():
    """Row 110."""
    assert rouge_l("玉ねぎを切る", "玉ねぎを切る") == 1.0
    assert rouge_l("add ½ cup", "add ¼ cup") < 1.0


@pytest.mark.parametrize(
    ("said", "scale", "share"),
    [
        ("4/5", 5, 0.8),
        ("There are 5 reasons for a 9", 10, 0.9),
        ("90", 5, None),
        ("NaN", 5, None),
        ("I cannot evaluate", 5, None),
        ("4.5 out of 5", 5, 0.9),
    ],
)
def test_what_a_judge_says_is_read_or_invalid_never_clipped(said, scale, share):
    """Row 111; that the invalid share is reported is tested with the scores."""
    assert read_grade(said, scale).value == (None if share is None else pytest.approx(share))
