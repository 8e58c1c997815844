"""A changed heat setting of a model must be readable, of the same kind and visibly lower or higher."""

import pytest

from ml.counterfactuals.types.temperature import RULES
from ml.vocabulary import Direction


def wrong(old: str, new: str, direction: str) -> str | None:
    return RULES.check("", {"heat_setting": old, "counterfactual_heat_setting": new}, Direction(direction), 0.0)


@pytest.mark.parametrize(
    ("old", "new", "direction"),
    [
        ("medium", "low", "lower"),
        ("medium heat", "medium-high heat", "higher"),
        ("high", "medium", "lower"),
        ("350°F", "300°F", "lower"),
        ("350 degrees", "400 degrees", "higher"),
        ("350°F", "200 °C", "higher"),
        ("180 degrees", "200 °C", "higher"),
        ("195-205 °F or 91-96 °C", "175 °F or 79 °C", "lower"),
        ("195-205 °F or 91-96 °C", "79 °C / 175 °F", "lower"),
        ("50% power", "80% power", "higher"),
        ("gas mark 4", "gas mark 6", "higher"),
        ("setting 2", "3", "higher"),
        ("cold", "hot", "higher"),
        ("hot", "room temperature", "lower"),
        ("Lower the heat", "Raise the heat", "higher"),
        ("turn the heat down", "turn the heat up", "higher"),
    ],
)
def test_a_change_on_the_asked_side_is_taken(old, new, direction):
    assert wrong(old, new, direction) is None


@pytest.mark.parametrize(
    ("old", "new", "direction"),
    [
        ("medium", "a higher one", "lower"),
        ("medium", "a lower one", "lower"),
        ("high", "180 °C", "lower"),
        ("high", "cold", "lower"),
        ("350°F", "175°C", "lower"),
        ("350°F", "180 °C", "higher"),
        ("400°F", "200 °C", "lower"),
        ("350°F", "345°F", "lower"),
        ("high", "maximum", "higher"),
        ("high heat", "full power", "higher"),
        ("cold", "cool", "higher"),
        ("50% power", "55% power", "higher"),
        ("gas mark 4", "setting 6", "higher"),
        ("195-205 °F or 91-96 °C", "175 °F", "lower"),
        ("195-205 °F or 91-96 °C", "175 °F or 93 °C", "lower"),
        ("Lower the heat", "Reduce the heat", "lower"),
        ("Lower the heat", "Raise the heat", "lower"),
        ("Raise the heat", "high", "higher"),
        ("medium", " Medium ", "lower"),
    ],
)
def test_same_unlike_and_unreadable_settings_are_told(old, new, direction):
    assert wrong(old, new, direction)
