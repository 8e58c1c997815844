"""What a way of doing is changed to. Each alternative looks different from the original and means something else.

Synonyms (chop and cut, mix and combine) never stand on the two sides of an entry. Best alternative first.
"""

from dataclasses import dataclass
from typing import Final

from ml.counterfactuals.lexicon.words import words


@dataclass(frozen=True)
class Way:
    """A verb, and how it goes on: ``manner`` replaces the original's tool or shape (None: drop it)."""

    verb: str
    manner: str | None = None


def _ways(*texts: str) -> tuple[Way, ...]:
    made = []
    for text in texts:
        verb, _, manner = text.partition(" ")
        made.append(Way(verb, manner or None))
    return tuple(made)


# Verb (lemma) to other techniques for the same thing.
TECHNIQUES: Final[dict[str, tuple[Way, ...]]] = {
    "slice": _ways("dice", "grate"),
    "dice": _ways("slice", "grate"),
    "grate": _ways("slice", "dice"),
    "chop": _ways("grate", "slice", "tear by hand"),
    "mince": _ways("slice", "grate"),
    "cut": _ways("grate", "tear by hand"),
    "shred": _ways("dice", "slice"),
    "cube": _ways("grate", "slice"),
    "julienne": _ways("dice", "grate"),
    "shave": _ways("dice"),
    "halve": _ways("dice", "slice"),
    "quarter": _ways("slice", "dice"),
    "tear": _ways("slice with a knife", "dice"),
    "crush": _ways("slice", "grate"),
    "smash": _ways("slice"),
    "mash": _ways("dice", "slice"),
    "grind": _ways("crush with a mortar and pestle"),
    "break": _ways("chop"),
    "snip": _ways("tear by hand"),
    "trim": _ways("tear by hand"),
    "spiralize": _ways("grate", "dice"),
    "zest": _ways("peel"),
    "stir": _ways("fold"),
    "fold": _ways("stir"),
    "mix": _ways("fold", "whisk"),
    "combine": _ways("layer"),
    "toss": _ways("stir"),
    "whisk": _ways("fold", "stir with a spoon"),
    "beat": _ways("stir with a spoon"),
    "whip": _ways("stir with a spoon"),
    "blend": _ways("whisk", "mash with a fork"),
    "blitz": _ways("mash with a fork"),
    "puree": _ways("chop", "grate"),
    "process": _ways("chop with a knife"),
    "pulse": _ways("chop with a knife"),
    "knead": _ways("fold"),
    "swirl": _ways("stir"),
    "scramble": _ways("poach"),
    "drizzle": _ways("brush"),
    "spread": _ways("drizzle"),
    "brush": _ways("drizzle"),
    "pipe": _ways("spread with a spatula"),
    "roll": _ways("fold"),
    "press": _ways("roll with a rolling pin"),
    "flatten": _ways("fold"),
    "squeeze": _ways("press with a citrus press"),
    "extract": _ways("press with a citrus press"),
    "pat": _ways("wipe with a cloth"),
    "rinse": _ways("wipe with a cloth"),
    "wash": _ways("wipe with a cloth"),
    "wipe": _ways("rinse under running water"),
    "scrub": _ways("peel"),
    "soak": _ways("rinse under running water"),
    "drain": _ways("squeeze by hand"),
    "sift": _ways("spoon"),
    "flip": _ways("stir"),
    "fry": _ways("steam", "boil"),
    "saute": _ways("steam", "boil"),
    "sauté": _ways("steam", "boil"),
    "stir-fry": _ways("steam"),
    "boil": _ways("steam", "fry"),
    "simmer": _ways("fry"),
    "steam": _ways("boil", "fry"),
    "poach": _ways("fry"),
    "bake": _ways("fry", "steam"),
    "roast": _ways("boil", "steam"),
    "grill": _ways("boil", "steam"),
    "broil": _ways("steam"),
    "toast": _ways("steam"),
    "sear": _ways("boil"),
    "brown": _ways("steam"),
    "blanch": _ways("fry"),
    "braise": _ways("grill"),
}

# The shape after "into"; used where a cutting step names one.
SHAPES: Final[dict[str, tuple[str, ...]]] = {
    "strip": ("cubes", "rings"),
    "cube": ("thin slices", "strips"),
    "dice": ("thin slices",),
    "slice": ("cubes", "strips"),
    "ring": ("cubes",),
    "round": ("cubes", "strips"),
    "wedge": ("thin slices", "cubes"),
    "half": ("thin slices", "quarters"),
    "quarter": ("thin slices", "halves"),
    "piece": ("thin strips",),
    "chunk": ("thin slices", "strips"),
    "floret": ("thin slices",),
    "stick": ("cubes",),
    "matchstick": ("cubes",),
    "disc": ("strips",),
    "bit": ("thin slices",),
    "ball": ("flat patties",),
    "log": ("ball",),
    "patty": ("balls",),
    "spear": ("cubes",),
    "noodle": ("cubes",),
    "ribbon": ("cubes",),
}

# Tool (head word) to another tool for the same work.
TOOLS: Final[dict[str, tuple[str, ...]]] = {
    "whisk": ("fork",),
    "fork": ("whisk", "spoon"),
    "spoon": ("whisk", "fork"),
    "spatula": ("wooden spoon", "pair of tongs"),
    "turner": ("pair of tongs",),
    "tongs": ("spatula", "fork"),
    "knife": ("pair of scissors",),
    "peeler": ("paring knife",),
    "mandoline": ("chef's knife",),
    "grater": ("knife",),
    "microplane": ("knife",),
    "scissors": ("knife",),
    "floss": ("knife",),
    "spiralizer": ("vegetable peeler",),
    "blender": ("hand whisk",),
    "processor": ("knife",),
    "mixer": ("wooden spoon",),
    "masher": ("fork",),
    "colander": ("sieve",),
    "ladle": ("measuring cup",),
    "toothpick": ("piece of string",),
    "skewer": ("piece of string",),
    "chopstick": ("fork",),
}
# Cutting tools that a cutting verb of the other kind does not go with.
KNIFE_VERBS: Final = words("cut slice dice chop mince trim halve quarter peel carve")

# Verb (lemma) to other preparation methods of the same thing.
PREPARATIONS: Final[dict[str, tuple[Way, ...]]] = {
    "whisk": _ways("beat with a fork"),
    "mix": _ways("whisk with a whisk"),
    "stir": _ways("whisk with a whisk"),
    "fold": _ways("beat with a whisk"),
    "blitz": _ways("mash with a fork"),
    "squeeze": _ways("zest"),
    "grease": _ways("line with parchment paper"),
    "butter": _ways("line with parchment paper"),
    "oil": _ways("line with parchment paper"),
    "spray": _ways("line with parchment paper"),
    "coat": _ways("line with parchment paper"),
    "line": _ways("grease with butter"),
    "peel": _ways("rinse"),
    "rinse": _ways("peel"),
    "wash": _ways("peel"),
    "scrub": _ways("peel"),
    "wipe": _ways("rinse under running water"),
    "clean": _ways("rinse under running water"),
    "soak": _ways("rinse under running water"),
    "drain": _ways("rinse under running water"),
    "sift": _ways("whisk"),
    "slice": _ways("grate", "mash"),
    "dice": _ways("grate", "mash"),
    "chop": _ways("mash", "grate"),
    "mince": _ways("crush", "grate"),
    "cut": _ways("mash", "grate"),
    "grate": _ways("dice", "slice"),
    "shred": _ways("dice", "slice"),
    "cube": _ways("grate", "mash"),
    "julienne": _ways("grate"),
    "halve": _ways("mash", "grate"),
    "quarter": _ways("grate", "mash"),
    "crush": _ways("mince", "slice"),
    "smash": _ways("mince"),
    "mash": _ways("cube", "slice"),
    "grind": _ways("chop with a knife"),
    "puree": _ways("chop", "dice"),
    "blend": _ways("mash with a fork"),
    "tear": _ways("chop with a knife"),
    "spiralize": _ways("slice", "grate"),
    "whip": _ways("fold"),
    "knead": _ways("roll with a rolling pin"),
    "roll": _ways("fold in half"),
    "spread": _ways("pipe with a piping bag"),
    "zest": _ways("juice"),
    "juice": _ways("zest"),
    "prick": _ways("score with a knife"),
}

# Things that an alternative verb can be done to; a verb that is not named here can be done to anything.
FITS: Final[dict[str, frozenset[str]]] = {
    "grate": words(
        "carrot potato onion garlic ginger clove cheese cucumber zucchini courgette apple beet beetroot radish cabbage parsnip "
        "turnip lemon lime orange "
        "chocolate squash daikon pear coconut celeriac shallot eggplant pumpkin nutmeg cauliflower broccoli parmesan mozzarella cheddar"
    ),
    "mash": words(
        "banana avocado strawberry berry potato bean pea tofu chickpea pumpkin squash yam apple beet lentil egg tomato cauliflower "
        "eggplant carrot raspberry"
    ),
    "tear": words(
        "lettuce basil cilantro herb mint parsley spinach kale coriander bread muffin tortilla leaf mushroom chicken mozzarella pita "
        "bun dill chard"
    ),
    "zest": words("lemon lime orange grapefruit citrus"),
    "juice": words("lemon lime orange grapefruit citrus"),
    "drizzle": words(
        "oil sauce honey jam jelly butter syrup cream chocolate mayonnaise mayo marinara glaze dressing mustard ketchup yogurt "
        "frosting slice bread baguette toast"
    ),
    "pipe": words("frosting cream batter dough icing mayonnaise filling"),
    "squeeze": words("spinach tofu cabbage zucchini cucumber eggplant potato cheese mozzarella lemon lime orange"),
    "rinse": words(
        "bean chickpea pasta noodle rice tuna lentil vegetable potato carrot beet apple cucumber tomato onion garlic clove knife "
        "mushroom ginger zucchini "
        "courgette radish parsnip pear turnip eggplant orange lemon lime mango kiwi pepper spoon bowl pan berry strawberry quinoa "
        "olive corn caper spinach"
    ),
    "steam": words(
        "broccoli carrot onion vegetable potato bean fish salmon chicken dumpling spinach asparagus cauliflower pea corn garlic "
        "pepper zucchini egg shrimp cabbage"
    ),
    "fry": words("egg potato onion chicken fish dumpling rice bacon tofu vegetable shrimp sausage bean pea spinach plantain"),
    "boil": words("onion potato egg vegetable chicken bean carrot corn broccoli pea dumpling garlic pepper shrimp sausage cabbage"),
    "press": words("lemon lime orange juice grapefruit"),
    "poach": words("egg fish chicken salmon pear"),
    "grill": words("chicken meat beef vegetable fish pepper"),
    "beat": words(
        "batter cream custard jam frosting chocolate egg yogurt pesto hummus mixture dough content butter flour white icing sauce"
    ),
    "whisk": words(
        "batter cream custard jam frosting chocolate egg yogurt pesto hummus mixture content sauce soup milk ingredient flour sugar "
        "mug cup bowl curd syrup dressing"
    ),
    "layer": words("ingredient vegetable noodle salad content pasta potato"),
    "line": words("tin pan tray dish ramekin sheet mold mould cup mug bowl rack"),
    "grease": words("tin pan tray dish ramekin sheet mold mould cup mug bowl rack"),
}

# Foods of which a half is a sensible amount.
HALVABLE: Final = words(
    "onion tomato cucumber pepper lemon lime orange apple potato carrot zucchini courgette avocado banana shallot cabbage eggplant "
    "aubergine "
    "mango peach pear beet radish squash pineapple melon lettuce broccoli cauliflower leek fennel celery chilli chili baguette tortilla"
)
