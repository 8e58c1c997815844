"""Units of recipes: spellings, kind and number forms. Amounts of ingredients, lengths, times; no foods and no vessels."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ml.counterfactuals.lexicon.words import words


class UnitKind(StrEnum):
    """What a unit measures. ``PART`` units are divided freely, ``COUNT`` units come whole."""

    SPOON = "spoon"
    CUP = "cup"
    METRIC = "metric"
    PART = "part"
    COUNT = "count"
    LENGTH = "length"
    TIME = "time"


@dataclass(frozen=True)
class Unit:
    """``name`` is the singular; ``pint`` the name in the unit registry, where one exists."""

    name: str
    kind: UnitKind
    plural: str
    pint: str | None = None


def _unit(name: str, kind: UnitKind, *spellings: str, plural: str | None = None, pint: str | None = None) -> tuple[Unit, tuple[str, ...]]:
    unit = Unit(name, kind, plural or f"{name}s", pint)
    return unit, (unit.name, unit.plural, *spellings)


_ALL: Final = (
    _unit("teaspoon", UnitKind.SPOON, "tsp", "tsps", "tspn", "teasp", "teaspoonful", "teaspoonfuls", pint="teaspoon"),
    _unit("tablespoon", UnitKind.SPOON, "tbsp", "tbsps", "tbs", "tblsp", "tablespoonful", "tablespoonfuls", pint="tablespoon"),
    _unit("dessertspoon", UnitKind.SPOON, "dsp"),
    _unit("cup", UnitKind.CUP, "cupful", "cupfuls", pint="cup"),
    _unit("glass", UnitKind.CUP, plural="glasses"),
    _unit("pint", UnitKind.CUP, "pt", "pts", pint="pint"),
    _unit("quart", UnitKind.CUP, "qt", "qts", pint="quart"),
    _unit("gallon", UnitKind.CUP, "gal", pint="gallon"),
    _unit("liter", UnitKind.METRIC, "litre", "litres", "l", "ltr", pint="liter"),
    _unit("deciliter", UnitKind.METRIC, "decilitre", "decilitres", "dl", pint="deciliter"),
    _unit("centiliter", UnitKind.METRIC, "centilitre", "centilitres", "cl", pint="centiliter"),
    _unit("milliliter", UnitKind.METRIC, "millilitre", "millilitres", "ml", "mls", pint="milliliter"),
    _unit("gram", UnitKind.METRIC, "g", "gr", "grs", "gm", "gms", "gramme", "grammes", pint="gram"),
    _unit("kilogram", UnitKind.METRIC, "kg", "kgs", "kilo", "kilos", pint="kilogram"),
    _unit("ounce", UnitKind.METRIC, "oz", "ozs", pint="ounce"),
    _unit("pound", UnitKind.METRIC, "lb", "lbs", pint="pound"),
    _unit("pinch", UnitKind.COUNT, plural="pinches"),
    _unit("dash", UnitKind.COUNT, plural="dashes"),
    _unit("splash", UnitKind.COUNT, plural="splashes"),
    _unit("drop", UnitKind.COUNT),
    _unit("scoop", UnitKind.COUNT, "scoopful", "scoopfuls"),
    _unit("spoonful", UnitKind.COUNT),
    _unit("spoon", UnitKind.COUNT),
    _unit("ladle", UnitKind.COUNT, "ladleful", "ladlefuls"),
    _unit("handful", UnitKind.COUNT),
    _unit("slice", UnitKind.COUNT),
    _unit("piece", UnitKind.COUNT),
    _unit("clove", UnitKind.COUNT),
    _unit("sprig", UnitKind.COUNT),
    _unit("stalk", UnitKind.COUNT),
    _unit("stick", UnitKind.PART),
    _unit("rib", UnitKind.COUNT),
    _unit("sheet", UnitKind.COUNT),
    _unit("strip", UnitKind.COUNT),
    _unit("rasher", UnitKind.COUNT),
    _unit("fillet", UnitKind.COUNT),
    _unit("cube", UnitKind.COUNT),
    _unit("knob", UnitKind.COUNT),
    _unit("pat", UnitKind.COUNT),
    _unit("ball", UnitKind.COUNT),
    _unit("wedge", UnitKind.COUNT),
    _unit("squeeze", UnitKind.COUNT),
    _unit("shot", UnitKind.COUNT),
    _unit("can", UnitKind.COUNT),
    _unit("tin", UnitKind.COUNT),
    _unit("jar", UnitKind.COUNT),
    _unit("packet", UnitKind.COUNT),
    _unit("package", UnitKind.COUNT, "pkg", "pkgs"),
    _unit("pack", UnitKind.COUNT),
    _unit("sachet", UnitKind.COUNT),
    _unit("bag", UnitKind.COUNT),
    _unit("box", UnitKind.COUNT, plural="boxes"),
    _unit("bottle", UnitKind.COUNT),
    _unit("carton", UnitKind.COUNT),
    _unit("tub", UnitKind.COUNT),
    _unit("head", UnitKind.PART),
    _unit("bunch", UnitKind.PART, plural="bunches"),
    _unit("block", UnitKind.PART),
    _unit("bar", UnitKind.PART),
    _unit("loaf", UnitKind.PART, plural="loaves"),
    _unit("inch", UnitKind.LENGTH, "in", '"', "″", "”", plural="inches", pint="inch"),
    _unit("centimeter", UnitKind.LENGTH, "cm", "cms", "centimetre", "centimetres", pint="centimeter"),
    _unit("millimeter", UnitKind.LENGTH, "mm", "millimetre", "millimetres", pint="millimeter"),
    _unit("foot", UnitKind.LENGTH, "ft", plural="feet", pint="foot"),
    _unit("second", UnitKind.TIME, "sec", "secs", "s", pint="second"),
    _unit("minute", UnitKind.TIME, "min", "mins", pint="minute"),
    _unit("hour", UnitKind.TIME, "hr", "hrs", "h", pint="hour"),
    _unit("day", UnitKind.TIME, pint="day"),
)
UNITS: Final[dict[str, Unit]] = {spelling: unit for unit, spellings in _ALL for spelling in spellings} | {
    # Case tells these two apart in recipes that write a single letter.
    "T": next(unit for unit, _ in _ALL if unit.name == "tablespoon"),
    "t": next(unit for unit, _ in _ALL if unit.name == "teaspoon"),
}
UNINFLECTED: Final = words("tsp tbsp tbs tblsp oz lb g gr gm kg ml l dl cl cm mm in sec min hr s h T t pt qt ft")

SIZE_WORDS: Final = frozenset(
    [
        "small",
        "medium",
        "large",
        "big",
        "little",
        "tiny",
        "generous",
        "heaped",
        "heaping",
        "level",
        "levelled",
        "scant",
        "rounded",
        "full",
        "good",
        "whole",
        "extra",
        "additional",
        "more",
        "thin",
        "thick",
    ]
)


def find_unit(word: str) -> Unit | None:
    """The unit that ``word`` spells, dots ignored; case matters for the single letters T and t only."""
    word = word.rstrip(".")
    return UNITS.get(word) or UNITS.get(word.lower())


def inflect_unit(word: str, singular: bool) -> str:
    """``word`` (any spelling of a unit) in the singular or plural; abbreviations stay as they are, capitals are kept."""
    unit = find_unit(word)
    bare = word.rstrip(".")
    if unit is None or bare.lower() in UNINFLECTED or bare in UNINFLECTED:
        return word
    if bare.lower().removesuffix("s") in {"tsp", "tbsp", "oz", "lb", "sec", "min", "hr", "kg", "ml"}:
        return bare.removesuffix("s") + ("" if singular else "s")
    lower = bare.lower()
    if lower in (unit.name, unit.plural):
        made = unit.name if singular else unit.plural
    else:
        made = lower.removesuffix("s") + ("" if singular else "s")
    return made.capitalize() if bare[0].isupper() else made
