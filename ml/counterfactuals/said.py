"""Whether the texts of a counterfactual say what was changed: the new amount, time or setting in the instruction and in the feedback.

A reply of a model may put things in its own words; numbers in words, other spellings of a unit and another order are all the same here.
Ways of doing are compared in ``ways``. Whether the new value itself fits is checked by each type.
"""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeVar

from ml.counterfactuals.amounts import Amount, Part, read_amount, read_part
from ml.counterfactuals.durations import Duration, find_clock_times, find_durations, read_duration
from ml.counterfactuals.heat import Heat, HeatKind, find_heat, level_ranks, read_heat, state_ranks, turns
from ml.counterfactuals.lexicon.units import UNITS, UnitKind, find_unit
from ml.counterfactuals.numbers import Number, find_numbers
from ml.counterfactuals.praise import and_no_praise
from ml.counterfactuals.reading import Fields
from ml.counterfactuals.rules.phrases import singular
from ml.counterfactuals.spelled_numbers import in_digits

T = TypeVar("T")
_CLOSE: Final = Fraction(1, 100)


def _lacks(what: str, value: str) -> str:
    return f"the {what} does not say {value!r}"


def _keeps(value: str) -> str:
    return f"the changed instruction still says {value!r}"


def _count(found: Sequence[T], same: Callable[[T], bool]) -> int:
    return sum(1 for entry in found if same(entry))


def _kept(original: Sequence[T], new: Sequence[T], same: Callable[[T], bool]) -> bool:
    """Whether an old value still stands in the new text: the original may say it of other things too."""
    before, after = _count(original, same), _count(new, same)
    return after > 0 and after >= before


def _changes_too(value: str) -> str:
    return f"the changed instruction changes {value!r} too"


_NUMBERED: Final = re.compile(r"^\s*(?:step\s+)?\d+\s*[.):]\s+", re.IGNORECASE)
_ASIDE: Final = re.compile(r"\([^()]*\)")
_EACH: Final = re.compile(r"\b(?:each|both)\b", re.IGNORECASE)


def _beside(text: str) -> str:
    """A text without the number of a step and without what stands in brackets: a second unit or a total changes with the first."""
    return _ASIDE.sub(" ", _NUMBERED.sub("", text))


def _first_lost(others: Sequence[T], new: Sequence[T], same: Callable[[T, T], bool], is_asked: Callable[[T], bool], text: str) -> T | None:
    """The first of the other values of the original that no longer stands so often; one that equals the asked value stands once more."""
    for other in others:
        expected = _count(others, lambda entry, other=other: same(entry, other))  # type: ignore[misc]
        expected += is_asked(other) and _EACH.search(text) is None
        if _count(new, lambda entry, other=other: same(entry, other)) < expected:  # type: ignore[misc]
            return other
    return None


def _same_number(a: Number, b: Number) -> bool:
    return abs(a.low - b.low) <= abs(b.low) * _CLOSE and abs(a.high - b.high) <= abs(b.high) * _CLOSE


def _parts(text: str) -> list[Part]:
    """The amounts of a text; a number in brackets after a unit stands for itself."""
    return [read_part(text, number) for number in find_numbers(text)]


_NOUN: Final = r"\s+(?!(?:of|and|or|in|into|to|with|for|from|on|at|the|an?|then|by|until)\b)[a-z-]+"
_UNITS_COUNTED: Final = "|".join(sorted(word for word, unit in UNITS.items() if unit.kind in (UnitKind.COUNT, UnitKind.PART)))
_AFTER_NOUN: Final = re.compile(rf"(?:{_NOUN}){{1,2}}?\s+(?P<unit>{_UNITS_COUNTED})\b", re.IGNORECASE)


def _after_noun(text: str) -> list[Part]:
    """Amounts whose count unit stands behind the thing: "5 garlic cloves", "2 tomato slices"."""
    found = []
    for part in _parts(text):
        match = _AFTER_NOUN.match(text, part.end) if part.unit is None else None
        if match is not None:
            found.append(Part(part.number, find_unit(match["unit"]), match.span("unit"), part.start, match.end()))
    return found


def _same_part(a: Part, b: Part) -> bool:
    return _same_number(a.number, b.number) and (a.unit and a.unit.name) == (b.unit and b.unit.name)


def _same_size(a: Part, b: Part) -> bool:
    """The same amount in other units: 8 tablespoons are half a cup. A tenth is granted to rounding."""
    import pint

    if a.unit is None or b.unit is None or a.unit.pint is None or b.unit.pint is None:
        return False
    registry = pint.get_application_registry()
    one, other = registry.Quantity(float(a.number.low), a.unit.pint), registry.Quantity(float(b.number.low), b.unit.pint)
    return one.is_compatible_with(other) and abs(float(one.to(other.units).magnitude) / float(other.magnitude) - 1) <= 0.1


def amount_in_full(instruction: str, quantity: str) -> Amount | None:
    """The amount of an instruction with all units that it is given in, where ``quantity`` may name only the first."""
    wanted = read_amount(quantity)
    if wanted is None:
        return None
    for part in _parts(instruction):
        if _same_part(part, wanted.parts[0]):
            full = read_amount(instruction[part.start :])
            return full if full is not None and len(full.parts) > len(wanted.parts) and _is_joined(full) else wanted
    return wanted


def _is_joined(amount: Amount) -> bool:
    """Whether something joins the parts: "1 14-oz can" states one amount, the other is a size."""
    return all(amount.text[a.end : b.start].strip() for a, b in pairwise(amount.parts))


def _says_one(text: str, wanted: Part, ingredient: str) -> bool:
    """One counted thing may go by its article: "an egg", "the whole onion", "a single garlic clove"."""
    head = singular(ingredient.lower().split()[-1]) if ingredient else ""
    if wanted.unit is not None:
        head = wanted.unit.name if wanted.unit.kind is UnitKind.COUNT else ""
    if wanted.number.high != 1 or wanted.number.is_range or not head:
        return False
    return re.search(rf"\b(?:an?|single|whole|entire)\s+(?:[a-z-]+\s+){{0,3}}?{re.escape(head)}\b", text, re.IGNORECASE) is not None


def _says_every(found: Sequence[Part], asked: Amount) -> bool:
    """Whether every part of an amount is said by a number of its own, in whichever unit: "2 lb (0.9 kg)" for "2 lb (900 g)"."""
    free = list(found)
    for same in (_same_part, _same_size):
        left = []
        for wanted in asked.parts:
            said = next((part for part in free if same(part, wanted)), None)
            if said is None:
                left.append(wanted)
            else:
                free = [part for part in free if part.start != said.start]
        if not left:
            return True
        asked = Amount(asked.text, tuple(left))
    return False


def check_amount_instruction(instruction: str, fields: Fields, changed: str) -> str | None:
    """The new amount must be there in every unit, the old one gone in every unit in which it was given."""
    before, after = in_digits(instruction), in_digits(changed)
    asked, used = read_amount(in_digits(fields["counterfactual_quantity"])), amount_in_full(before, in_digits(fields["quantity"]))
    found, old = ([*_parts(text), *_after_noun(text)] for text in (after, before))
    if asked is None or used is None:
        return None
    is_one = len(asked.parts) == 1 and _says_one(changed, asked.parts[0], fields.get("ingredient", ""))
    if not is_one and not _says_every(found, asked):
        return _lacks("changed instruction", fields["counterfactual_quantity"])
    for part in used.parts:
        if any(_same_part(part, wanted) for wanted in asked.parts):
            continue
        if _kept(old, found, lambda other, part=part: _same_part(other, part)):  # type: ignore[misc]
            return _keeps(used.text[part.start : part.end])
    beside = _beside(before)
    others = [part for part in _parts(beside) if _is_telling(part) and not any(_same_part(part, own) for own in used.parts)]
    lost = _first_lost(others, found, _same_amount, lambda part: any(_same_part(part, wanted) for wanted in asked.parts), changed)
    return _changes_too(beside[lost.start : lost.end]) if lost is not None else None


def _same_amount(a: Part, b: Part) -> bool:
    """The same, in whichever unit; a unit may go without saying: "into 2 pieces", "in two"."""
    return _same_part(a, b) or _same_size(a, b) or ((a.unit is None or b.unit is None) and _same_number(a.number, b.number))


def _is_telling(part: Part) -> bool:
    """Whether a number states an amount: of those without a unit, not the "one" of "one at a time" nor the half of "in half"."""
    return part.unit is not None or (part.number.low > 1 and part.number.low.denominator == 1)


@and_no_praise
def check_amount_feedback(instruction: str, fields: Fields, feedback: str) -> str | None:
    """The feedback must tell of a mistake and name the asked amount, in one unit or as the bare number."""
    asked = read_amount(in_digits(fields["counterfactual_quantity"]))
    if asked is None:
        return None
    if _says_one(feedback, asked.parts[0], fields.get("ingredient", "")):
        return None
    text = in_digits(feedback)
    for part in [*_parts(text), *_after_noun(text)]:
        for wanted in asked.parts:
            bare = part.unit is None or wanted.unit is None
            if _same_part(part, wanted) or _same_size(part, wanted) or (bare and _same_number(part.number, wanted.number)):
                return None
    return _lacks("feedback", fields["counterfactual_quantity"])


def _times(text: str) -> list[Duration]:
    return [*find_durations(text), *find_clock_times(text)]


def _same_time(a: Duration, b: Duration) -> bool:
    return abs(a.low_s - b.low_s) <= 0.5 and abs(a.high_s - b.high_s) <= 0.5


def check_time_instruction(instruction: str, fields: Fields, changed: str) -> str | None:
    """The new time must be there and the old one gone."""
    asked, used = (read_duration(in_digits(fields[name])) for name in ("counterfactual_amount_of_time", "amount_of_time"))
    found, old = _times(in_digits(changed)), _times(in_digits(instruction))
    if asked is None or used is None:
        return None
    if not any(_same_time(time, asked) for time in found):
        return _lacks("changed instruction", fields["counterfactual_amount_of_time"])
    if _kept(old, found, lambda time: _same_time(time, used)):
        return _keeps(fields["amount_of_time"])
    others = [time for time in _times(_beside(in_digits(instruction))) if not _same_time(time, used)]
    lost = _first_lost(others, found, _same_time, lambda time: _same_time(time, asked), changed)
    return _changes_too(lost.text) if lost is not None else None


@and_no_praise
def check_time_feedback(instruction: str, fields: Fields, feedback: str) -> str | None:
    """The feedback must tell of a mistake and name the asked time, or its number where the unit goes without saying."""
    text, wanted = in_digits(feedback), in_digits(fields["counterfactual_amount_of_time"])
    asked = read_duration(wanted)
    if asked is None or any(_same_time(time, asked) for time in _times(text)):
        return None
    bare = [part.number for part in _parts(text) if part.unit is None]
    if all(any(_same_number(number, other) for other in bare) for number in find_numbers(wanted)):
        return None
    return _lacks("feedback", fields["counterfactual_amount_of_time"])


def _setting_in_full(instruction: str, setting: str) -> Heat | None:
    """The setting with all units that the instruction gives it in, where ``setting`` may name only the first."""
    wanted = read_heat(setting)
    if wanted is None or wanted.kind is not HeatKind.DEGREES:
        return wanted
    for heat in find_heat(instruction):
        if heat.kind is HeatKind.DEGREES and any(_same_number(reading.number, wanted.readings[0].number) for reading in heat.readings):
            return heat if len(heat.readings) > len(wanted.readings) else wanted
    return wanted


def check_setting_instruction(instruction: str, fields: Fields, changed: str) -> str | None:
    """The new setting must be there in every unit, the old one gone in every unit in which it was given."""
    before, after = in_digits(instruction), in_digits(changed)
    asked = read_heat(in_digits(fields["counterfactual_heat_setting"]))
    used = _setting_in_full(before, in_digits(fields["heat_setting"]))
    if asked is None or used is None:
        return None
    if not _names_setting(after, asked, every_unit=True):
        return _lacks("changed instruction", fields["counterfactual_heat_setting"])
    if asked.kind is not used.kind:
        return None
    if used.readings:
        found, old = ([part.number for part in _parts(text)] for text in (after, before))
        for reading in used.readings:
            new = any(_same_number(reading.number, other.number) for other in asked.readings)
            if not new and _kept(old, found, lambda number, reading=reading: _same_number(number, reading.number)):  # type: ignore[misc]
                return _keeps(fields["heat_setting"])
        return None
    places = {HeatKind.LEVEL: level_ranks, HeatKind.STATE: state_ranks}.get(used.kind)
    if places is not None:
        kept = _kept(places(before), places(after), lambda rank: rank == _place(used))
    else:
        gone = set(turns(used.text)) - set(turns(asked.text))
        kept = _kept(turns(before), turns(after), lambda turn: turn in gone)
    return _keeps(fields["heat_setting"]) if kept else None


def _place(setting: Heat) -> int:
    return max(int(setting.rank), 1) if setting.kind is HeatKind.STATE else int(setting.rank)


def _names_setting(text: str, setting: Heat, *, every_unit: bool) -> bool:
    match setting.kind:
        case HeatKind.LEVEL:
            return _place(setting) in level_ranks(text)
        case HeatKind.STATE:
            return _place(setting) in state_ranks(text)
        case HeatKind.TURN:
            return bool(set(turns(setting.text)) & set(turns(text)))
        case _:
            numbers = [part.number for part in _parts(text)]
            named = [any(_same_number(number, reading.number) for number in numbers) for reading in setting.readings]
            return all(named) if every_unit else any(named)


@and_no_praise
def check_setting_feedback(instruction: str, fields: Fields, feedback: str) -> str | None:
    """The feedback must tell of a mistake and name the asked setting, in one unit."""
    asked = read_heat(in_digits(fields["counterfactual_heat_setting"]))
    if asked is None or _names_setting(in_digits(feedback), asked, every_unit=False):
        return None
    return _lacks("feedback", fields["counterfactual_heat_setting"])
