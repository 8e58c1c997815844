from ml.narration.prompts import SYSTEM, narration_request, picture_times, prompts_hash


def test_true_times_are_in_the_request():
    """Pictures kept at 0, 4 and 10 s of a stretch: the request says so instead of assuming an even spacing."""
    assert "picture 1 at 0.0 s, picture 2 at 4.0 s, picture 3 at 10.0 s" in picture_times([0.0, 4.0, 10.0])
    request = narration_request([0.0, 4.0, 10.0], 10.4)
    assert "cover 10.4 seconds" in request
    assert picture_times([0.0, 4.0, 10.0]) in request


def test_what_the_request_asks_for():
    request = (SYSTEM + narration_request([0.0], 10.0)).lower()
    for word in ("hands", "number of scoops", "tool", "heat level", "timer", "stirred or folded"):
        assert word in request


def test_hash_is_stable_and_short():
    assert prompts_hash() == prompts_hash()
    assert len(prompts_hash()) == 24
