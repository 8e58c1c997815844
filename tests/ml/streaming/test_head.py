import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ml.streaming.head import SpeakHead, decide, gap_over, speak_loss
from ml.streaming.settings import BalanceLoss, RuntimeSettings, Thresholds
from ml.streaming.streams import StreamVoice
from ml.vocabulary import MessageKind


def loss_of(case: dict, **options) -> float:
    labels = torch.tensor(case["input"]["labels"], dtype=torch.float64)
    return float(speak_loss(torch.tensor(case["input"]["logits"], dtype=torch.float64), labels, **options))


def speaking_times(case: dict, min_gap_s: float) -> list[int]:
    voice = StreamVoice(Thresholds(case["input"]["threshold"], 1.0), RuntimeSettings(min_gap_s=min_gap_s, repeat_s=0.0))
    spoken = []
    for t_s, probability in enumerate(case["input"]["probs_from_t1"], start=1):
        decision = voice.consider(t_s, probability, 1.0)
        if decision is not None:
            voice.say(t_s, decision, "same")
            spoken.append(t_s)
    return spoken


def test_reference_cases(metric_cases):
    cases = {case["id"]: case for case in json.loads((metric_cases / "action_head.json").read_text(encoding="utf-8"))["cases"]}
    run = 0
    for case in cases.values():
        tolerance, expected = case["tolerance"], case["expected"]
        if "probs_from_t1" in case["input"]:
            for variant in [{"config": {}, "expected": expected}, *case["variants"]]:
                gap = variant["config"].get("min_gap_s", case["input"].get("min_gap_s", 0))
                assert speaking_times(case, gap) == variant["expected"], case["id"]
        elif case["config"].get("reduction") == "class_balanced":
            assert loss_of(case, balance=BalanceLoss.CLASS_BALANCED) == pytest.approx(expected, abs=tolerance), case["id"]
        elif isinstance(expected, dict) and "pos_weight_3" in expected:
            assert loss_of(case) == pytest.approx(expected["bce"], abs=tolerance)
            assert loss_of(case, positive_weight=3.0) == pytest.approx(expected["pos_weight_3"], abs=tolerance)
        else:
            continue
        run += 1
    assert run >= 4


@pytest.mark.parametrize("balance", list(BalanceLoss))
@pytest.mark.parametrize("labels", [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], []])
def test_any_mixture_of_classes_gives_a_finite_loss_and_gradient(balance, labels):
    logits = torch.zeros(len(labels), requires_grad=True)
    loss = speak_loss(logits, torch.tensor(labels), balance=balance, positive_weight=4.0)
    loss.backward()
    assert bool(torch.isfinite(loss))
    assert logits.grad is not None
    assert bool(torch.isfinite(logits.grad).all())


def test_blocks_without_weight_do_not_count():
    logits, labels = torch.tensor([0.3, 9.0]), torch.tensor([1.0, 0.0])
    weighed = speak_loss(logits, labels, torch.tensor([1.0, 0.0]))
    assert float(weighed) == pytest.approx(float(speak_loss(logits[:1], labels[:1])))


@given(speak=st.floats(0, 1), feedback=st.floats(0, 1), low=st.floats(0, 1), high=st.floats(0, 1))
def test_a_decision_is_above_its_threshold_and_the_likelier_of_those_that_are(speak, feedback, low, high):
    decision = decide(speak, feedback, Thresholds(low, high))
    products = {MessageKind.FEEDBACK: (speak * feedback, low), MessageKind.SUCCESS: (speak * (1 - feedback), high)}
    passing = {kind: product for kind, (product, threshold) in products.items() if product > threshold}
    if decision is None:
        assert not passing
    else:
        assert decision.score == passing[decision.kind] == max(passing.values())


def test_gap():
    assert gap_over(1.0, None, 3.0)
    assert gap_over(5.0, 2.0, 3.0)
    assert not gap_over(4.9, 2.0, 3.0)


def test_the_same_text_is_not_said_again_for_a_minute():
    voice = StreamVoice(Thresholds(), RuntimeSettings(min_gap_s=0.0))
    decision = decide(0.9, 0.9, Thresholds())
    said = [voice.say(t_s, decision, text) for t_s, text in ((1.0, "a"), (30.0, "a"), (31.0, "b"), (61.5, "a"))]
    assert [utterance is not None for utterance in said] == [True, False, True, True]
    assert voice.suppressed == 1


def test_nothing_is_said_after_success():
    voice = StreamVoice(Thresholds(), RuntimeSettings(min_gap_s=0.0))
    decision = voice.consider(1.0, 0.9, 0.0)
    assert decision is not None
    voice.say(1.0, decision, "Good.")
    assert voice.consider(9.0, 1.0, 0.5) is None


def test_head_starts_silent():
    head = SpeakHead(16)
    assert bool((torch.sigmoid(head(torch.randn(50, 16))) < 0.5).all())
