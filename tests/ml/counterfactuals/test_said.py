"""Texts of a model are read again: they must say the new value in every unit, and the old one no more."""

import pytest

from ml.counterfactuals.registry import MISTAKE_RULES
from ml.counterfactuals.spelled_numbers import in_digits
from ml.vocabulary import MistakeType

MILK = ("measurement", "Add 1/4 cup or 60 ml of milk.", {"ingredient": "milk", "quantity": "1/4 cup", "counterfactual_quantity": "1/2 cup"})
BOTH = (MILK[0], MILK[1], {"quantity": "1/4 cup or 60 ml", "counterfactual_quantity": "1/2 cup or 120 ml", "ingredient": "milk"})
COCOA = ("measurement", "Add 3 scoops of cocoa to the bowl.", {"quantity": "3 scoops", "counterfactual_quantity": "2 scoops"})
EGGS = ("measurement", "Whisk 2 eggs and 2 cups of milk", {"quantity": "2", "counterfactual_quantity": "3"})
EGG = ("timing", "Fry the egg for 5 minutes.", {"amount_of_time": "5 minutes", "counterfactual_amount_of_time": "2 minutes"})
HALF = ("timing", "Boil it for 1 minute.", {"amount_of_time": "1 minute", "counterfactual_amount_of_time": "90 seconds"})
WATER = (
    "temperature",
    "Heat the water to 195-205 °F or 91-96 °C.",
    {"heat_setting": "195-205 °F or 91-96 °C", "counterfactual_heat_setting": "150-160 °F or 66-71 °C"},
)
BAKE = ("temperature", "Bake at 350°F (175°C)", {"heat_setting": "350°F", "counterfactual_heat_setting": "300°F"})
PAN = ("temperature", "Cook it in a medium pan on medium heat", {"heat_setting": "medium heat", "counterfactual_heat_setting": "low heat"})
OVEN = ("temperature", "Preheat the oven to 400°F/205°C", {"heat_setting": "400°F/205°C", "counterfactual_heat_setting": "350°F/175°C"})
BEEF = ("measurement", "Add 1 lb/450 g of beef", {"ingredient": "beef", "quantity": "1 lb/450 g", "counterfactual_quantity": "2 lb/900 g"})
COLD = ("temperature", "Rinse the rice under cold water", {"heat_setting": "cold", "counterfactual_heat_setting": "hot"})
DOWN = ("temperature", "Lower the heat", {"heat_setting": "Lower the heat", "counterfactual_heat_setting": "Raise the heat"})
MUFFIN = (
    "technique",
    "Cut the English muffin into two pieces with a knife",
    {"technique": "cut with a knife", "counterfactual_technique": "split with a fork"},
)
WHISK = ("preparation", "Whisk the eggs", {"method": "whisk", "counterfactual_method": "beat with a fork"})
CARROT = ("technique", "Slice the carrot.", {"technique": "slice", "counterfactual_technique": "dice"})


COOL = (
    "timing",
    "Bake for 20 minutes, then cool for 5 minutes",
    {"amount_of_time": "20 minutes", "counterfactual_amount_of_time": "30 minutes"},
)
SOON = (COOL[0], COOL[1], {"amount_of_time": "20 minutes", "counterfactual_amount_of_time": "5 minutes"})
SIDES = ("timing", "Fry 2 minutes a side (4 minutes in all)", {"amount_of_time": "2 minutes", "counterfactual_amount_of_time": "3 minutes"})
CUPS = (
    "measurement",
    "Add 3 eggs and 2 cups of milk, one at a time, into 2 bowls",
    {"ingredient": "milk", "quantity": "2 cups", "counterfactual_quantity": "1 cup"},
)
FLOUR = ("measurement", "Add 2 cups of flour (250 g)", {"ingredient": "flour", "quantity": "2 cups", "counterfactual_quantity": "1 cup"})
GARLIC = (
    "measurement",
    "Add 2-3 cloves of garlic",
    {"ingredient": "garlic", "quantity": "2-3 cloves", "counterfactual_quantity": "5 cloves"},
)
CLOVE = (GARLIC[0], "Mince 3 cloves of garlic", {"ingredient": "garlic", "quantity": "3 cloves", "counterfactual_quantity": "1 clove"})
SLICES = (GARLIC[0], "Cut 4 slices of tomato", {"ingredient": "tomato", "quantity": "4 slices", "counterfactual_quantity": "2 slices"})
DUAL = (
    GARLIC[0],
    "Add 1 lb (450 g) of beef",
    {"ingredient": "beef", "quantity": "1 lb (450 g)", "counterfactual_quantity": "2 lb (900 g)"},
)
JUG = (GARLIC[0], "Pour 250 ml milk into the jug", {"ingredient": "milk", "quantity": "250 ml", "counterfactual_quantity": "400 ml"})
ONION = (GARLIC[0], "Put half an onion in the pan", {"ingredient": "onion", "quantity": "half", "counterfactual_quantity": "1"})
TEA = ("timing", "Steep for 3-4 minutes", {"amount_of_time": "3-4 minutes", "counterfactual_amount_of_time": "1-2 minutes"})
ROUND = ("technique", "Stir it clockwise", {"technique": "stir clockwise", "counterfactual_technique": "stir counterclockwise"})
ONE = ("measurement", "Crack 2 eggs into the bowl", {"ingredient": "eggs", "quantity": "2", "counterfactual_quantity": "1"})
LESS = ("timing", "Boil it for 1 minute.", {"amount_of_time": "1 minute", "counterfactual_amount_of_time": "30 seconds"})
ICE = ("temperature", "Cover it with hot water", {"heat_setting": "hot", "counterfactual_heat_setting": "cold"})
GENTLY = ("technique", "Gently stir the batter", {"technique": "gently stir", "counterfactual_technique": "gently fold"})


@pytest.mark.parametrize(
    ("case", "changed"),
    [
        (BOTH, "Add 1/2 cup or 120 ml of milk."),
        (BOTH, "Add half a cup (120 ml) of milk."),
        (COCOA, "Add two scoops of cocoa to the bowl."),
        (COCOA, "Add a couple of scoops of cocoa to the bowl."),
        (EGGS, "Whisk three eggs with 2 cups of milk"),
        (EGG, "Fry the egg for two minutes."),
        (COOL, "Bake for half an hour, then let it cool for 300 seconds"),
        (SOON, "Bake for 5 minutes, then cool for 5 minutes"),
        (SOON, "Bake, then cool, for 5 minutes each"),
        (SIDES, "Fry 3 minutes a side (6 minutes in all)"),
        (CUPS, "1. Add three eggs and 1 cup of milk into two bowls"),
        (FLOUR, "Add 1 cup of flour (125 g)"),
        (EGG, "Fry the egg for 120 sec."),
        (HALF, "Boil it for a minute and a half."),
        (HALF, "Boil it for 1:30 on the timer."),
        (WATER, "Heat the water to between 150 and 160 °F (66-71 °C)."),
        (OVEN, "Preheat the oven to 350°F/175°C"),
        (OVEN, "Preheat the oven to 350 F (175 C)"),
        (BEEF, "Add 2 lb/900 g of beef"),
        (PAN, "Cook it in a medium pan over a low flame"),
        (PAN, "Cook it gently in a medium pan, on gentle heat"),
        (COLD, "Rinse the rice under hot running water"),
        (DOWN, "Turn the heat up"),
        (MUFFIN, "Split the English muffin into two pieces with a fork"),
        (WHISK, "Use a fork to beat the eggs"),
        (CARROT, "Cut the carrot into small cubes."),
        (GARLIC, "Add five garlic cloves"),
        (CLOVE, "Mince a single garlic clove"),
        (SLICES, "Cut two tomato slices"),
        (DUAL, "Add 2 lb. (0.9 kg) of beef"),
        (JUG, "Pour 40 cl of milk into the jug"),
        (TEA, "Steep for a minute or two"),
        (ROUND, "Stir it anti-clockwise"),
        (ROUND, "Stir it counter-clockwise"),
        (ONE, "Crack an egg into the bowl"),
        (LESS, "Boil it for a half-minute."),
        (ICE, "Cover it with ice-cold water"),
        (GENTLY, "Gently fold the batter"),
    ],
)
def test_other_words_for_the_change_are_taken(case, changed):
    mistake_type, instruction, fields = case
    assert MISTAKE_RULES[MistakeType(mistake_type)].check_instruction(instruction, fields, changed) is None


@pytest.mark.parametrize(
    ("case", "changed"),
    [
        (MILK, "Add 1/2 cup or 60 ml of milk."),
        (GARLIC, "Add five slices of garlic"),
        (CLOVE, "Mince three garlic cloves"),
        (SLICES, "Cut 2 tomatoes into slices"),
        (DUAL, "Add 2 lb of beef"),
        (DUAL, "Add 2 lb. (0.45 kg) of beef"),
        (BOTH, "Add some milk or 60 ml."),
        (BOTH, "Add 1/2 cup of milk."),
        (BOTH, "Add 1/2 cup or 60 ml of milk."),
        (COCOA, "Add 2 teaspoons of cocoa to the bowl."),
        (COCOA, "Add some cocoa to the bowl."),
        (EGGS, "Whisk 2 eggs and 3 cups of milk"),
        (EGG, "Fry the egg for 5 minutes and 2 seconds."),
        (COOL, "Bake for 30 minutes, then cool for 10 minutes"),
        (COOL, "Bake for 20 minutes, then cool for 30 minutes"),
        (COOL, "Bake for 30 minutes, then cool"),
        (SOON, "Bake for 5 minutes, then cool for 10 minutes"),
        (CUPS, "Add 1 egg and 1 cup of milk into 2 bowls"),
        (EGG, "Fry the egg for 2 minutes, then for 5 minutes."),
        (WATER, "Heat the water to 150-160 F or 91-96 C."),
        (WATER, "Heat the water to 150-160 F."),
        (BAKE, "Bake at 300°F (175°C)"),
        (OVEN, "Preheat the oven to 350°F/205°C"),
        (BEEF, "Add 2 lb/450 g of beef"),
        (PAN, "Cook it in a low pan on medium heat, in a medium way"),
        (PAN, "Cook it in a medium pan"),
        (COLD, "Rinse the rice under water"),
        (DOWN, "Lower the heat a bit"),
        (MUFFIN, "Cut the English muffin in two"),
        (WHISK, "Beat the eggs"),
        (CARROT, "Slice and dice the carrot."),
    ],
)
def test_an_instruction_that_does_not_ask_for_the_change_is_told(case, changed):
    mistake_type, instruction, fields = case
    assert MISTAKE_RULES[MistakeType(mistake_type)].check_instruction(instruction, fields, changed) is not None


@pytest.mark.parametrize(
    ("case", "feedback"),
    [
        (BOTH, "You poured too little, it should be half a cup."),
        (COCOA, "That was the third scoop; stop at two."),
        (EGG, "You are past the two-minute mark, take the egg off."),
        (HALF, "Not long enough: keep it going for one and a half minutes."),
        (WATER, "The water is too hot, keep it between 150 and 160 °F."),
        (PAN, "Careful, this step calls for low heat, not medium."),
        (PAN, "Turn it from medium to low."),
        (COLD, "You're rinsing with cold water, hot water was asked for."),
        (MUFFIN, "Don't use a knife to cut the muffin, use a fork to split it instead."),
        (WHISK, "You should be using a fork for the eggs."),
        (CARROT, "You are slicing the carrot, it should be cut into cubes."),
        (ONION, "Use the whole onion, not just half."),
        (TEA, "It should only steep a minute or two."),
        (ROUND, "Stir in the opposite direction, anticlockwise."),
        (ONE, "You cracked too many, an egg is enough."),
        (LESS, "That was more than half a minute, stop."),
    ],
)
def test_feedback_that_names_what_was_asked_is_taken(case, feedback):
    mistake_type, instruction, fields = case
    assert MISTAKE_RULES[MistakeType(mistake_type)].check_feedback(instruction, fields, feedback) is None


@pytest.mark.parametrize("case", [BOTH, COCOA, EGGS, EGG, WATER, PAN, COLD, DOWN, MUFFIN, WHISK, CARROT])
def test_praise_names_nothing(case):
    mistake_type, instruction, fields = case
    assert MISTAKE_RULES[MistakeType(mistake_type)].check_feedback(instruction, fields, "Great job!") is not None


@pytest.mark.parametrize(
    ("case", "feedback"),
    [
        (COCOA, "Perfect, 2 scoops it is!"),
        (EGG, "Great, exactly 2 minutes!"),
        (PAN, "That's good, low heat."),
        (CARROT, "Nice dicing of the carrot!"),
        (WHISK, "Well done with the fork"),
    ],
)
def test_praise_that_names_the_asked_value_is_no_feedback(case, feedback):
    mistake_type, instruction, fields = case
    assert "praises" in (MISTAKE_RULES[MistakeType(mistake_type)].check_feedback(instruction, fields, feedback) or "")


@pytest.mark.parametrize("feedback", ["Good start, but stop at 2 scoops.", "Nice, though you don’t need more than two scoops."])
def test_praise_before_a_correction_is_taken(feedback):
    mistake_type, instruction, fields = COCOA
    assert MISTAKE_RULES[MistakeType(mistake_type)].check_feedback(instruction, fields, feedback) is None


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("half a cup", "1/2 cup"),
        ("three quarters of a cup", "3/4 cup"),
        ("one and a half cups", "1 1/2 cups"),
        ("an hour and a half", "1 1/2 hour"),
        ("half a dozen eggs", "6 eggs"),
        ("twenty-five minutes", "25 minutes"),
        ("three hundred and fifty degrees", "350 degrees"),
        ("a heaped teaspoon", "1 heaped teaspoon"),
        ("a bowl", "a bowl"),
    ],
)
def test_spelled_amounts_become_digits(text, digits):
    assert in_digits(text) == digits
