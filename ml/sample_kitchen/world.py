"""The vocabulary of the sample kitchen: step kinds, values, items with their colours, kitchens, and what each split may use.

Nothing here is random and nothing is drawn: scripts are made in `script`, pictures in `render`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ml.vocabulary import Direction, MistakeType

Colour = tuple[int, int, int]
Value = int | str


class KitchenSplit(StrEnum):
    """Which part of the sample kitchen a recording belongs to."""

    TRAIN = "train"
    VALIDATION = "validation"
    EVALUATION = "evaluation"
    UNSEEN = "unseen"


class Behaviour(StrEnum):
    """What the person does about the instructions."""

    CLEAN = "clean"
    ERRS = "errs"
    CORRECTS = "corrects"


class View(StrEnum):
    """Where the camera hangs."""

    ABOVE = "above"
    HEAD = "head"


class Kind(StrEnum):
    """What a step is about. Every kind carries one attribute of one mistake type."""

    SCOOP = "scoop"
    PLACE = "place"
    BEAT = "beat"
    TIN = "tin"
    WASH = "wash"
    CUT = "cut"
    MIX = "mix"
    KNOB = "knob"
    COOK = "cook"


@dataclass(frozen=True)
class Instruction:
    """One instruction: the kind of step, what it is done to, and the value of the attribute that can go wrong."""

    kind: Kind
    item: str
    value: Value


MISTAKE_TYPE: Final[dict[Kind, MistakeType]] = {
    Kind.SCOOP: MistakeType.MEASUREMENT,
    Kind.PLACE: MistakeType.MEASUREMENT,
    Kind.BEAT: MistakeType.PREPARATION,
    Kind.TIN: MistakeType.PREPARATION,
    Kind.WASH: MistakeType.PREPARATION,
    Kind.CUT: MistakeType.TECHNIQUE,
    Kind.MIX: MistakeType.TECHNIQUE,
    Kind.KNOB: MistakeType.TEMPERATURE,
    Kind.COOK: MistakeType.TIMING,
}

TIMER_SEGMENT_S: Final = 2
VALUES: Final[dict[Kind, tuple[Value, ...]]] = {
    Kind.SCOOP: (1, 2, 3, 4, 5),
    Kind.PLACE: (1, 2, 3, 4, 5),
    Kind.BEAT: ("whisk", "fork"),
    Kind.TIN: ("grease", "line"),
    Kind.WASH: ("peel", "rinse"),
    Kind.CUT: ("slice", "dice", "grate"),
    Kind.MIX: ("stir", "fold"),
    Kind.KNOB: ("low", "medium", "high"),
    Kind.COOK: (4, 6, 8, 10, 12, 14),
}

# Items seen in training. Each group that takes part in the held-out rule has at least five members, so that every kitchen has
# one held-out member of it.
POWDERS: Final[dict[str, Colour]] = {
    "flour": (247, 243, 232),
    "cocoa": (104, 60, 34),
    "sugar": (250, 176, 204),
    "salt": (128, 214, 232),
    "paprika": (222, 62, 34),
    "matcha": (126, 190, 70),
}
SLICES: Final[dict[str, Colour]] = {
    "cheese": (252, 204, 64),
    "tomato": (226, 56, 46),
    "ham": (246, 160, 166),
    "bread": (206, 150, 88),
    "pickle": (112, 150, 44),
}
VEGETABLES: Final[dict[str, Colour]] = {
    "carrot": (245, 134, 36),
    "cucumber": (58, 148, 66),
    "beet": (146, 30, 96),
    "potato": (158, 110, 58),
    "apple": (214, 44, 48),
}
MIXES: Final[dict[str, Colour]] = {
    "batter": (244, 222, 168),
    "custard": (248, 206, 84),
    "jam": (158, 30, 58),
    "frosting": (246, 170, 200),
    "chocolate": (100, 58, 38),
}
FOODS: Final[dict[str, Colour]] = {
    "sauce": (208, 46, 40),
    "soup": (240, 176, 52),
    "rice": (244, 242, 232),
    "beans": (120, 66, 44),
    "peas": (104, 184, 70),
}
BEATEN: Final[dict[str, Colour]] = {"eggs": (252, 206, 70)}

# Items and colours that no training, validation or evaluation recording ever shows or names.
UNSEEN_POWDERS: Final[dict[str, Colour]] = {"turmeric": (244, 170, 20), "ube": (166, 140, 220), "sesame": (58, 58, 66)}
UNSEEN_SLICES: Final[dict[str, Colour]] = {"salami": (160, 44, 52), "mango": (255, 168, 40), "kiwi": (150, 206, 74)}
UNSEEN_VEGETABLES: Final[dict[str, Colour]] = {"radish": (240, 88, 140), "parsnip": (240, 226, 186), "eggplant": (86, 46, 120)}
UNSEEN_MIXES: Final[dict[str, Colour]] = {"pesto": (96, 146, 48), "yogurt": (246, 246, 248), "hummus": (222, 190, 130)}
UNSEEN_FOODS: Final[dict[str, Colour]] = {"curry": (232, 140, 24), "lentils": (150, 110, 60), "spinach": (40, 110, 56)}
UNSEEN_BEATEN: Final[dict[str, Colour]] = {"cream": (252, 248, 238)}

TIN_ITEM: Final = "tin"
KNOB_ITEM: Final = "burner"

SEEN_ITEMS: Final[dict[Kind, dict[str, Colour]]] = {
    Kind.SCOOP: POWDERS,
    Kind.PLACE: SLICES,
    Kind.BEAT: BEATEN,
    Kind.TIN: {TIN_ITEM: (120, 126, 138)},
    Kind.WASH: VEGETABLES,
    Kind.CUT: VEGETABLES,
    Kind.MIX: MIXES,
    Kind.KNOB: {KNOB_ITEM: (52, 54, 62)},
    Kind.COOK: FOODS,
}
UNSEEN_ITEMS: Final[dict[Kind, dict[str, Colour]]] = {
    Kind.SCOOP: UNSEEN_POWDERS,
    Kind.PLACE: UNSEEN_SLICES,
    Kind.BEAT: UNSEEN_BEATEN,
    Kind.TIN: {TIN_ITEM: (178, 120, 84)},
    Kind.WASH: UNSEEN_VEGETABLES,
    Kind.CUT: UNSEEN_VEGETABLES,
    Kind.MIX: UNSEEN_MIXES,
    Kind.KNOB: {KNOB_ITEM: (150, 152, 160)},
    Kind.COOK: UNSEEN_FOODS,
}
CUP_ITEMS: Final = frozenset({"flour", "sugar", "ube"})

COUNTERS: Final[dict[str, Colour]] = {
    "grey": (158, 160, 166),
    "wood": (188, 146, 100),
    "blue": (112, 138, 172),
    "cream": (228, 218, 198),
    "dark": (84, 86, 94),
}
BOWLS: Final[dict[str, Colour]] = {"white": (238, 238, 236), "steel": (176, 186, 196), "teal": (44, 140, 138), "navy": (48, 60, 122)}
UNSEEN_COUNTERS: Final[dict[str, Colour]] = {"terracotta": (190, 98, 76), "mint": (148, 200, 172)}
UNSEEN_BOWLS: Final[dict[str, Colour]] = {"yellow": (244, 214, 96), "black": (42, 42, 48)}
HANDS: Final[tuple[Colour, ...]] = ((238, 194, 164), (208, 158, 118), (150, 102, 70), (98, 66, 46))
UNSEEN_HANDS: Final[tuple[Colour, ...]] = ((250, 226, 92), (96, 186, 232))
SLEEVES: Final[tuple[Colour, ...]] = ((70, 100, 168), (182, 64, 70), (70, 136, 96), (86, 82, 100), (220, 216, 206))

# Groups whose (item, counter, bowl) combinations are held out of training, in one fixed order.
_COMBINED: Final[tuple[dict[str, Colour], ...]] = (POWDERS, SLICES, VEGETABLES, MIXES, FOODS)
HELD_OUT_CLASSES: Final = 5


def kitchen_class(counter: str, bowl: str) -> int:
    """Class 0..4 of a (counter, bowl) pair; the held-out items of a kitchen depend on the class alone."""
    return (3 * list(COUNTERS).index(counter) + list(BOWLS).index(bowl)) % HELD_OUT_CLASSES


def held_out(item: str, kitchen: int) -> bool:
    """Whether training never shows `item` in kitchens of class `kitchen` (one in five combinations)."""
    for group in _COMBINED:
        if item in group:
            return (list(group).index(item) + kitchen) % HELD_OUT_CLASSES == 0
    return False


def items_for(kind: Kind, split: KitchenSplit, kitchen: int) -> tuple[str, ...]:
    """Items that a step of `kind` may use in a kitchen of class `kitchen`, never empty."""
    if split is KitchenSplit.UNSEEN:
        return tuple(UNSEEN_ITEMS[kind])
    group = SEEN_ITEMS[kind]
    if group not in _COMBINED:
        return tuple(group)
    wanted = split is KitchenSplit.EVALUATION
    return tuple(item for item in group if held_out(item, kitchen) == wanted)


def colour_of(instruction_kind: Kind, item: str) -> Colour:
    """The nominal colour of an item, seen or unseen."""
    seen = SEEN_ITEMS[instruction_kind]
    return seen[item] if item in seen else UNSEEN_ITEMS[instruction_kind][item]


def unit_of(item: str) -> str:
    """The measure that a powder is added with."""
    return "cup" if item in CUP_ITEMS else "scoop"


def alternatives(instruction: Instruction) -> tuple[Instruction, ...]:
    """Every instruction that differs from `instruction` in the value alone."""
    return tuple(Instruction(instruction.kind, instruction.item, value) for value in VALUES[instruction.kind] if value != instruction.value)


def direction(original: Instruction, changed: Instruction) -> Direction:
    """How the changed instruction differs from the original."""
    values = VALUES[original.kind]
    above = values.index(changed.value) > values.index(original.value)
    match MISTAKE_TYPE[original.kind]:
        case MistakeType.MEASUREMENT | MistakeType.TIMING:
            return Direction.GREATER if above else Direction.SMALLER
        case MistakeType.TEMPERATURE:
            return Direction.HIGHER if above else Direction.LOWER
        case _:
            return Direction.ALTERNATIVE
