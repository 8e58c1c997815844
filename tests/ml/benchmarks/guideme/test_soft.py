"""The official profile of GuideMe's soft matching against a brute-force reading of its rules, and the edges of its definition."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.benchmarks.guideme.options import Candidates, DistanceUnit, Midpoint, Missing, SoftOptions, WithoutReferences, official
from ml.benchmarks.guideme.soft import score_corpus, score_video
from ml.benchmarks.guideme.timeline import Instant

OFFICIAL = official().soft


def random_timeline(seed):
    """Up to 16 instants, at most 3 utterances and 4 references, so that every assignment can be listed."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 17))
    times = np.sort(rng.choice(60, size=size, replace=False)).astype(float)
    said = {int(i) for i in rng.choice(size, size=min(size, int(rng.integers(0, 4))), replace=False)}
    references = {int(i) for i in rng.choice(size, size=min(size, int(rng.integers(0, 5))), replace=False)}
    instants = [
        Instant(float(t), f"g{i}" if i in said else "Silent", f"r{i}" if i in references else "Silent") for i, t in enumerate(times)
    ]
    table = rng.uniform(-1, 1, size=(size, size))
    return instants, lambda g, r: np.array([[table[int(a[1:]), int(b[1:])] for b in r] for a in g])


def brute_force(instants, cosines):
    """The rules one after the other: cut at midpoints, list every injective assignment, take the cheapest."""
    reference_times = [x.t_s for x in instants if x.reference != "Silent"]
    cuts = [0]
    for a, b in pairwise(reference_times):
        cuts.append(next(i for i, x in enumerate(instants) if x.t_s >= (a + b) / 2))
    cuts.append(len(instants))
    total, redundant, missed, matched = 0.0, 0, 0, 0
    for start, stop in pairwise(cuts):
        segment = instants[start:stop]
        talk = [i for i, x in enumerate(segment) if x.said != "Silent"]
        best, chosen = float("inf"), None
        for columns in permutations(range(len(segment)), len(talk)):
            cost = 0.0
            for i, j in zip(talk, columns, strict=True):
                is_reference = segment[j].reference != "Silent"
                text = 1 - abs(cosines([segment[i].said], [segment[j].reference])[0, 0]) if is_reference else 1.0
                cost += text + 1 - np.exp(-0.01 * (i - j) ** 2)
            if cost < best - 1e-12:
                best, chosen = cost, columns
        hit = set()
        for i, j in zip(talk, chosen or (), strict=True):
            if segment[j].reference == "Silent":
                redundant += 1
            else:
                matched += 1
                hit.add(j)
                total += abs(cosines([segment[i].said], [segment[j].reference])[0, 0])
        missed += sum(x.reference != "Silent" and j not in hit for j, x in enumerate(segment))
    precision = total / (matched + redundant) if matched + redundant else 0.0
    recall = total / (matched + missed) if matched + missed else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@pytest.mark.parametrize("block", range(10))
def test_official_profile_equals_brute_force_on_random_timelines(block):
    for seed in range(block * 100, block * 100 + 100):
        instants, cosines = random_timeline(seed)
        video = score_video(instants, cosines, OFFICIAL)
        assert np.allclose((video.precision, video.recall, video.f1), brute_force(instants, cosines), rtol=0, atol=1e-6), seed


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(DistanceUnit)), st.sampled_from(list(Candidates)), st.sampled_from(list(Midpoint)))
def test_values_stay_in_range_and_a_shift_in_time_changes_nothing(seed, unit, candidates, midpoint):
    instants, cosines = random_timeline(seed)
    options = SoftOptions(distance_unit=unit, candidates=candidates, midpoint=midpoint)
    video = score_video(instants, cosines, options)
    moved = score_video([Instant(x.t_s + 64.0, x.said, x.reference) for x in instants], cosines, options)
    assert video == moved
    for value in (video.precision, video.recall, video.f1, video.hard_precision, video.hard_recall, video.hard_f1):
        assert 0 <= value <= 1
    assert video.said == sum(x.said != "Silent" for x in instants)
    assert video.references == sum(x.reference != "Silent" for x in instants)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(40, 60))
def test_a_prediction_far_from_every_reference_never_raises_precision(seed, gap):
    instants, cosines = random_timeline(seed)
    last_s = instants[-1].t_s
    quiet = [Instant(last_s + 1 + i, "Silent") for i in range(gap)]
    before = score_video([*instants, *quiet], cosines, OFFICIAL)
    after = score_video([*instants, *quiet[:-1], Instant(last_s + gap, "g0")], cosines, OFFICIAL)
    assert after.said == before.said + 1
    assert after.precision <= before.precision
    assert after.recall == before.recall
    assert after.f1 <= before.f1


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.randoms())
def test_the_order_of_instants_does_not_matter(seed, random):
    instants, cosines = random_timeline(seed)
    mixed = list(instants)
    random.shuffle(mixed)
    assert score_video(mixed, cosines, OFFICIAL) == score_video(instants, cosines, OFFICIAL)


def test_identical_text_at_the_same_instant_is_matched_although_its_cost_is_zero():
    instants = [Instant(0.0, "Silent"), Instant(1.0, "add salt", "add salt"), Instant(2.0, "Silent")]
    video = score_video(instants, lambda g, r: np.ones((len(g), len(r))), OFFICIAL)
    assert (video.precision, video.recall, video.f1) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("instants", [[], [Instant(0.0, "Silent")], [Instant(0.0, "hello")], [Instant(0.0, "Silent", "hello")]])
def test_empty_inputs_give_defined_values(instants):
    video = score_video(instants, lambda g, r: np.ones((len(g), len(r))), OFFICIAL)
    assert (video.precision, video.recall, video.f1) == (0.0, 0.0, 0.0)


def test_a_video_without_references_counts_zero_or_is_left_out():
    videos = [
        score_video(instants, lambda g, r: np.ones((len(g), len(r))), OFFICIAL)
        for instants in ([Instant(0.0, "a", "a")], [Instant(0.0, "b")])
    ]
    assert score_corpus(videos, OFFICIAL).f1 == 0.5
    assert score_corpus(videos, SoftOptions(without_references=WithoutReferences.LEAVE_OUT)).f1 == 1.0
    assert score_corpus([], OFFICIAL).f1 is None


def test_failed_instants_vanish_or_count_as_silence():
    instants = [Instant(0.0, "a", "a"), Instant(9.0, None, "b")]
    drop, silence = (score_video(instants, lambda g, r: np.ones((len(g), len(r))), SoftOptions(missing=m)) for m in Missing)
    assert (drop.references, drop.recall) == (1, 1.0)
    assert (silence.references, silence.recall) == (2, 0.5)
