"""Pairing on a time line: the optimum against a listing of all matchings, and the other named rules."""

from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.benchmarks.ego.matching import constrained_pairs, optimal_pairs, pair_events
from ml.benchmarks.ego.options import EgoOptions, Matching

TIMES = st.lists(st.integers(0, 40).map(float), max_size=4)
OPTIONS = EgoOptions()


def listed_optimum(references, predictions, near):
    """All one-to-one matchings; most pairs, then least sum, then the earliest list of pairs in time order."""
    r = sorted(range(len(references)), key=lambda i: (references[i], i))
    p = sorted(range(len(predictions)), key=lambda j: (predictions[j], j))
    best: tuple[int, float, list[tuple[int, int]]] = (0, 0.0, [])
    for size in range(1, min(len(r), len(p)) + 1):
        for rows in combinations(range(len(r)), size):
            for columns in permutations(range(len(p)), size):
                pairs = list(zip(rows, columns, strict=True))
                distances = [abs(references[r[a]] - predictions[p[b]]) for a, b in pairs]
                if all(near(d) for d in distances):
                    best = min(best, (-size, sum(distances), pairs))
    return sorted((r[a], p[b]) for a, b in best[2])


@settings(max_examples=300, deadline=None)
@given(TIMES, TIMES)
def test_optimal_pairs_are_the_listed_optimum(references, predictions):
    assert optimal_pairs(references, predictions, OPTIONS.near) == listed_optimum(references, predictions, OPTIONS.near)


@settings(max_examples=150, deadline=None)
@given(TIMES, TIMES)
def test_the_assignment_with_nothing_forbidden_is_the_same(references, predictions):
    found = constrained_pairs(references, predictions, OPTIONS.near, lambda r, p: True)
    assert found == optimal_pairs(references, predictions, OPTIONS.near)


def test_forbidden_pairs_may_force_a_crossing():
    allowed = {(0, 1), (1, 0)}
    assert constrained_pairs([10.0, 12.0], [10.0, 12.0], OPTIONS.near, lambda r, p: (r, p) in allowed) == [(0, 1), (1, 0)]


@settings(max_examples=200, deadline=None)
@given(TIMES, TIMES, st.sampled_from(list(Matching)), st.booleans())
def test_every_rule_keeps_inside_the_window_and_within_the_counts(references, predictions, matching, inclusive):
    options = EgoOptions(matching=matching, inclusive=inclusive)
    paired = pair_events(references, predictions, options)
    assert len({r for r, _ in paired.pairs}) == len(paired.pairs) <= len(references)
    assert all(options.near(references[r] - predictions[p]) for r, p in paired.pairs)
    assert paired.hit_predictions <= max(len(references), len(predictions))
    if matching in (Matching.OPTIMAL, Matching.CLOSEST_FIRST, Matching.PREDICTION_ORDER):
        assert len({p for _, p in paired.pairs}) == len(paired.pairs)
        assert len(paired.wrong_predictions) + len(paired.pairs) == len(predictions)


@pytest.mark.parametrize(
    ("matching", "pairs"),
    [
        (Matching.OPTIMAL, [(0, 0), (1, 1)]),
        (Matching.CLOSEST_FIRST, [(0, 1)]),  # 21 takes the reference at 20, and nothing is left for the one at 34
        (Matching.PREDICTION_ORDER, [(0, 0), (1, 1)]),
        (Matching.ANY_IN_WINDOW, [(0, 1), (1, 1)]),
        (Matching.TWO_DIRECTIONS, [(0, 1)]),
    ],
)
def test_named_rules_on_one_example(matching, pairs):
    assert list(pair_events([20.0, 34.0], [6.0, 21.0], EgoOptions(matching=matching)).pairs) == pairs
