"""Word data for ``difference``: units with factors, numbers in words, fillers, heat levels, and kitchen synonyms. No rules."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """``value * factor + shift`` in the base unit of the dimension: ml, g, s, mm, degrees C, or the unit's own name."""

    dimension: str
    factor: float = 1.0
    shift: float = 0.0


_MEASURES: dict[tuple[str, ...], Unit] = {
    ("ml", "milliliter", "millilitre"): Unit("ml"),
    ("l", "liter", "litre"): Unit("ml", 1000.0),
    ("tsp", "teaspoon"): Unit("ml", 4.92892),
    ("tbsp", "tbs", "tablespoon"): Unit("ml", 14.78676),
    ("cup",): Unit("ml", 236.588),
    ("pint",): Unit("ml", 473.176),
    ("quart",): Unit("ml", 946.353),
    ("g", "gram", "gramme"): Unit("g"),
    ("kg", "kilogram", "kilo"): Unit("g", 1000.0),
    ("oz", "ounce"): Unit("g", 28.3495),
    ("lb", "pound"): Unit("g", 453.592),
    ("s", "sec", "secs", "second"): Unit("s"),
    ("min", "mins", "minute"): Unit("s", 60.0),
    ("h", "hr", "hrs", "hour"): Unit("s", 3600.0),
    ("mm", "millimeter", "millimetre"): Unit("mm"),
    ("cm", "centimeter", "centimetre"): Unit("mm", 10.0),
    ("inch", "inches"): Unit("mm", 25.4),
    ("c", "celsius", "°c"): Unit("c"),
    ("f", "fahrenheit", "°f"): Unit("c", 5 / 9, -160 / 9),
}
UNITS: dict[str, Unit] = {name: unit for names, unit in _MEASURES.items() for name in names}


def _words(text: str) -> list[str]:
    return text.split()


NUMBER_WORDS: dict[str, float] = {
    **{word: float(n) for n, word in enumerate(_words("zero one two three four five six seven eight nine ten eleven twelve"))},
    "fifteen": 15.0,
    "twenty": 20.0,
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
    "sixty": 60.0,
    "dozen": 12.0,
    "half": 0.5,
    "quarter": 0.25,
    "twice": 2.0,
}

FILLERS = frozenset(
    _words(
        "a an the this that these those it its them your you of to in into on onto at with use using and or for from then now by as is are"
    )
    + _words("be about around approximately just please make sure some next")
)

# A comparative names a level as the plain word does: "on lower heat" asks for low heat.
LEVELS = {"lower": "low", "lowest": "low", "higher": "high", "highest": "high", "med": "medium", "moderate": "medium"}

_SAME: tuple[tuple[str, ...], ...] = (
    ("mix", "combine"),
    ("pan", "skillet"),
    ("cut", "chop"),
    ("put", "place", "set"),
    ("heat", "warm"),
    ("take", "get", "grab", "pick"),
    ("remove", "discard"),
    ("cook", "prepare"),
    ("small", "little"),
    ("large", "big"),
    ("finely", "fine"),
    ("thinly", "thin"),
    ("coarsely", "coarse", "roughly"),
    ("evenly", "even"),
    ("completely", "fully", "entirely"),
    ("pour", "empty"),
    ("coriander", "cilantro"),
    ("aubergine", "eggplant"),
    ("courgette", "zucchini"),
    ("grind", "mill"),
    ("rinse", "wash"),
    ("stove", "hob", "stovetop"),
)
SYNONYMS: dict[str, str] = {word: group[0] for group in _SAME for word in group}
