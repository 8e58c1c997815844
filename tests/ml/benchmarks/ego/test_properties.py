"""What must hold for EGO scores of any predictions."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.benchmarks.ego.completion import CompletionStep, score_completion
from ml.benchmarks.ego.mistakes import Event, MistakeUnit, score_mistakes
from ml.benchmarks.ego.options import Average, Counting, Duplicates, EgoOptions, Matching, Scope

TIMES = st.lists(st.integers(0, 300).map(lambda t: t / 2), max_size=6)
UNITS = st.lists(st.tuples(TIMES, TIMES), max_size=5)
OPTIONS = st.builds(
    EgoOptions,
    half_window_s=st.sampled_from([3.0, 15.0, 30.0]),
    inclusive=st.booleans(),
    matching=st.sampled_from(list(Matching)),
    duplicates=st.sampled_from(list(Duplicates)),
    scope=st.sampled_from(list(Scope)),
    counting=st.sampled_from(list(Counting)),
    average=st.sampled_from(list(Average)),
)


def units_of(times, shift=0.0):
    return [
        MistakeUnit(f"v{i % 2}/{i}", f"v{i % 2}", tuple(Event(t + shift, "x") for t in r), tuple(Event(t + shift, "y") for t in p))
        for i, (r, p) in enumerate(times)
    ]


def defined(value):
    assert value is not None
    return value


def with_prediction(units, t_s):
    first = units[0]
    return [replace(first, predictions=(*first.predictions, Event(t_s, "y"))), *units[1:]]


@settings(max_examples=300, deadline=None)
@given(UNITS, OPTIONS)
def test_values_stay_in_range_and_counts_add_up(times, options):
    scores = score_mistakes(units_of(times), options)
    for value in (scores.precision, scores.recall, scores.f1):
        assert value is not None
        assert 0 <= value <= 1
    references, predictions = (sum(len(unit[side]) for unit in times) for side in (0, 1))
    if options.counting is Counting.EVENTS:
        assert scores.tp + scores.fn == references
        if options.duplicates is Duplicates.FALSE_POSITIVE and options.matching in (Matching.OPTIMAL, Matching.CLOSEST_FIRST):
            assert scores.tp + scores.fp == predictions


@settings(max_examples=200, deadline=None)
@given(UNITS, OPTIONS, st.randoms())
def test_the_order_of_predictions_does_not_matter(times, options, random):
    mixed = []
    for references, predictions in times:
        shuffled = list(predictions)
        random.shuffle(shuffled)
        mixed.append((references, shuffled))
    one, other = score_mistakes(units_of(times), options), score_mistakes(units_of(mixed), options)
    assert (one.tp, one.fp, one.fn, one.precision, one.recall, one.f1) == (
        other.tp,
        other.fp,
        other.fn,
        other.precision,
        other.recall,
        other.f1,
    )


@settings(max_examples=200, deadline=None)
@given(UNITS.filter(bool), OPTIONS)
def test_a_far_prediction_never_raises_precision(times, options):
    units = units_of(times)
    before, after = score_mistakes(units, options), score_mistakes(with_prediction(units, 9999.0), options)
    assert defined(after.precision) <= defined(before.precision)
    assert after.recall == before.recall


@settings(max_examples=200, deadline=None)
@given(UNITS, OPTIONS)
def test_duplicates_never_raise_recall_or_precision(times, options):
    units = units_of(times)
    doubled = [replace(u, predictions=u.predictions + u.predictions) for u in units]
    before, after = score_mistakes(units, options), score_mistakes(doubled, options)
    assert defined(after.recall) == defined(before.recall) <= 1
    assert defined(after.precision) <= defined(before.precision)


@settings(max_examples=200, deadline=None)
@given(UNITS, OPTIONS, st.integers(-64, 64).map(float))
def test_shifting_everything_by_a_constant_changes_nothing(times, options, shift):
    one, other = score_mistakes(units_of(times), options), score_mistakes(units_of(times, shift), options)
    assert [o.pairs for o in one.outcomes] == [o.pairs for o in other.outcomes]
    assert (one.tp, one.fp, one.fn, one.f1) == (other.tp, other.fp, other.fn, other.f1)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.none() | st.integers(0, 200).map(float), TIMES), max_size=6), OPTIONS)
def test_ic_acc_stays_in_range(steps, options):
    scores = score_completion([CompletionStep(done, tuple(said)) for done, said in steps], options)
    assert 0 <= scores.ic_acc <= 100
    assert 0 <= scores.correct <= scores.total <= len(steps)


@pytest.mark.parametrize("zero", [0.0, None])
def test_empty_inputs_give_the_value_of_zero_division(zero):
    options = EgoOptions(zero_division=zero)
    nothing = score_mistakes([], options)
    assert (nothing.precision, nothing.recall, nothing.f1) == (zero, zero, zero)
    quiet = score_mistakes([MistakeUnit("v/0", "v", (), ())], options)
    assert (quiet.precision, quiet.recall, quiet.f1, quiet.quiet_units) == (zero, zero, zero, 1)
    missed = score_mistakes([MistakeUnit("v/0", "v", (Event(1.0, "x"),), ())], options)
    assert (missed.precision, missed.recall, missed.f1) == (zero, 0.0, 0.0)
    assert score_completion([], options).total == 0
