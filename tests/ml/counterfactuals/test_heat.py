import pytest

from ml.counterfactuals.heat import HeatKind, change_heat, find_heat
from ml.counterfactuals.rules.functions import NONE, instruct_temperature
from tests.ml.counterfactuals.readings import heat


def first(n: int) -> int:
    return 0


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("Microwave on high for 30 seconds", HeatKind.LEVEL, "high"),
        ("Simmer over low heat for 5 minutes", HeatKind.LEVEL, "low heat"),
        ("Fry over medium-high heat", HeatKind.LEVEL, "medium-high heat"),
        ("Turn the burner to medium.", HeatKind.LEVEL, "medium"),
        ("Reduce the heat to low", HeatKind.LEVEL, "low"),
        ("Turn up the heat to high.", HeatKind.LEVEL, "high"),
        ("Reduce the temperature from high to medium", HeatKind.LEVEL, "medium"),
        ("Lower the heat", HeatKind.TURN, "Lower the heat"),
        ("Bake at 350°F for 35 minutes", HeatKind.DEGREES, "350°F"),
        ("Heat to 195-205 °F or 91-96 °C", HeatKind.DEGREES, "195-205 °F or 91-96 °C"),
        ("Heat to 195-205 °F or 91-96 °C.", HeatKind.DEGREES, "195-205 °F or 91-96 °C"),
        ("Bake at 180 deg. C.", HeatKind.DEGREES, "180 deg. C"),
        ("Microwave at 50% power", HeatKind.PERCENT, "50% power"),
        ("Toast at setting 2", HeatKind.SETTING, "setting 2"),
        ("Rinse under cold water", HeatKind.STATE, "cold"),
    ],
)
def test_settings_are_found(text, kind, found):
    setting = find_heat(text)[0]
    assert (setting.kind, setting.text) == (kind, found)


@pytest.mark.parametrize(
    "text",
    [
        "Put it in a medium bowl",
        "Add 2 c flour",
        "If the pan gets too hot on medium-high, wait",
        "Peel one medium onion",
        "Use low-fat milk",
    ],
)
def test_other_words_are_no_settings(text):
    assert find_heat(text) == []


@pytest.mark.parametrize(
    "text", ["low", "medium heat", "350°F", "180C/350F", "50% power", "setting 3", "cold", "hot", "medium-high", "195-205 °F or 91-96 °C"]
)
@pytest.mark.parametrize("lower", [True, False])
def test_changes_go_the_right_way_in_every_unit(text, lower):
    changed = change_heat(text, lower, first)
    if changed is None:
        return
    old, new = heat(text), heat(changed)
    assert new.rank < old.rank if lower else new.rank > old.rank
    assert len(new.readings) == len(old.readings)
    for before, after in zip(old.readings, new.readings, strict=True):
        assert after.number.high < before.number.low if lower else after.number.low > before.number.high


def test_ends_of_the_scale_have_no_change():
    assert change_heat("high", False, first) is None
    assert change_heat("low", True, first) is None
    assert change_heat("cold", True, first) is None


def test_both_units_change():
    assert change_heat("195-205 °F or 91-96 °C", True, first) == "175 °F or 79 °C"


@pytest.mark.parametrize(
    ("text", "old", "new", "direction", "expected"),
    [
        ("Reduce the heat to low", "low", "high", "higher", "Set the heat to high"),
        ("Reduce the heat to medium", "medium", "low", "lower", "Reduce the heat to low"),
        ("Turn up the heat to high.", "high", "medium", "lower", "Set the heat to medium."),
        ("Boil it, then turn the heat down to low", "low", "medium", "higher", "Boil it, then turn the heat to medium"),
        ("Increase heat from medium to high", "high", "low", "lower", "Set heat to low"),
        ("Reducing the heat to low, stir", "low", "high", "higher", "Setting the heat to high, stir"),
        ("Reduce the oven to 350°F", "350°F", "400°F", "higher", "Set the oven to 400°F"),
        ("Lower the heat", "Lower the heat", "Raise the heat", "higher", "Raise the heat"),
        ("Reduce heat to a simmer", "Reduce heat", "Increase heat", "higher", NONE),
    ],
)
def test_the_verb_does_not_say_the_other_way_than_the_setting(text, old, new, direction, expected):
    inputs = {"instruction": text, "heat_setting": old, "counterfactual_heat_setting": new, "direction": direction}
    assert instruct_temperature(inputs) == expected
