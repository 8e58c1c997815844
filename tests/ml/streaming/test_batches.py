from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.streaming.batches import BatchPlan
from ml.streaming.samples import TrainingSample
from ml.streaming.settings import embedded_fine_tuning


def twins(count: int, weight: float = 1.0, name: str = "c") -> list[TrainingSample]:
    made = []
    for index in range(count):
        clean = TrainingSample(
            f"{name}{index}", "ego_comist", f"{name}{index}", "v", 0.0, 5.0 + index % 20, "Stir.", ((3.0, "success", "Good."),), weight
        )
        wrong = replace(clean, sample_id=f"{name}{index}/cf", instruction="Fold.", messages=((2.0, "feedback", "Fold it."),))
        made += [clean, wrong]
    return made


SETTINGS = embedded_fine_tuning(batch_size=8)


def test_twins_stand_in_one_batch():
    plan = BatchPlan(twins(30), SETTINGS)
    for step in range(1, 20):
        drawn = Counter(draw.sample.clip for draw in plan.batch(step))
        assert all(count % 2 == 0 for count in drawn.values())


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), step=st.integers(1, 60))
def test_a_batch_depends_on_seed_and_step_alone(seed, step):
    chosen = replace(SETTINGS, seed=seed)
    earlier = BatchPlan(twins(20), chosen)
    for passed in range(1, step):
        earlier.batch(passed)
    assert earlier.batch(step) == BatchPlan(twins(20), chosen).batch(step)


def test_weights_are_shares_of_draws():
    heavy, light = twins(50, 3.0, "heavy"), twins(50, 1.0, "light")
    plan = BatchPlan([*heavy, *light], SETTINGS)
    drawn = Counter(draw.sample.sample_id[:5] for step in range(1, 200) for draw in plan.batch(step))
    assert drawn["heavy"] / drawn.total() == pytest.approx(0.75, abs=0.03)


def test_a_batch_holds_streams_of_like_length():
    plan = BatchPlan(twins(64), SETTINGS)
    spreads = [max(lengths) - min(lengths) for lengths in ([draw.sample.end_s for draw in plan.batch(step)] for step in range(1, 17))]
    assert sum(spreads) / len(spreads) < 6


def test_every_clip_of_equal_weight_comes_once_an_epoch():
    plan = BatchPlan(twins(32), SETTINGS)
    drawn = Counter(draw.sample.clip for step in range(1, 9) for draw in plan.batch(step))
    assert set(drawn.values()) == {2}
    assert len(drawn) == 32


def test_few_samples_still_make_a_batch():
    assert len(BatchPlan(twins(1), SETTINGS).batch(5)) == 2


def test_no_samples():
    with pytest.raises(InputError, match="no training samples"):
        BatchPlan([], SETTINGS)


def test_types_come_equally_often_and_datasets_keep_their_shares():
    def typed(samples: list[TrainingSample], mistake_type: str) -> list[TrainingSample]:
        return [replace(sample, mistake_type=mistake_type) if sample.messages[0][1] == "feedback" else sample for sample in samples]

    many, few = typed(twins(90, 1.0, "many"), "technique"), typed(twins(10, 1.0, "few"), "timing")
    others = [replace(sample, dataset="qicd") for sample in twins(100, 1.0, "other")]
    plan = BatchPlan([*many, *few, *others], replace(SETTINGS, even_types=True))
    drawn = Counter(draw.sample.recording_id.rstrip("0123456789") for step in range(1, 400) for draw in plan.batch(step))
    assert drawn["many"] / drawn.total() == pytest.approx(0.25, abs=0.03)
    assert drawn["few"] / drawn.total() == pytest.approx(0.25, abs=0.03)
    uneven = BatchPlan([*many, *few, *others], replace(SETTINGS, even_types=False))
    drawn = Counter(draw.sample.recording_id.rstrip("0123456789") for step in range(1, 400) for draw in uneven.batch(step))
    assert drawn["few"] / drawn.total() == pytest.approx(0.05, abs=0.02)
