import pytest

from ml.counterfactuals.lexicon.alternatives import PREPARATIONS, TECHNIQUES
from ml.counterfactuals.rules.changing import alternative_preparation, alternative_technique, rewrite, split_way
from ml.counterfactuals.rules.inflection import gerund, mend_articles, plural, singular_like
from ml.counterfactuals.ways import check_way, same_way


@pytest.mark.parametrize("table", [TECHNIQUES, PREPARATIONS])
def test_no_alternative_means_the_same(table):
    for verb, ways in table.items():
        for way in ways:
            assert way.verb != verb or way.manner
            assert not same_way(verb, f"{way.verb} {way.manner or ''}".strip()), (verb, way)


@pytest.mark.parametrize(
    ("text", "kind", "alternative", "expected"),
    [
        ("Slice the carrot with a knife.", "technique", "grate", "Grate the carrot."),
        ("Cut the onion into thin strips", "technique", "cut into cubes", "Cut the onion into cubes"),
        ("Beat the eggs with a whisk.", "technique", "stir with a spoon", "Stir the eggs with a spoon."),
        ("Beat the eggs with a whisk.", "preparation", "beat with a fork", "Beat the eggs with a fork."),
        ("Grease the tin with butter.", "preparation", "line with parchment paper", "Line the tin with parchment paper."),
        ("Keep mixing with a spatula for 3 minutes", "technique", "whisk", "Keep whisking for 3 minutes"),
        ("Simmer the soup, covered, for 5 minutes", "preparation", "uncovered", "Simmer the soup, uncovered, for 5 minutes"),
        ("Stir the jam in the bowl.", "technique", "fold", "Fold the jam in the bowl."),
        ("Puree the tomatoes in a blender/mixer", "technique", "chop", "Chop the tomatoes"),
        ("Stir the noodles with a spoon or a fork", "technique", "stir with a whisk", "Stir the noodles with a whisk"),
    ],
)
def test_rewriting(text, kind, alternative, expected):
    assert rewrite(text, kind, alternative) == expected


@pytest.mark.parametrize("text", ["Slice the dough to create 2 more rounds", "Slice the paper towel", "Cut the floss"])
def test_what_is_made_and_what_is_no_food_is_not_cut_otherwise(text):
    assert alternative_technique(text, "") is None


@pytest.mark.parametrize("text", ["Boil the water", "Crack the egg into the bowl", "Grate the filter", "Let the coffee drain into the mug"])
def test_impossible_alternatives_are_not_made(text):
    made = alternative_technique(text, "")
    assert made is None or rewrite(text, "technique", made) is not None
    if text.startswith(("Boil", "Let")):
        assert made is None


@pytest.mark.parametrize(
    "text", ["Slice the carrot.", "Dice the beet.", "Grate the potato.", "Whisk the egg", "Cut the onion into two pieces"]
)
def test_preparation_and_technique_propose_different_things(text):
    technique, preparation = alternative_technique(text, ""), alternative_preparation(text)
    assert technique is not None
    assert technique != preparation


def test_alternatives_are_the_same_every_time():
    assert {alternative_technique("Chop the onion", "") for _ in range(5)} == {alternative_technique("Chop the onion", "")}


@pytest.mark.parametrize(
    ("verb", "doing"),
    [("cut", "cutting"), ("slice", "slicing"), ("whisk", "whisking"), ("flip", "flipping"), ("season", "seasoning"), ("tie", "tying")],
)
def test_gerunds(verb, doing):
    assert gerund(verb) == doing


@pytest.mark.parametrize(
    ("one", "many"), [("egg", "eggs"), ("tomato", "tomatoes"), ("berry", "berries"), ("leaf", "leaves"), ("radish", "radishes")]
)
def test_plurals(one, many):
    assert plural(one) == many
    assert singular_like(many) == one


def test_articles_follow_the_next_word():
    assert mend_articles("with a egg and an spoon, an hour") == "with an egg and a spoon, an hour"


def test_ways_come_apart():
    assert split_way("stir with a spoon") == ("stir", "with a spoon")
    assert split_way("dice") == ("dice", None)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("chop", "cut", True),
        ("mix", "stir", True),
        ("slice", "dice", False),
        ("beat with a whisk", "beat with a fork", False),
        ("Stir", "fold", False),
        ("slice", "cut into slices", True),
        ("cut into thin slices", "slice thinly", True),
        ("dice", "cut into cubes", True),
        ("cut in half", "halve", True),
        ("whisk", "beat with a whisk", True),
        ("heat", "warm up", True),
        ("mash", "crush", True),
        ("mash", "mash with a potato masher", True),
        ("drain", "strain", True),
        ("puree", "blend in a blender", True),
        ("slice", "slice with a knife", True),
        ("tear", "tear by hand", True),
        ("finely chop", "chop finely", True),
        ("mix with a spoon", "stir with a spoon", True),
        ("stir with a spoon", "mix using a spoon", True),
        ("mash with a fork", "use a fork to mash", True),
        ("use a fork to mash", "mash with a fork", True),
        ("mince", "chop finely", True),
        ("finely chop", "mince", True),
        ("cut into strips", "julienne", True),
        ("julienne", "cut into thin strips", True),
        ("boil", "simmer", False),
        ("simmer", "boil", False),
        ("chop", "chop finely", False),
        ("stir with a spoon", "mix with a whisk", False),
        ("mash with a fork", "use a masher to mash", False),
        ("cut into cubes", "cut into strips", False),
        ("cut into strips", "cut into chunks", False),
        ("slice with a knife", "slice with a mandoline", False),
        ("peel with a knife", "peel with a peeler", False),
        ("beat with a fork", "whisk with a whisk", False),
        ("whisk", "stir with a spoon", False),
        ("coat with cooking spray", "grease with butter", False),
        ("cut with a knife", "split with a fork", False),
        ("cut", "tear by hand", False),
    ],
)
def test_synonyms_are_told(old, new, same):
    assert same_way(old, new) is same


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("chop or grate the cucumber", "chop", "grate"),
        ("chop or grate the cucumber", "chop", "grate with a box grater"),
        ("Stir with a spoon or a fork", "stir with a spoon", "stir with a fork"),
        ("Puree it in a blender/mixer", "puree in a blender", "puree in a mixer"),
    ],
)
def test_a_choice_of_the_original_is_told(text, old, new):
    assert "allows" in (check_way(text, old, new) or "")
    assert check_way(text, old, "slice with a mandoline") is None
