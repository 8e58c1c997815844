from collections import Counter
from itertools import islice

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.mixes.mix import MixSettings, build_mix
from ml.mixes.sampler import MixSampler
from tests.ml.mixes.made import sample, samples


def mixed(counts: dict[str, int], weights: dict[str, float]) -> pl.DataFrame:
    rows = [sample(f"{dataset}-{n}", dataset) for dataset, size in counts.items() for n in range(size)]
    return build_mix("m", MixSettings(weights=weights), [samples(*rows)]).frame


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    weights=st.lists(st.floats(0.05, 5.0), min_size=4, max_size=4),
    seed=st.integers(0, 100),
)
def test_shares_of_draws_are_the_weights(sizes, weights, seed):
    names = ["a", "b", "c", "d"][: len(sizes)]
    frame = mixed(dict(zip(names, sizes, strict=True)), dict(zip(names, weights, strict=False)))
    drawn = Counter(sample_id.split("-")[0] for unit in islice(MixSampler(frame, seed).draws(), 2000) for sample_id in unit)
    total = sum(weights[: len(names)])
    for name, weight in zip(names, weights, strict=False):
        assert abs(drawn[name] - 2000 * weight / total) <= 2


@settings(max_examples=25, deadline=None)
@given(position=st.integers(0, 5000), seed=st.integers(0, 20))
def test_a_position_is_reached_without_its_forerunners_and_after_them(position, seed):
    frame = mixed({"a": 7, "b": 3}, {"a": 0.7, "b": 0.3})
    walked = list(islice(MixSampler(frame, seed).draws(position), 5))
    assert walked == [MixSampler(frame, seed).draw(position + step) for step in range(5)]
    assert walked == list(islice(MixSampler(frame.reverse(), seed).draws(position), 5))


def test_every_sample_of_a_dataset_comes_once_before_any_comes_again():
    sampler = MixSampler(mixed({"a": 300, "b": 11}, {"a": 0.6, "b": 0.4}), 3)
    of_a = [unit[0] for unit in islice(sampler.draws(), 2000) if unit[0].startswith("a")]
    assert len(of_a) == 1200
    for epoch in range(4):
        assert len(set(of_a[300 * epoch : 300 * (epoch + 1)])) == 300
    assert of_a[:300] != of_a[300:600]


def test_seeds_differ_and_splits_do_not_mix():
    rows = [sample(f"t{n}") for n in range(30)] + [sample(f"v{n}", split="validation") for n in range(5)]
    frame = build_mix("m", MixSettings(weights={"ego_comist": 1.0}), [samples(*rows)]).frame
    first, second = (list(islice(MixSampler(frame, seed).draws(), 30)) for seed in (0, 1))
    assert first != second
    assert {unit[0][0] for unit in first} == {"t"}
    assert {unit[0][0] for unit in islice(MixSampler(frame, 0, split="validation").draws(), 30)} == {"v"}
    with pytest.raises(InputError, match="no sample of this split"):
        MixSampler(frame, 0, split="test")
    with pytest.raises(InputError, match="position"):
        MixSampler(frame, 0).draw(-1)


def test_pairs_are_drawn_together_at_the_same_share_of_samples():
    rows = [sample(f"c{n}-{kind}", pair_id=f"p{n}", recording_id=f"s/{n}") for n in range(20) for kind in ("clean", "counterfactual")] + [
        sample(f"q{n}", "qicd") for n in range(10)
    ]
    frame = build_mix("m", MixSettings(weights={"ego_comist": 0.6, "qicd": 0.4}), [samples(*rows)]).frame
    units = list(islice(MixSampler(frame, 0, pairs_together=True).draws(), 7000))
    for unit in units:
        if unit[0].startswith("c"):
            number = unit[0].split("-")[0]
            assert unit == (f"{number}-clean", f"{number}-counterfactual")
    drawn = Counter(sample_id[0] for unit in units for sample_id in unit)
    assert drawn["c"] / sum(drawn.values()) == pytest.approx(0.6, abs=0.002)


def test_weights_that_differ_within_a_dataset_are_refused():
    frame = mixed({"a": 3}, {"a": 1.0}).with_columns(pl.Series("weight", [0.5, 0.25, 0.25]))
    with pytest.raises(InputError, match="differ within"):
        MixSampler(frame, 0)
