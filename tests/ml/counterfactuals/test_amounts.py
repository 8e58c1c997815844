from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.counterfactuals.amounts import change_amount
from ml.counterfactuals.durations import change_duration, find_durations
from ml.counterfactuals.numbers import Style, find_numbers, write_number
from tests.ml.counterfactuals.readings import amount, duration


def first(n: int) -> int:
    return 0


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2½ tablespoons vinegar", "5/2", "5/2"),
        ("½ cup", "1/2", "1/2"),
        ("1 1/2 cups", "3/2", "3/2"),
        ("1-1/2 cups", "3/2", "3/2"),
        ("1/16 teaspoon", "1/16", "1/16"),
        ("0.5 l", "1/2", "1/2"),
        ("15-30 seconds", "15", "30"),
        ("2 to 3 cloves", "2", "3"),
        ("1 or 2 eggs", "1", "2"),
        ("two and a half cups", "5/2", "5/2"),
        ("1,200 g", "1200", "1200"),
        ("a dozen eggs", "12", "12"),
        ("half a dozen eggs", "6", "6"),
        ("two dozen eggs", "24", "24"),
    ],
)
def test_numbers(text, low, high):
    number = find_numbers(text)[0]
    assert (number.low, number.high) == (Fraction(low), Fraction(high))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("350°F/175°C", ["350", "175"]),
        ("400°F/205°C", ["400", "205"]),
        ("2 lb/900 g", ["2", "900"]),
        ("2½ cups/600 ml", ["5/2", "600"]),
        ("1/2 cup/118 ml", ["1/2", "118"]),
        ("1/2/2024", []),
    ],
)
def test_a_slash_joins_two_units(text, values):
    assert [number.low for number in find_numbers(text)] == [Fraction(value) for value in values]


@given(st.integers(0, 50), st.sampled_from([None, "1/2", "1/4", "3/4", "1/8", "1/3", "2/3"]), st.sampled_from([Style.SLASH, Style.VULGAR]))
def test_written_numbers_read_back(whole, rest, style):
    value = Fraction(whole) + Fraction(rest or 0)
    if value:
        assert find_numbers(write_number(value, style) + " cups")[0].low == value


@given(
    st.fractions(Fraction(1, 8), 12, max_denominator=8),
    st.sampled_from(["teaspoon", "cups", "g", "scoops", "", "tbsp", "oz", "slices"]),
    st.booleans(),
    st.integers(0, 99),
)
def test_changed_amount_lies_outside(value, unit, smaller, choice):
    given_amount = amount(f"{write_number(value, Style.SLASH)} {unit}".strip())
    changed = change_amount(given_amount, smaller, lambda n: choice % n)
    if changed is not None:
        new = amount(changed)
        assert 0 < new.high < given_amount.low if smaller else new.low > given_amount.high
        assert (new.parts[0].unit and new.parts[0].unit.name) == (given_amount.parts[0].unit and given_amount.parts[0].unit.name)


def test_vulgar_fraction_never_becomes_a_large_number():
    for smaller in (True, False):
        changed = change_amount(amount("2½ tablespoons"), smaller, first)
        assert changed is not None
        assert "21/2" not in changed
        assert (amount(changed).high < Fraction(5, 2)) is smaller


def test_dual_units_change_by_one_ratio():
    new = amount(change_amount(amount("1/4 block or 3 ounces"), False, first))
    assert [part.number.low for part in new.parts] == [Fraction(1, 2), Fraction(6)]


@pytest.mark.parametrize(
    ("text", "smaller", "expected"),
    [
        ("1 scoop", False, "2 scoops"),
        ("2 scoops", True, "1 scoop"),
        ("one", False, "two"),
        ("1 tbsp", False, "2 tbsp"),
        ("2 cups", True, "1 cup"),
    ],
)
def test_units_agree_with_their_number(text, smaller, expected):
    assert change_amount(amount(text), smaller, first) == expected


def test_the_size_of_a_can_stays():
    assert change_amount(amount("1 (14-ounce) can"), False, first) == "2 (14-ounce) cans"
    assert [part.number.low for part in amount("2 (6 oz) steaks").parts] == [2]


def test_whole_things_are_not_halved_unless_they_can_be():
    assert change_amount(amount("1"), True, first) is None
    assert change_amount(amount("1"), True, first, halvable=True) == "1/2"
    assert change_amount(amount("1 scoop"), True, first, halvable=True) is None


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("1 minute 20 seconds", 80, 80),
        ("15-30 more seconds", 15, 30),
        ("2-3 minutes", 120, 180),
        ("1.5 minutes", 90, 90),
        ("1 hour and 30 minutes", 5400, 5400),
        ("half an hour", 1800, 1800),
        ("a minute", 60, 60),
        ("2½ mins", 150, 150),
        ("1:30", 90, 90),
    ],
)
def test_durations(text, low, high):
    stated = duration(text)
    assert (stated.low_s, stated.high_s) == (low, high)


def test_two_durations_apart_stay_two():
    assert [d.low_s for d in find_durations("Microwave for 2 minutes, then rest for 30 seconds")] == [120, 30]


@given(st.integers(2, 7200), st.booleans(), st.sampled_from([2.0, 15.0]), st.integers(0, 99), st.sampled_from(["seconds", "minutes"]))
def test_changed_duration_keeps_the_minimum(value, smaller, minimum, choice, unit):
    stated = duration(f"{value} {unit}")
    changed = change_duration(stated, smaller, minimum, lambda n: choice % n)
    if changed is not None:
        new = duration(changed)
        assert new.low_s > 0
        assert (stated.low_s - new.high_s if smaller else new.low_s - stated.high_s) >= minimum


def test_no_shorter_time_is_left_below_the_minimum():
    assert change_duration(duration("10 seconds"), True, 15.0, first) is None
    assert duration(change_duration(duration("10 seconds"), True, 2.0, first)).high_s <= 8


def test_more_is_kept():
    assert change_duration(duration("1 more minute"), False, 15.0, first) == "90 more seconds"
    assert change_duration(duration("1 more minute"), False, 15.0, lambda n: n - 1) == "2 more minutes"
