"""Words of heat: levels, thermal states, what they are said of. No rules."""

from typing import Final

from ml.counterfactuals.lexicon.words import words

# Position on the dial, 0 to 6; words of one position mean the same.
LEVELS: Final[dict[str, int]] = {
    "lowest": 0,
    "very low": 0,
    "minimum": 0,
    "low": 1,
    "gentle": 1,
    "slow": 1,
    "low-medium": 2,
    "medium-low": 2,
    "med-low": 2,
    "low-to-medium": 2,
    "medium": 3,
    "moderate": 3,
    "med": 3,
    "mid": 3,
    "medium-high": 4,
    "med-high": 4,
    "medium-to-high": 4,
    "moderately high": 4,
    "high": 5,
    "full": 5,
    "very high": 6,
    "highest": 6,
    "maximum": 6,
    "max": 6,
}
# What a level is changed to, best first.
LOWER: Final[dict[int, tuple[str, ...]]] = {6: ("medium",), 5: ("medium", "low"), 4: ("medium-low", "low"), 3: ("low",), 2: ("low",)}
HIGHER: Final[dict[int, tuple[str, ...]]] = {0: ("medium",), 1: ("medium", "high"), 2: ("medium-high", "high"), 3: ("high",), 4: ("high",)}

LEVEL_NOUNS: Final = frozenset({"heat", "power", "flame", "temperature", "setting", "temp", "fire"})

# Thermal states of a liquid or thing; position as above.
STATES: Final[dict[str, int]] = {
    "ice-cold": 0,
    "ice": 0,
    "iced": 0,
    "chilled": 0,
    "cold": 1,
    "cool": 1,
    "room temperature": 2,
    "room-temperature": 2,
    "lukewarm": 3,
    "tepid": 3,
    "warm": 3,
    "hot": 5,
    "boiling": 6,
}
STATE_LOWER: Final[dict[int, tuple[str, ...]]] = {6: ("cold", "lukewarm"), 5: ("cold", "lukewarm"), 3: ("cold",), 2: ("cold",)}
STATE_HIGHER: Final[dict[int, tuple[str, ...]]] = {0: ("hot", "warm"), 1: ("hot", "warm"), 2: ("hot",), 3: ("hot",)}
LIQUIDS: Final = words("water milk broth stock oil cream tap juice coffee tea soup wine")

# Words of turning the heat, each way.
TURNED_DOWN: Final = words("lower lowering lowered reduce reducing reduced decrease decreasing decreased down")
TURNED_UP: Final = words("raise raising raised increase increasing increased up")

HEATED_THINGS: Final = frozenset(
    [
        "burner",
        "hob",
        "stove",
        "stovetop",
        "knob",
        "dial",
        "oven",
        "flame",
        "heat",
        "gas",
        "fire",
        "microwave",
        "grill",
        "toaster",
        "pan",
        "skillet",
        "pot",
        "saucepan",
        "griddle",
        "kettle",
        "fryer",
    ]
)
