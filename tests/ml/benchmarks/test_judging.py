"""Reading grades as judges really write them, and judges over the offline backend."""

import pytest

from ml.benchmarks.judging import CriteriaCase, QualityJudge, judge_criteria, read_grade
from ml.benchmarks.rule_judges import JUDGE_RULES
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from ml.vocabulary import Status


@pytest.mark.parametrize(
    ("text", "scale", "share"),
    [
        ("4/5", 5, 0.8),
        ("4.5 out of 5", 5, 0.9),
        ("8/10", 5, 0.8),
        ("There are 5 reasons for a 9", 10, 0.9),
        ("Score: 3", 5, 0.6),
        ('{"score": 4}', 5, 0.8),
        ("0", 5, 0.0),
        ("**5**", 5, 1.0),
        ("Score (0-5): 4", 5, 0.8),
        ("Grade (0–5): 5", 5, 1.0),
        ("On a 0-5 scale: 4", 5, 0.8),
        ("Score: 4\nThe response covers steps 2-3 well", 5, 0.8),
        ("I'd rate this 4/5 because steps 1-2 were fine", 5, 0.8),
        ("4/5 - 2 small mistakes", 5, 0.8),
        ("Rating: 4\n- 1 omission", 5, 0.8),
        ("On a scale of 0 to 5, I give it a 4", 5, 0.8),
    ],
)
def test_grades_that_can_be_read(text, scale, share):
    assert read_grade(text, scale).value == pytest.approx(share)


@pytest.mark.parametrize(
    "text",
    [
        "90",
        "NaN",
        "I cannot evaluate this.",
        "6/5",
        "-1",
        "4 or 5",
        "There are 5 reasons for a 9",
        "",
        '{"score": NaN}',
        "inf",
        "3/0",
        "3-4",
        "Score: 3-4",
        "3–4/5",
        "3 to 4",
    ],
)
def test_what_is_no_grade_is_invalid_and_not_clipped(text):
    parsed = read_grade(text, 5)
    assert parsed.value is None
    assert parsed.status is not Status.OK
    assert parsed.reason


def test_quality_judge_keeps_the_order_and_tells_failures_apart():
    def grade(inputs):
        return {"a": "4", "b": "I cannot evaluate", "c": "0"}[str(inputs["said"])]

    judge = QualityJudge(Client(RulesBackend({"judge_quality": grade})))
    assert judge([("a", "x"), ("b", "x"), ("c", "x")]) == [4.0, None, 0.0]
    assert judge([]) == []


def test_criteria_are_asked_apart_and_failures_counted():
    asked = []

    def presence(inputs):
        asked.append(("presence", inputs["answer"]))
        return "YES" if "not" in str(inputs["answer"]) else "NO"

    client = Client(RulesBackend({"judge_presence": presence, "judge_type": lambda i: "NO", "judge_observation": lambda i: "hard to say"}))
    cases = [CriteriaCase("m", "dice", "not diced", "verb", "slice"), CriteriaCase("c", "dice", "all good")]
    judged = judge_criteria(client, cases)
    assert (judged["m"].claims_mistake, judged["m"].type_right, judged["m"].observation_right, judged["m"].failed) == (True, False, None, 1)
    assert (judged["c"].claims_mistake, judged["c"].type_right, judged["c"].failed) == (False, None, 0)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("answer", "type_right", "seen"),
    [
        ("No. The person slices the cucumber.", "YES", "YES"),
        ("No. They slice the cucumber. The verb differs: asked for was peel, seen is slices.", "YES", "YES"),
        ("No. The person is slicing it.", "YES", "YES"),
        ("No. The person washes the cucumber.", "NO", "NO"),
        ("No. They peel the cucumber.", "YES", "NO"),
    ],
)
def test_rules_know_a_verb_in_any_form(answer, type_right, seen):
    inputs = {"answer": answer, "instruction": "Peel the cucumber.", "original": "Slice the cucumber.", "element": "verb"}
    assert (JUDGE_RULES["judge_type"](inputs), JUDGE_RULES["judge_observation"](inputs)) == (type_right, seen)
    assert (JUDGE_RULES["judge_failure"](inputs) == "C") == (seen == "YES")
