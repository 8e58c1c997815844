"""The rules against labels made by reading; thresholds are what the platform promises."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ml.counterfactuals.mistake_rules import Question
from ml.counterfactuals.registry import MISTAKE_RULES
from ml.counterfactuals.scoring import score_attributes
from ml.vocabulary import Direction, MistakeType, Status

ROOT = Path(__file__).parents[3]
PROMISED = {
    MistakeType.MEASUREMENT: 0.92,
    MistakeType.TIMING: 0.92,
    MistakeType.TEMPERATURE: 0.85,
    MistakeType.TECHNIQUE: 0.82,
    MistakeType.PREPARATION: 0.60,
}


def run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "measure" / script), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_extraction_reaches_its_scores(shared, tmp_path):
    gold = shared / "gold" / "attributes.json"
    printed = run("attribute_extraction.py", "--gold", str(gold), "--predictions", str(tmp_path / "out.json"))
    scores = score_attributes(json.loads(gold.read_text()), json.loads((tmp_path / "out.json").read_text()))
    for group, least in PROMISED.items():
        assert scores[group].f1 >= least, (group, scores[group])
    reference = subprocess.run(
        [sys.executable, str(shared / "gold" / "score_attributes.py"), str(gold), str(tmp_path / "out.json")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed == reference.stdout


def test_most_feedback_timestamps_are_right(shared):
    printed = run("feedback_timestamps.py", "--cases", str(shared / "gold" / "feedback_timestamps.json"))
    right, total = printed.splitlines()[0].removeprefix("right ").split("/")
    assert int(total) == 25
    assert int(right) >= 15


# When cooking starts, as the labels explain their answers, in seconds.
COOKING_STARTS = {"s2-timing-01": 10, "s2-timing-03": 0, "s2-timing-06": 15, "s2-timing-07": 20}


def test_accepted_timing_answers_are_taken(shared):
    cases = {case["id"]: case for case in json.loads((shared / "gold" / "feedback_timestamps.json").read_text())}
    for case_id, start_s in COOKING_STARTS.items():
        case = cases[case_id]
        question = Question(case["attributes"], Direction(case["direction"]), case["options"], 0.0, float(case["clip_duration_s"]))
        for time_s in case["accepted"]:
            reply = json.dumps({"start_timestamp": start_s, "critical_timestamp": time_s})
            assert MISTAKE_RULES[MistakeType.TIMING].read_moment(reply, question).status is Status.OK, (case_id, time_s)


def test_scores_count_extra_and_missed():
    label = {"step_id": "1", "measurement": [{"quantity": "2 cups", "ingredient": "flour"}], "uncertain": ["technique"]} | dict.fromkeys(
        ("timing", "temperature", "preparation")
    )
    label["technique"] = {"technique": "Add", "item": "flour"}
    wrong = {"1": {"measurement": [{"quantity": "3 cups", "ingredient": "flour"}]}}
    score = score_attributes([label], wrong)[MistakeType.MEASUREMENT]
    assert (score.right, score.extra, score.missed) == (0, 1, 1)
    assert score_attributes([label], wrong)[MistakeType.TECHNIQUE].missed == 0
    right = {"1": {"measurement": [{"quantity": "2 cup", "ingredient": "plain flour"}]}}
    assert score_attributes([label], right)[MistakeType.MEASUREMENT].f1 == pytest.approx(1.0)


def test_a_bad_label_file_is_told(tmp_path):
    path = tmp_path / "labels.json"
    path.write_text('[{"step_id": "1", "text": "Stir"}]')
    done = subprocess.run(
        [sys.executable, str(ROOT / "measure" / "attribute_extraction.py"), "--gold", str(path), "--predictions", str(tmp_path / "o.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    assert done.returncode == 1
    assert "field measurement" in done.stderr
