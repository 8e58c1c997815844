import pytest

from ml.counterfactuals.rules.extraction import find_heat_setting, find_measurements, find_preparation, find_technique, find_timing


def measured(text: str) -> list[tuple[str, str]]:
    return [(m.quantity, m.ingredient) for m in find_measurements(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Add 3 scoops of cocoa to the bowl.", [("3 scoops", "cocoa")]),
        ("Whisk 2 eggs, 1 cup of milk and 1/4 tsp nutmeg", [("2", "eggs"), ("1 cup", "milk"), ("1/4 tsp", "nutmeg")]),
        ("2½ tablespoons vinegar", [("2½ tablespoons", "vinegar")]),
        ("Add-1/2 cup stock to the pan", [("1/2 cup", "stock")]),
        ("Stir in 2-3 tablespoons of cream", [("2-3 tablespoons", "cream")]),
        ("Add 1 tablespoon panko, or to taste", [("1 tablespoon", "panko")]),
        ("Add 1/4 block or 3 ounces of tofu", [("1/4 block or 3 ounces", "tofu")]),
        ("Drop two cloves of garlic into the oil", [("two cloves", "garlic")]),
        ("Season with salt to taste", []),
        ("Grease a 9-inch pan", []),
        ("Coat a 6-oz. ramekin with oil", []),
        ("Cut the carrot into 4 pieces", []),
        ("Cut the pie in 8 slices", []),
        ("Bake for 20 minutes at 180 °C", []),
        ("Roll the dough until 1/2 inch thick", []),
        ("Secure the wrap with 2 toothpicks", []),
        ("Set the microwave to 50% power", []),
        ("Toast at setting 2", []),
        ("Turn each one over", []),
        ("Serve 4 people", []),
        ("Weigh the coffee beans (0.8oz-1.2 oz)", [("0.8oz-1.2 oz", "coffee beans")]),
        ("Mix 1 (14-ounce) can of tomatoes with the onion", [("1 (14-ounce) can", "tomatoes")]),
        ("Grill 2 (6-oz) steaks", [("2", "steaks")]),
        ("Add a dozen eggs", [("a dozen", "eggs")]),
        ("Add half a dozen eggs", [("half a dozen", "eggs")]),
        ("Add a drizzle of oil, about 1 tablespoon, over the leaves", [("1 tablespoon", "oil")]),
    ],
)
def test_measurements(text, expected):
    assert measured(text) == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Cook the rice for 8 seconds.", (8, 8)),
        ("Boil for 2 to 3 minutes, stirring", (120, 180)),
        ("Stir every 30 seconds", None),
        ("Cook 5-minute rice", None),
        ("If it sticks, wait 10 seconds", None),
        ("Melt the cheese for 30 sec. (Check after 30 seconds)", (30, 30)),
    ],
)
def test_times(text, seconds):
    found = find_timing(text)
    assert (None if found is None else (found.low_s, found.high_s)) == seconds


def test_heat_setting_comes_before_a_thermal_state():
    setting = find_heat_setting("Boil the cold water over high heat")
    assert setting is not None
    assert setting.text == "high heat"


@pytest.mark.parametrize(
    ("text", "verb", "item"),
    [
        ("Slice the cucumber with a mandoline", "slice", "cucumber"),
        ("In a large bowl, whisk one egg with a fork", "whisk", "one egg"),
        ("Once the pan is hot, add the sliced mushrooms", "add", "sliced mushrooms"),
        ("Continue stirring the soup", "stir", "soup"),
        ("Use a spoon to scoop jelly from the jar", "scoop", "jelly"),
        ("Measure 1 cup of flour and add it to the bowl", "add", "1 cup of flour"),
        ("Microwave until the cheese melts", "microwave", "cheese"),
        ("Garnish with chopped parsley", "garnish", "chopped parsley"),
        ("gently fold in the egg whites", "fold", "egg whites"),
        ("add-add 1 tsp salt", "add", "1 tsp salt"),
    ],
)
def test_techniques(text, verb, item):
    action = find_technique(text)
    assert action is not None
    assert (action.lemma, action.item) == (verb, item)


@pytest.mark.parametrize(
    "text", ["Take a bowl", "Wait for a minute", "Turn the burner to low", "Set aside the sauce", "Do not stir the rice"]
)
def test_fetching_waiting_and_setting_are_no_techniques(text):
    assert find_technique(text) is None


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("Beat the eggs with a fork", "Beat with a fork"),
        ("Clean the board by wiping it with a cloth", "wiping it with a cloth"),
        ("Simmer, covered, for 5 minutes", "covered"),
        ("Pour the milk into the mug", None),
        ("Place the lid on the pot", None),
    ],
)
def test_preparations(text, method):
    action = find_preparation(text)
    assert (None if action is None else action.text) == method
