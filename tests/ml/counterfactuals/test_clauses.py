"""A time or heat setting belongs to the request that it stands in."""

import pytest

from ml.counterfactuals.rules.clauses import clauses
from ml.counterfactuals.rules.extraction import find_timing, food_item, kitchen_item
from ml.counterfactuals.rules.wording import timing_feedback


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("Heat oil in a pan and fry the onions for 5 minutes.", ["heat", "fry"]),
        ("Drain the pasta, cook it with the sauce for 2 minutes.", ["drain", "cook"]),
        ("Bring to a boil, then simmer on low for 10 minutes.", ["bring", "simmer"]),
        ("Whisk the eggs and pour them into a hot pan. Cook for 2 minutes", ["whisk", "pour", "cook"]),
        ("Once the pan is hot, add the mushrooms and cook for 3 minutes", ["add", "cook"]),
        ("Rinse, drain and soak the beans for 30 minutes", ["rinse", "drain", "soak"]),
        ("Cook pasta and sauce for 3 minutes", ["cook"]),
        ("Heat oil and butter for 3 minutes", ["heat"]),
        ("Cut or tear the lettuce", ["cut"]),
        ("Simmer, covered, for 5 minutes", ["simmer"]),
    ],
)
def test_requests_are_told_apart(text, verbs):
    assert [clause.imperative and clause.imperative.lemma for clause in clauses(text)] == verbs


@pytest.mark.parametrize(
    ("text", "food", "item", "feedback"),
    [
        (
            "Heat oil in a pan and fry the onions for 5 minutes.",
            "onions",
            "pan",
            "You did not fry the onions long enough, fry them for 9 minutes.",
        ),
        (
            "Put the tray in the oven and bake at 180 °C for 20 minutes.",
            None,
            "oven",
            "You did not bake long enough, bake for 9 minutes.",
        ),
        (
            "Put the dough in the oven and bake for 20 minutes",
            "dough",
            "oven",
            "You did not bake the dough long enough, bake it for 9 minutes.",
        ),
        (
            "Cover the bowl and leave the dough to rise for 1 hour",
            "dough",
            None,
            "You waited only 1 hour, let the dough rise for 9 minutes.",
        ),
        (
            "Drain the pasta, cook it with the sauce for 2 minutes.",
            "pasta",
            None,
            "You did not cook the pasta long enough, cook it for 9 minutes.",
        ),
        ("Add the garlic and cook for 1 minute", "garlic", None, "You did not cook the garlic long enough, cook it for 9 minutes."),
        ("Set the timer to 12 minutes", "timer", None, "You set the timer to only 12 minutes, set it to 9 minutes."),
    ],
)
def test_a_time_is_that_of_its_request(text, food, item, feedback):
    duration = find_timing(text)
    assert duration is not None
    assert food_item(text, duration.start) == food
    assert kitchen_item(text, duration.start) == item
    inputs = {"instruction": text, "amount_of_time": duration.text, "counterfactual_amount_of_time": "9 minutes", "food_item": food}
    assert timing_feedback(inputs | {"direction": "greater"}) == feedback
