import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.comist.difference import differs, signature


@pytest.mark.parametrize(
    ("original", "changed"),
    [
        ("Add 2 scoops of rice", "Add 3 scoops of rice"),
        ("Add 2½ cups of flour", "Add 21/2 cups of flour"),
        ("Set the heat to low", "Set the heat to high"),
        ("Cook over medium heat", "Cook over medium-low heat"),
        ("Slice the onion", "Grate the onion"),
        ("Whisk the eggs", "Whisk the eggs with a fork"),
        ("Turn on the stove", "Turn off the stove"),
        ("Add 1 teaspoon of salt", "Add 1 tablespoon of salt"),
        ("Microwave for 1 minute", "Microwave for 90 seconds"),
        ("Simmer for 2-3 minutes", "Simmer for 5-6 minutes"),
        ("Add 2 cups flour and 1 cup milk", "Add 1 cup flour and 2 cups milk"),
        ("Stir until smooth", "Stir without stopping until smooth"),
    ],
)
def test_a_changed_amount_level_or_word_differs(original, changed):
    assert differs(original, changed)
    assert differs(changed, original)


@pytest.mark.parametrize(
    ("original", "changed"),
    [
        ("Add 2½ cups of flour", "add 2.5 cups flour."),
        ("Microwave for 1 minute", "Microwave for 60 seconds"),
        ("Add 3 tsp salt", "Add a tablespoon of the salt"),
        ("Slice the onion", "Slicing the onions"),
        ("Grate the cheese", "Grating the cheese"),
        ("Add half a cup of milk", "Add 1/2 cup of milk"),
        ("Add one and a half cups", "Add 1½ cups"),
        ("Heat to 195-205 °F", "Heat to 195 to 205 degrees F"),
        ("Fry in a skillet", "Fry in a pan"),
        ("Mix the batter", "Combine the batter"),
        ("Add 2 cups flour and 1 teaspoon salt", "Add 1 teaspoon salt and 2 cups flour"),
    ],
)
def test_a_mere_rewording_does_not_differ(original, changed):
    assert not differs(original, changed)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_a_text_never_differs_from_itself(text):
    assert not differs(text, text)
    assert not differs(text, f"  {text.upper()}  ") or text.upper().lower() != text.lower()


@settings(deadline=None)
@given(a=st.integers(0, 5000), b=st.integers(0, 5000))
def test_numbers_decide(a, b):
    assert differs(f"Add {a} scoops of rice", f"Add {b} scoops of rice") == (a != b)


@settings(deadline=None)
@given(whole=st.integers(1, 20), fraction=st.sampled_from([("½", 0.5), ("¼", 0.25), ("¾", 0.75)]))
def test_a_fraction_character_is_added_not_appended(whole, fraction):
    sign, value = fraction
    assert signature(f"{whole}{sign} eggs").amounts == (("count", whole + value),)
