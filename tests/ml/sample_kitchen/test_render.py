"""Pictures: determinism, sizes, views, and that what a script says is there to be seen."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from ml.errors import InputError
from ml.sample_kitchen.hands import Act
from ml.sample_kitchen.render import render_frames
from ml.sample_kitchen.script import Recording, Step, make_recording, with_look
from ml.sample_kitchen.world import VALUES, Behaviour, Kind, KitchenSplit, View


def steps_of(kind: Kind, view: View, split: KitchenSplit = KitchenSplit.TRAIN, seeds: int = 300) -> list[tuple[Recording, Step]]:
    found = []
    for seed in range(seeds):
        recording = make_recording(seed, split)
        found += [(recording, step) for step in recording.steps if step.instruction.kind is kind]
    return [(with_look(recording, view=view, noise=0.0, sway=0.0), step) for recording, step in found]


def test_same_script_gives_the_same_pictures_in_any_order():
    recording = make_recording(8, KitchenSplit.TRAIN)
    times = np.arange(0, recording.duration_s, 1.5)
    forwards = render_frames(recording, times, 64)
    assert forwards.dtype == np.uint8
    assert forwards.shape == (len(times), 64, 64, 3)
    assert np.array_equal(forwards, render_frames(recording, times[::-1], 64)[::-1])


def test_small_pictures_are_large_ones_averaged():
    recording = make_recording(8, KitchenSplit.EVALUATION)
    times = [3.0, 20.0, 41.5]
    large, small = render_frames(recording, times, 128), render_frames(recording, times, 64)
    averaged = large.reshape(3, 64, 2, 64, 2, 3).mean(axis=(2, 4))
    assert np.abs(averaged - small).max() <= 2.5


def test_a_size_that_does_not_divide_is_refused():
    with pytest.raises(InputError, match="size 100"):
        render_frames(make_recording(1, KitchenSplit.TRAIN), [0.0], 100)


@pytest.mark.parametrize("view", list(View))
@pytest.mark.parametrize("kind", [Kind.SCOOP, Kind.PLACE])
def test_every_measure_that_lands_can_be_seen_at_64_px(kind, view):
    for recording, step in steps_of(kind, view)[:6]:
        added = [action for action in step.actions if action.name in (Act.SCOOP, Act.PLACE)]
        # The hand is away between two measures, or at least off the bowl: compare rests after each, with the jar in place.
        rests = [step.start_s + 0.01, *(action.end_s + 0.01 for action in added)]
        pictures = render_frames(recording, rests, 64).astype(int)
        for before, after in pairwise(pictures):
            changed = np.abs(after - before).sum(axis=2) > 60
            assert changed.sum() >= 20


@pytest.mark.parametrize("view", list(View))
@pytest.mark.parametrize("kind", [Kind.TIN, Kind.CUT, Kind.WASH, Kind.KNOB, Kind.BEAT, Kind.MIX])
def test_alternatives_look_different_at_64_px(kind, view):
    """The same step with only the value exchanged: pictures of the work or its result differ clearly."""
    recording, step = steps_of(kind, view)[0]
    work = next(action for action in step.actions if action.name == kind)
    times = [*np.linspace(work.start_s + 0.5 * (work.end_s - work.start_s), work.end_s - 0.05, 6), step.end_s]
    pictures = {}
    for value in VALUES[kind]:
        actions = tuple(replace(a, value=value) if a.value == step.instruction.value else a for a in step.actions)
        steps = tuple(replace(s, actions=actions) if s.index == step.index else s for s in recording.steps)
        pictures[value] = render_frames(replace(recording, steps=steps), times, 64).astype(int)
    for first, other in combinations(pictures.values(), 2):
        changed = (np.abs(first - other).sum(axis=3) > 60).sum(axis=(1, 2))
        assert (changed >= 40).sum() >= 2


@pytest.mark.parametrize("view", list(View))
def test_the_timer_gains_a_segment_every_two_seconds(view):
    recording, step = steps_of(Kind.COOK, view)[0]
    cooking = next(action for action in step.actions if action.name is Act.COOK)
    length = int(step.instruction.value)
    pictures = render_frames(recording, [cooking.start_s + second + 0.05 for second in range(0, length, 2)], 128).astype(int)
    # Lit segments are the only strong green in the top rows.
    top = pictures[:, :14]
    green = ((top[..., 1] > 150) & (top[..., 0] < 140) & (top[..., 2] < 180)).sum(axis=(1, 2))
    assert (np.diff(green) > 40).all()


def test_views_differ_and_the_head_sways():
    recording = make_recording(12, KitchenSplit.TRAIN)
    step = recording.steps[0]
    idle = [step.end_s + 0.01, step.end_s + 0.011]
    above, head = (render_frames(with_look(recording, view=view, noise=0.0), idle, 128)[0].astype(int) for view in View)
    assert np.abs(above - head).mean() > 5
    swaying = with_look(recording, view=View.HEAD, noise=0.0, sway=0.02)
    first, later = render_frames(swaying, [0.0, 1.2], 128).astype(int)
    assert np.abs(first - later).mean() > 0.5
    assert {make_recording(seed, KitchenSplit.TRAIN).look.view for seed in range(20)} == set(View)


def test_a_correction_changes_the_picture():
    for seed in range(60):
        recording = make_recording(seed, KitchenSplit.EVALUATION, Behaviour.CORRECTS)
        still = with_look(recording, noise=0.0, sway=0.0)
        for step in recording.steps:
            if step.mistake and step.instruction.kind in (Kind.KNOB, Kind.TIN):
                before, after = render_frames(still, [step.mistake.apparent_s + 0.01, step.end_s], 64).astype(int)
                assert (np.abs(before - after).sum(axis=2) > 60).sum() >= 40


def test_noise_never_wraps_around():
    """Very bright and very dark kitchens stay bright and dark."""
    for brightness in (0.3, 1.6):
        recording = with_look(make_recording(2, KitchenSplit.TRAIN), noise=9.0)
        recording = with_look(recording, brightness=brightness)
        noisy = render_frames(recording, [1.0, 9.0], 128).astype(int)
        clean = render_frames(with_look(recording, noise=0.0), [1.0, 9.0], 128).astype(int)
        assert np.abs(noisy - clean).max() <= 12
