"""Scripts: determinism, the spread of step lengths, what each split may use, and that every step is well formed."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.sample_kitchen.hands import Act
from ml.sample_kitchen.script import MAX_STEP_S, MIN_STEP_S, Recording, make_recording, perform_recipe, sequence_split, training_recordings
from ml.sample_kitchen.wording import instruction_text
from ml.sample_kitchen.world import MISTAKE_TYPE, UNSEEN_ITEMS, Behaviour, KitchenSplit, held_out, kitchen_class
from ml.vocabulary import MistakeType

seeds = st.integers(0, 10**7)
splits = st.sampled_from(KitchenSplit)
behaviours = st.sampled_from(Behaviour)


def step_lengths(recordings: list[Recording]) -> np.ndarray:
    return np.array([step.end_s - step.start_s for recording in recordings for step in recording.steps])


@given(seeds, splits, behaviours)
@settings(deadline=None)
def test_same_arguments_give_the_same_script(seed, split, behaviour):
    assert make_recording(seed, split, behaviour) == make_recording(seed, split, behaviour)


@given(seeds, splits, behaviours)
@settings(deadline=None)
def test_times_are_in_order(seed, split, behaviour):
    recording = make_recording(seed, split, behaviour)
    before = 0.0
    for step in recording.steps:
        assert before <= step.scene_s <= step.start_s < step.end_s
        assert MIN_STEP_S - 0.01 <= step.end_s - step.start_s <= MAX_STEP_S + 0.01
        assert all(action.start_s < action.end_s for action in step.actions)
        ends = [step.start_s, *(action.end_s for action in step.actions)]
        assert all(action.start_s >= end - 0.002 for action, end in zip(step.actions, ends[:-1], strict=True))
        before = step.end_s
    assert recording.steps[-1].end_s <= recording.duration_s


@given(seeds, splits)
@settings(deadline=None)
def test_an_action_is_over_when_the_next_scene_begins(seed, split):
    recording = make_recording(seed, split)
    for step, following in pairwise(recording.steps):
        assert max(action.end_s for action in step.actions) <= following.scene_s


def test_step_lengths_are_spread_widely():
    lengths = step_lengths(list(training_recordings(200, seed=3)))
    assert 12.5 <= lengths.mean() <= 16
    low, middle, high = np.percentile(lengths, [5, 50, 95])
    assert low < 6.5
    assert high > 26
    assert 9 < middle < 15
    # A timer that always says "done" after the same time is within 3 s of the end in fewer than half of the steps.
    assert max(np.mean(abs(lengths - guess) <= 3) for guess in np.arange(4, 40, 0.5)) < 0.45


def test_steps_do_not_start_at_whole_seconds():
    starts = np.array([step.start_s for recording in training_recordings(40, seed=1) for step in recording.steps])
    parts = starts % 1
    assert np.histogram(parts, bins=4, range=(0, 1))[0].min() > 0.15 * len(parts)


def test_every_mistake_type_is_met_about_as_often():
    kinds = [MISTAKE_TYPE[step.instruction.kind] for recording in training_recordings(150, seed=2) for step in recording.steps]
    assert all(kinds.count(mistake_type) > 0.07 * len(kinds) for mistake_type in MistakeType)


@given(seeds)
@settings(deadline=None)
def test_evaluation_shows_held_out_combinations_and_training_never_does(seed):
    for split in (KitchenSplit.TRAIN, KitchenSplit.VALIDATION, KitchenSplit.EVALUATION):
        recording = make_recording(seed, split)
        kitchen = kitchen_class(recording.counter, recording.bowl)
        assert sequence_split(tuple(step.instruction.kind for step in recording.steps)) is split
        for step in recording.steps:
            if any(held_out(step.instruction.item, other) for other in range(5)):
                assert held_out(step.instruction.item, kitchen) == (split is KitchenSplit.EVALUATION)


@given(seeds, st.sampled_from([KitchenSplit.TRAIN, KitchenSplit.VALIDATION, KitchenSplit.EVALUATION]))
@settings(deadline=None)
def test_unseen_words_are_said_nowhere_else(seed, split):
    unseen = {item for items in UNSEEN_ITEMS.values() for item in items} - {"tin", "burner"}
    seen_words = {word.strip(".") for step in make_recording(seed, split).steps for word in instruction_text(step.instruction).split()}
    unseen_words = {step.instruction.item for step in make_recording(seed, KitchenSplit.UNSEEN).steps} - {"tin", "burner"}
    assert not seen_words & unseen
    assert unseen_words <= unseen


def test_training_supply_differs_between_seeds_and_from_make_recording():
    first = [recording.steps for recording in training_recordings(20, seed=0)]
    second = [recording.steps for recording in training_recordings(20, seed=1)]
    assert not any(steps in second for steps in first)
    assert first == [recording.steps for recording in training_recordings(20, seed=0)]


def test_performances_of_a_recipe_share_instructions_and_nothing_else():
    first, other = (perform_recipe(make_recording(5, KitchenSplit.TRAIN).recipe, seed) for seed in (1, 2))
    assert [s.instruction for s in first.steps] == [s.instruction for s in other.steps]
    assert first.look != other.look
    assert [s.start_s for s in first.steps] != [s.start_s for s in other.steps]


@given(seeds, splits)
@settings(deadline=None)
def test_a_person_who_errs_is_not_corrected_and_one_who_corrects_is(seed, split):
    errs, corrects = (make_recording(seed, split, behaviour) for behaviour in (Behaviour.ERRS, Behaviour.CORRECTS))
    assert any(step.mistake for step in errs.steps)
    assert any(step.mistake for step in corrects.steps)
    for step in errs.steps:
        assert (step.mistake is None) == (step.instruction == step.performed) == (step.success_s is not None)
    for step in corrects.steps:
        assert step.success_s is not None
        if step.mistake:
            assert step.mistake.corrected_s == step.success_s > step.mistake.apparent_s
            assert [a for a in step.actions if a.start_s >= step.mistake.apparent_s + 0.5], "something is done after being told"


@given(seeds)
@settings(deadline=None)
def test_a_correction_ends_with_the_amount_that_was_asked_for(seed):
    for step in make_recording(seed, KitchenSplit.TRAIN, Behaviour.CORRECTS).steps:
        names = [action.name for action in step.actions]
        if step.instruction.kind == "scoop":
            assert names.count(Act.SCOOP) - names.count(Act.UNSCOOP) == step.instruction.value
        if step.instruction.kind == "place":
            assert names.count(Act.PLACE) - names.count(Act.UNPLACE) == step.instruction.value
