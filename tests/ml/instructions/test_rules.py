import json

import pytest

from ml.instructions.rules import instruct_described, instruction_of, is_cooking, propose_steps


@pytest.mark.parametrize(
    ("description", "instruction"),
    [
        ("Adds the spinach to the pan.", "Add the spinach to the pan."),
        ("Peeling the outer layer of the onion", "Peel the outer layer of the onion."),
        ("#C C picks the knife and cuts the onion", "Pick the knife and cut the onion."),
        ("The person washes her tomatoes", "Wash your tomatoes."),
        ("stir  fry the  bacon", "Stir fry the bacon."),
        ("adds salt and peppers", "Add salt and peppers."),
        ("the dog runs", None),
    ],
)
def test_descriptions_become_imperatives(description, instruction):
    assert instruction_of(description) == instruction


def test_other_verbs_are_turned_where_the_step_is_filed_as_cooking():
    assert instruction_of("Moulds the dough into balls.") is None
    assert instruction_of("Moulds the dough into balls.", any_verb=True) == "Mould the dough into balls."
    assert instruction_of("regulate cooker heat", any_verb=True) == "Regulate cooker heat."
    assert instruction_of("Sun bakes the dough", any_verb=True) is None


@pytest.mark.parametrize(
    ("description", "activity", "category", "cooking"),
    [
        ("wash the tomatoes in the sink", "COOKING:MAKE_SALAD", "General cooking activity: Wash ingredients in water", True),
        ("wash chopsticks", "COOKING:MAKE_SALAD", "Kitchen cleaning activity: Wash chopstick in kitchen sink", False),
        ("wash chopsticks", "COOKING:MAKE_SALAD", None, False),
        ("clean hands", "COOKING:MAKE_SALAD", "General activity: Wash hands", False),
        ("throws dirt into the dustbin", "COOKING:COOKING_GENERAL", "General kitchen activity: Dispose dirt", False),
        ("cut the paper", "CRAFTING:MAKE_A_CARD", "General: Cut paper", False),
        ("Crack the eggs", "Cooking an Omelet", None, True),
        ("Unbox covid19 test package", "Covid-19 Rapid Antigen Test", None, False),
        ("Remove the wheel", "Fix a Flat Tire - Replace a Bike Tube", None, False),
        ("stirs the pot", None, None, True),
        ("reads the newspaper", None, None, False),
    ],
)
def test_what_is_cooking(description, activity, category, cooking):
    assert is_cooking(description, activity, category) is cooking


def test_the_reply_tells_what_is_no_cooking_from_what_no_rule_can_turn():
    ask = {"activity": "COOKING:MAKE_SOUP", "category": None}
    assert json.loads(instruct_described({"description": "clean hands", **ask})) == {"is_cooking": False, "instruction": ""}
    assert json.loads(instruct_described({"description": "Trun chicken", **ask})) == {"is_cooking": True, "instruction": ""}


def windows(*texts: str) -> list[dict]:
    return [{"start_s": index * 5.0, "end_s": index * 5.0 + 10, "text": text} for index, text in enumerate(texts)]


def proposed(*texts: str) -> list[dict]:
    told = windows(*texts)
    return json.loads(propose_steps({"narrations": told, "start_s": 0.0, "end_s": told[-1]["end_s"]}))["steps"]


def test_windows_of_one_act_are_one_step_and_meet_in_the_middle_of_their_overlap():
    got = proposed(
        "The person slices the onion with a knife.",
        "The left hand holds the onion while the right hand slices the onion with a knife.",
        "The person pours oil into the pan.",
        "The person pours oil into the pan.",
    )
    assert [(s["start_s"], s["end_s"], s["instruction"]) for s in got] == [
        (0.0, 12.5, "Slice the onion with a knife."),
        (12.5, 25.0, "Pour oil into the pan."),
    ]


def test_one_window_of_something_else_does_not_cut_a_step_two_do():
    same = "The person stirs the soup with a spoon."
    assert len(proposed(same, "The person looks at the window.", same)) == 1
    assert len(proposed(same, "The hands rest.", "The hands rest.", same)) == 2


def test_nothing_to_cook_is_no_step():
    assert proposed("The person takes a phone.", "The hands do nothing.") == []


def test_counts_of_a_window_are_left_out_and_cleaning_is_no_step():
    got = proposed("The person adds 2 scoops of cocoa to the bowl.", "The person adds the 3rd scoop.", "The person wipes the counter.")
    assert [step["instruction"] for step in got][:1] == ["Add cocoa to the bowl."]
    assert not any("counter" in step["instruction"] for step in got)
