import pytest

from ml.counterfactuals.registry import DIRECTIONS, MISTAKE_RULES, Stage, offline_rules, render_prompt
from ml.errors import InputError
from ml.vocabulary import MistakeType

INPUTS = {
    "instruction": "Add 3 scoops of cocoa.",
    "counterfactual_instruction": "Add 2 scoops of cocoa.",
    "ingredient": "cocoa",
    "quantity": "3 scoops",
    "counterfactual_quantity": "2 scoops",
    "narrations": [{"start_s": 0.0, "end_s": 10.0, "text": "The person adds 3 scoops of cocoa."}],
    "options": [2.5, 7.5],
    "clip_start_s": 0.0,
    "clip_end_s": 10.0,
    "minimum_change_s": 15.0,
}


@pytest.mark.parametrize("mistake_type", list(MistakeType))
def test_every_type_has_its_prompts_and_rules(mistake_type):
    rules = MISTAKE_RULES[mistake_type]
    assert set(rules.prompts.timestamp) == set(rules.prompts.feedback) == set(DIRECTIONS[mistake_type])
    assert rules.proposes or set(rules.prompts.change) == set(DIRECTIONS[mistake_type])
    for stage in Stage:
        if stage is Stage.CHANGE and rules.proposes:
            continue
        assert f"{stage}.{mistake_type}" in offline_rules()
        for direction in DIRECTIONS[mistake_type]:
            system, prompt = render_prompt(stage, mistake_type, INPUTS | {"direction": direction})
            assert system
            assert "$" not in prompt


def test_a_prompt_shows_its_inputs():
    _, prompt = render_prompt("timestamp", "measurement", INPUTS | {"direction": "smaller"})
    for part in ("Add 2 scoops of cocoa.", "0 s to 10 s: The person adds 3 scoops of cocoa.", "2.5, 7.5", "{'timestamp'"):
        assert part in prompt


@pytest.mark.parametrize(("mistake_type", "changed"), [("temperature", "heat_setting"), ("timing", "amount_of_time")])
def test_rewriting_is_told_what_is_heated_and_where(mistake_type, changed):
    inputs = {
        "instruction": "Fry it",
        "food_item": "the egg",
        "kitchen_item": "skillet",
        changed: "old",
        f"counterfactual_{changed}": "new",
    }
    _, prompt = render_prompt("instruct", mistake_type, inputs)
    for part in inputs.values():
        assert part in prompt


def test_directions_follow_the_sense_of_the_video():
    """The counterfactual is what was asked; the plain field is what the person does."""
    _, smaller = render_prompt("timestamp", "measurement", INPUTS | {"direction": "smaller"})
    assert "asks for 2 scoops of cocoa. The person goes on to 3 scoops" in smaller
    _, greater = render_prompt("timestamp", "measurement", INPUTS | {"direction": "greater"})
    assert "asks for 2 scoops of cocoa. The person uses only 3 scoops" in greater


@pytest.mark.parametrize(("stage", "mistake_type"), [("guess", "timing"), ("extract", "colour"), ("change", "preparation")])
def test_unknown_names_are_told(stage, mistake_type):
    with pytest.raises(InputError):
        render_prompt(stage, mistake_type, INPUTS)


def test_a_direction_of_another_type_is_told():
    with pytest.raises(InputError, match="lower, higher"):
        render_prompt("change", "temperature", INPUTS | {"direction": "smaller"})
