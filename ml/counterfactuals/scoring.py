"""Scores of extracted attributes and inferred timestamps against labels, and the label formats themselves. No files, no printing.

Matching of attributes follows the labels' own rules: a measurement by its numbers, unit and head noun; a time by its seconds; a
heat setting by its words; techniques and preparations by the verb's stem and the head noun of what they are done to. A group that the
label calls uncertain counts when it matches and is left out when it does not.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from ml.counterfactuals.durations import read_duration
from ml.counterfactuals.lexicon.units import find_unit
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.numbers import find_numbers
from ml.vocabulary import MistakeType

GROUPS: Final = (
    MistakeType.MEASUREMENT,
    MistakeType.TIMING,
    MistakeType.TEMPERATURE,
    MistakeType.TECHNIQUE,
    MistakeType.PREPARATION,
)
_DROPPED: Final = words("a an the of about generous medium large small")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Score:
    """Counts of one group."""

    right: int
    extra: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.extra, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.missed, 1)

    @property
    def f1(self) -> float:
        return 2 * self.right / max(2 * self.right + self.extra + self.missed, 1)


def labelled_groups(labels: Sequence[Row]) -> tuple[MistakeType, ...]:
    """The mistake types that labels have a group of; a label file need not know every type that there is."""
    known = [group for group in (*GROUPS, *MistakeType) if any(group in label for label in labels)]
    return tuple(dict.fromkeys(known))


def prediction(found: Mapping[MistakeType, Sequence[Mapping[str, str]]], groups: Sequence[MistakeType] = GROUPS) -> dict[str, Any]:
    """Fields by type, as the label format has them: a list for measurement, one dict or None for the others, times in seconds too."""
    made: dict[str, Any] = {}
    for group in groups:
        if group is MistakeType.MEASUREMENT:
            made[group] = [dict(fields) for fields in found.get(group, ())]
            continue
        fields = next((dict(fields) for fields in found.get(group, ())), None)
        if fields is not None and group is MistakeType.TIMING:
            duration = read_duration(fields["amount_of_time"])
            fields = None if duration is None else {**fields, "seconds": [duration.low_s, duration.high_s]}  # type: ignore[dict-item]
        made[group] = fields
    return made


def _words(text: str | None) -> list[str]:
    return [word for word in re.findall(r"[a-z]+", (text or "").lower()) if word not in _DROPPED]


def _stem(word: str) -> str:
    word = re.sub(r"(ing|ed|es|s|e)$", "", word) if len(word) > 3 else word
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def _head(text: str | None) -> str:
    found = _words(text)
    return _stem(found[-1]) if found else ""


def _verb(text: str | None) -> str:
    found = _words(text)
    return _stem(found[0]) if found else ""


def _quantity(text: str) -> tuple[tuple[Fraction, ...], str]:
    numbers = find_numbers(text)
    rest = [word for word in _words(text) if not find_numbers(word)]
    unit = find_unit(rest[0]) if rest else None
    values = tuple(value for n in numbers for value in ((n.low, n.high) if n.is_range else (n.low,)))
    return values, unit.name if unit else rest[0] if rest else ""


def _same_measurement(a: Row, b: Row) -> bool:
    return _quantity(a["quantity"]) == _quantity(b["quantity"]) and _head(a["ingredient"]) == _head(b["ingredient"])


def _same_timing(a: Row, b: Row) -> bool:
    return all(abs(x - y) <= 0.5 for x, y in zip(a["seconds"], b["seconds"], strict=True))


def _same_temperature(a: Row, b: Row) -> bool:
    x, y = (
        " ".join(
            word
            for word in re.findall(r"\d+|[a-z]+", row["heat_setting"].lower())
            if word not in {"heat", "temperature", "degrees"} | (_DROPPED - {"medium"})
        )
        for row in (a, b)
    )
    return bool(x) and bool(y) and (x in y or y in x)


def _same_action(verb: str, thing: str) -> Callable[[Row, Row], bool]:
    def same(a: Row, b: Row) -> bool:
        return _verb(a[verb]) == _verb(b[verb]) and (not b[thing] or _head(a.get(thing)) == _head(b[thing]))

    return same


def _same_fields(a: Row, b: Row) -> bool:
    """Of a type without a rule of its own: every field that the label has, by its head noun."""
    return all(_head(str(a.get(name) or "")) == _head(str(value)) for name, value in b.items() if value)


_SAME: Final[Mapping[MistakeType, Callable[[Row, Row], bool]]] = {
    MistakeType.MEASUREMENT: _same_measurement,
    MistakeType.TIMING: _same_timing,
    MistakeType.TEMPERATURE: _same_temperature,
    MistakeType.TECHNIQUE: _same_action("technique", "item"),
    MistakeType.PREPARATION: _same_action("method", "object"),
}


def _listed(value: Any) -> list[Row]:
    return list(value) if isinstance(value, list) else [value] if value else []


def score_attributes(labels: Sequence[Row], predictions: Mapping[str, Row]) -> dict[MistakeType, Score]:
    """Counts by group over labelled steps ``[{"step_id", <group>..., "uncertain"}]``; a step without prediction has none.

    Only the groups that the labels have are scored.
    """
    scores = {}
    for group in labelled_groups(labels):
        same = _SAME.get(group, _same_fields)
        right = extra = missed = 0
        for label in labels:
            left = _listed(label[group])
            unsure = group in label.get("uncertain", ())
            for row in _listed(predictions.get(str(label["step_id"]), {}).get(group)):
                hit = next((entry for entry in left if same(row, entry)), None)
                if hit is not None:
                    left.remove(hit)
                    right += 1
                elif not unsure:
                    extra += 1
            missed += 0 if unsure else len(left)
        scores[group] = Score(right, extra, missed)
    return scores
