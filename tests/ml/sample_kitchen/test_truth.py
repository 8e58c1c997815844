"""Truth against the script: counterfactual moments, narrations, labels."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.counterfactuals.registry import DIRECTIONS
from ml.sample_kitchen.hands import Act, Action
from ml.sample_kitchen.script import Recording, make_recording
from ml.sample_kitchen.truth import (
    FRAME_GAP_S,
    counterfactuals,
    second_class,
    second_classes,
    second_counts,
    second_labels,
    timer_shows,
    window_narration,
)
from ml.sample_kitchen.wording import WAITS, feedback_text, instruction_text
from ml.sample_kitchen.world import VALUES, Behaviour, Kind, KitchenSplit, Value, alternatives, direction

seeds = st.integers(0, 10**7)
splits = st.sampled_from(KitchenSplit)


@given(seeds, splits, st.sampled_from(Behaviour))
@settings(deadline=None)
def test_every_counterfactual_has_a_moment_in_the_step_or_a_reason(seed, split, behaviour):
    for step in make_recording(seed, split, behaviour).steps:
        made = counterfactuals(step)
        assert {c.instruction.value for c in made} == set(VALUES[step.instruction.kind]) - {step.instruction.value}
        for counterfactual in made:
            assert counterfactual.direction in DIRECTIONS[counterfactual.mistake_type]
            if step.mistake:
                assert counterfactual.apparent_s is None
                assert counterfactual.reason
            else:
                assert counterfactual.reason == ""
                assert counterfactual.apparent_s is not None
                assert step.start_s < counterfactual.apparent_s <= step.end_s


def of_kind(kind: Kind, value: object) -> tuple[Recording, int]:
    """A clean recording with a step of that kind and value, and the step's index."""
    for seed in range(2000):
        recording = make_recording(seed, KitchenSplit.TRAIN)
        for step in recording.steps:
            if step.instruction.kind is kind and step.instruction.value == value:
                return recording, step.index
    raise AssertionError("none found")


def moments(kind: Kind, value: object) -> tuple[dict[Value, float], list[Action], float]:
    recording, index = of_kind(kind, value)
    step = recording.steps[index]
    assert step.success_s is not None
    found = {c.instruction.value: c.apparent_s for c in counterfactuals(step) if c.apparent_s is not None}
    return found, list(step.actions), step.success_s


def test_too_many_scoops_show_with_the_first_one_too_many_and_too_few_with_the_jar_put_away():
    found, actions, success_s = moments(Kind.SCOOP, 3)
    landed = [action.moment_s for action in actions if action.name is Act.SCOOP]
    assert found == {1: landed[1], 2: landed[2], 4: success_s, 5: success_s}
    assert success_s == next(action.moment_s for action in actions if action.name is Act.AWAY)


def test_cooking_too_long_shows_with_the_next_timer_segment_and_too_short_with_the_pan_taken_off():
    found, actions, success_s = moments(Kind.COOK, 10)
    cooking = next(action for action in actions if action.name is Act.COOK)
    for seconds in (4, 6, 8):
        assert timer_shows(cooking, found[seconds] + 0.01) == seconds + 2
        assert timer_shows(cooking, found[seconds] - 0.01) == seconds
    assert found[12] == found[14] == success_s >= cooking.end_s


def test_a_wrong_level_shows_when_the_knob_stops_turning():
    found, actions, _ = moments(Kind.KNOB, "medium")
    turn = next(action for action in actions if action.name is Act.KNOB)
    assert found == {"low": turn.moment_s, "high": turn.moment_s}
    assert turn.start_s < turn.moment_s < turn.end_s


def test_a_wrong_technique_shows_soon_after_the_work_begins():
    for kind, value in ((Kind.CUT, "dice"), (Kind.MIX, "fold"), (Kind.BEAT, "whisk"), (Kind.TIN, "line"), (Kind.WASH, "peel")):
        found, actions, success_s = moments(kind, value)
        work = next(action for action in actions if action.name == kind)
        for apparent_s in found.values():
            assert work.start_s + 1 <= apparent_s <= min(work.start_s + 3, success_s)


@given(seeds, splits)
@settings(deadline=None)
def test_a_real_mistake_becomes_apparent_when_the_counterfactual_of_a_clean_one_would(seed, split):
    """The erring person's script is the clean script of the wrong instruction, so both rules must agree."""
    for step in make_recording(seed, split, Behaviour.ERRS).steps:
        if step.mistake:
            assert step.start_s < step.mistake.apparent_s <= step.end_s
            names = [action.name for action in step.actions]
            if step.instruction.kind is Kind.SCOOP:
                landed = [action.moment_s for action in step.actions if action.name is Act.SCOOP]
                assert len(landed) == step.performed.value
                asked = int(step.instruction.value)
                expected = landed[asked] if asked < len(landed) else step.actions[names.index(Act.AWAY)].moment_s
                assert step.mistake.apparent_s == expected


@given(seeds, splits, st.floats(0, 80))
@settings(deadline=None)
def test_narrated_scoops_are_those_that_land_by_the_last_frame_of_the_window(seed, split, start_s):
    recording = make_recording(seed, split)
    told = window_narration(recording, start_s, start_s + 10)
    for event in told.told:
        assert event.text in told.text
        if event.verb == "add":
            landed = [
                action
                for step in recording.steps
                for action in step.actions
                if action.name is Act.SCOOP and action.item == event.object and start_s <= action.moment_s <= start_s + 10 - FRAME_GAP_S
            ]
            assert int(event.attribute or 0) == len(landed)
    if told.main is None:
        assert told.text == WAITS
    else:
        assert told.main in told.told
        assert told.main.overlap_s == max(event.overlap_s for event in told.told)


def test_a_whole_step_is_narrated_with_its_own_value():
    for kind, value, verb in (
        (Kind.SCOOP, 2, "add"),
        (Kind.CUT, "grate", "grate"),
        (Kind.BEAT, "fork", "beat"),
        (Kind.KNOB, "low", "turn"),
    ):
        recording, index = of_kind(kind, value)
        step = recording.steps[index]
        told = {event.verb: event for event in window_narration(recording, step.start_s, step.end_s).told}
        assert told[verb].attribute == value
        assert told[verb].object == step.instruction.item


def test_labels_name_what_is_done_in_each_second():
    recording = make_recording(11, KitchenSplit.TRAIN)
    labels = second_labels(recording)
    assert labels.shape == (int(np.ceil(recording.duration_s)),)
    for action in recording.actions:
        inside = [second for second in range(len(labels)) if action.start_s + 0.25 <= second <= action.end_s - 0.75]
        assert all(second_classes()[labels[second]] == second_class(action) for second in inside)
    assert len(set(labels.tolist())) > 4


def test_things_never_trained_on_have_no_label_and_known_ones_have():
    unseen = second_labels(make_recording(4, KitchenSplit.UNSEEN))
    assert (unseen == -1).any()
    for split in (KitchenSplit.TRAIN, KitchenSplit.EVALUATION):
        for seed in range(15):
            assert (second_labels(make_recording(seed, split)) >= 0).all()
    assert len(set(second_classes())) == len(second_classes())


def test_counts_end_at_the_number_that_was_added():
    recording, index = of_kind(Kind.SCOOP, 4)
    step = recording.steps[index]
    assert second_counts(recording)[int(step.end_s - 0.5)] == 4
    recording, index = of_kind(Kind.COOK, 8)
    step = recording.steps[index]
    assert second_counts(recording)[int(step.end_s - 0.5)] == 4


@given(seeds)
@settings(deadline=None)
def test_feedback_says_what_was_asked_and_differs_between_alternatives(seed):
    for step in make_recording(seed, KitchenSplit.TRAIN).steps:
        for asked in alternatives(step.instruction):
            text = feedback_text(asked, step.performed)
            assert text.endswith(".")
            # What the instruction asked for is named: the number, level, tool or verb.
            word = {"grease": "grease", "line": "line"}.get(str(asked.value), str(asked.value))
            assert word in text.replace(",", "").replace(".", "").split(), (text, instruction_text(asked))


def test_directions_say_how_the_changed_instruction_relates_to_the_original():
    recording, index = of_kind(Kind.SCOOP, 3)
    original = recording.steps[index].instruction
    assert {changed.value: direction(original, changed) for changed in alternatives(original)} == {
        1: "smaller",
        2: "smaller",
        4: "greater",
        5: "greater",
    }
