"""The moment or the span that a text states, before it is compared with options or a clip. Comparing is in ``ml.llm.replies``."""

import re
from collections.abc import Mapping

from ml.llm.literals import LiteralError, find_literal
from ml.llm.parsed import Parsed, unparsable
from ml.llm.quantities import find_durations, find_figures, read_figure
from ml.vocabulary import Status

_EDGE = r"[\s*_`\"'“”‘’()\[\].,:;!#>-]*"
_LABEL = r"(?:(?:the|my|final|correct|best)\s+)*(?:answer|verdict|result|response|output|choice|option|letter)"
NONE = re.compile(
    rf"\A{_EDGE}(?:{_LABEL}\s*(?:is|:|=)\s*)?{_EDGE}(?:none|null|nil|n\s?/\s?a|not applicable|no answer){_EDGE}\Z", re.IGNORECASE
)
_NOTHING = r"(?:none|null|nil|n\s?/\s?a)(?![\w-]|\s+of\b)"
# "12 s (or None)", "12 s, none": a choice. "None of the earlier ones shows it" is a reason.
OR_NONE = re.compile(rf"\bor\s+{_NOTHING}|/\s*{_NOTHING}", re.IGNORECASE)
_MOMENT_AND_NONE = re.compile(
    rf"{OR_NONE.pattern}|\d[^.!?;\n]*?[\s(,]{_NOTHING}|\b{_NOTHING}\s*(?:,|\bor\b)\s*(?:\w+\s+)?\d", re.IGNORECASE
)
_TIMES = ("timestamp", "timestamps", "time", "time_s", "t", "t_s", "answer", "start", "seconds", "feedback_timestamp")
_AFTER_LABEL = re.compile(r"\b(?:timestamp|time|answer)\s*(?:is|:|=)\s*[\[(<*\s]*([^\n]*)", re.IGNORECASE)


def find_moment(text: str) -> float | Parsed[float]:
    """The one moment of a text in seconds, or the outcome."""
    if NONE.match(text):
        return Parsed(None, Status.NEVER_APPARENT, "the reply is None")
    try:
        found = find_literal(text) if any(mark in text for mark in "{[") else None
    except LiteralError as error:
        return unparsable(str(error), text)
    value = found.value if found is not None else None
    if found is not None and OR_NONE.search(found.around):
        return unparsable("a moment or None", text)
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(value, list):
        return unparsable(f"{len(value)} values where one moment was asked", text)
    if isinstance(value, dict):
        named = [part for name, part in value.items() if plain(name) in _TIMES] or (list(value.values()) if len(value) == 1 else [])
        if len(named) != 1:
            return unparsable("no single moment in the object", text)
        value = named[0][0] if isinstance(named[0], list) and len(named[0]) == 1 else named[0]
        if value is None:
            return Parsed(None, Status.NEVER_APPARENT, "the moment is None")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = value if isinstance(value, str) else text
    if NONE.match(text):
        return Parsed(None, Status.NEVER_APPARENT, "the reply is None")
    if _MOMENT_AND_NONE.search(text):
        return unparsable("a moment or None", text)
    for part in [*_AFTER_LABEL.findall(text)[:1], text]:
        figure = read_figure(part.strip(" \n*_`\"'.()<>[]"))
        if figure is not None:
            return figure
        stated = {found.duration for found in find_durations(part)}
        if len(stated) == 1 and (only := stated.pop()).low_s == only.high_s:
            return only.low_s
        if stated:
            return unparsable("several moments", text)
        if len(figures := set(find_figures(part))) == 1:
            return figures.pop()
    return unparsable("no single moment", text)


def find_pair(text: str) -> tuple[float, float] | None:
    """The two figures of a text that states a start and an end, in order; None where it does not."""
    try:
        value = find_literal(text).value if any(mark in text for mark in "{[") else None
    except LiteralError:
        return None
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    parts = list(value.values()) if isinstance(value, Mapping) else value
    if isinstance(parts, list):
        numbers = [float(part) for part in parts if isinstance(part, int | float) and not isinstance(part, bool)]
        return (numbers[0], numbers[1]) if len(numbers) == len(parts) == 2 else None
    if len(stated := [found.duration for found in find_durations(text)]) == 1 and stated[0].low_s != stated[0].high_s:
        return stated[0].low_s, stated[0].high_s
    if len(stated) == 2 and all(one.low_s == one.high_s for one in stated):
        return stated[0].low_s, stated[1].low_s
    figures = find_figures(re.sub(r"(?<=\d)\s*[-–—]\s*(?=\d)", " to ", text))
    return (figures[0], figures[1]) if len(figures) == 2 else None


def plain(name: str) -> str:
    """A name without regard to case, blanks and hyphens."""
    return re.sub(r"[\s_-]+", "_", name.strip().lower())
