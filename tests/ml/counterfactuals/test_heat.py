import pytest

from ml.counterfactuals.heat import HeatKind, change_heat, find_heat
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
