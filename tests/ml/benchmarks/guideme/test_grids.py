"""The instants of GuideMe's protocols."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.benchmarks.families import GuideMeVariant, History, parse_protocol
from ml.benchmarks.guideme.conversations import GuideMeItem, Turn, as_video
from ml.benchmarks.guideme.grids import grid_of
from ml.benchmarks.guideme.timeline import SILENT

SECONDS = st.lists(st.integers(1, 400), unique=True, min_size=1, max_size=20).map(sorted)


def item(answers, video_id="v/1", duration_s=None):
    turns = (Turn(0.0, "user", "help me"), *(Turn(float(t), "assistant", f"say {t}", "instruction") for t in answers))
    return GuideMeItem(video_id, None, "", "", turns, duration_s)


def anchor(seed=0):
    return GuideMeVariant(False, seed=seed)


@given(SECONDS, st.integers(0, 5))
def test_silent_anchors_are_balanced_far_from_answers_and_between_two(answers, seed):
    ticks = grid_of(item(answers), anchor(seed))
    silent = [t for t in ticks if int(t) not in answers]
    assert set(map(float, answers)) <= set(ticks)
    assert list(ticks) == sorted(set(ticks))
    assert len(silent) <= len(answers)
    for t in silent:
        assert t == int(t)
        assert all(abs(t - answer) >= 5 for answer in answers)
        assert answers[0] < t < answers[-1]
    eligible = [t for t in range(answers[0], answers[-1]) if all(abs(t - answer) >= 5 for answer in answers)]
    assert len(silent) == min(len(answers), len(eligible))


def test_silent_anchors_keep_away_from_answers_between_two_seconds():
    answers = [5.9, 12.9, 22.95, 40.5]
    for seed in range(20):
        silent = set(grid_of(item(answers), anchor(seed))) - {5.0, 12.0, 22.0, 40.0}
        assert silent
        assert all(abs(t - answer) >= 5 for t in silent for answer in answers)


def test_the_seed_is_all_that_the_silent_instants_depend_on():
    answers = [5, 60, 200, 320]
    first = grid_of(item(answers), anchor())
    assert grid_of(item(answers), anchor()) == first
    assert any(grid_of(item(answers), anchor(seed)) != first for seed in range(1, 6))
    assert any(grid_of(item(answers, f"v/{n}"), anchor()) != first for n in range(2, 7))


@given(SECONDS, st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from([None, 30.0, 500.0]))
def test_every_dense_reference_belongs_to_the_last_instant_before_it(answers, interval_s, duration_s):
    one = item(answers, duration_s=duration_s)
    ticks = grid_of(one, GuideMeVariant(True, interval_s=interval_s))
    video = as_video(one, ticks, {}, interval_s)
    at = {instant.t_s: instant.reference for instant in video.instants}
    for answer in answers:
        tick = max((t for t in ticks if t <= answer), default=None)
        if tick is not None and answer - tick < interval_s and ticks[-1] >= answer - interval_s + 1e-9:
            own = [other for other in answers if tick <= other < tick + interval_s]
            assert at[tick] == f"say {own[-1]}"
    assert sum(reference != SILENT for reference in at.values()) <= len(answers)


def test_anchor_instants_carry_their_references():
    one = item([5, 60, 200])
    ticks = grid_of(one, anchor())
    video = as_video(one, ticks, dict.fromkeys(ticks, SILENT))
    assert [x.t_s for x in video.instants if x.reference != SILENT] == [5.0, 60.0, 200.0]


def test_a_video_without_answers_has_no_instant():
    assert grid_of(item([]), anchor()) == ()


@pytest.mark.parametrize("name", ["g.dense", "g.dense-own", "g.anchor-none"])
def test_the_window_is_the_same_for_every_history(name):
    variant = parse_protocol(name).guideme
    assert replace(variant, history=History.TRUE, is_dense=True) == parse_protocol("g.dense").guideme
