"""A GuideMe video as instants with what was said and what should have been: silence rules, and references onto instants. Scores nothing."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ml.benchmarks.guideme.options import Missing, SameSecond, SilenceRule

SILENT = "Silent"
_OFFICIAL = frozenset({"", "silent", "<|silent|>"})
_EDGES = re.compile(r"^[\s\"'“”‘’`*(\[]+|[\s\"'“”‘’`*)\].!…。]+$")


@dataclass(frozen=True, slots=True)
class Instant:
    """``said`` None: inference failed. ``reference`` is silence or text. ``category``: instruction, error or correction."""

    t_s: float
    said: str | None
    reference: str = SILENT
    category: str | None = None


def is_silence(text: str, rule: SilenceRule = SilenceRule.OFFICIAL) -> bool:
    """Whether an answer means silence, case and outer blanks aside."""
    plain = text.strip().lower()
    if plain in _OFFICIAL:
        return True
    return rule is SilenceRule.LENIENT and _EDGES.sub("", _EDGES.sub("", plain)) in _OFFICIAL


def usable_instants(instants: Sequence[Instant], missing: Missing) -> list[Instant]:
    """In time order, without failed ones or with silence in their place."""
    ordered = sorted(instants, key=lambda instant: instant.t_s)
    if missing is Missing.DROP:
        return [instant for instant in ordered if instant.said is not None]
    return [
        instant if instant.said is not None else Instant(instant.t_s, SILENT, instant.reference, instant.category) for instant in ordered
    ]


def place_references(
    references: Sequence[tuple[float, str, str | None]], ticks_s: Sequence[float], interval_s: float, rule: SameSecond
) -> list[tuple[float, str, str | None]]:
    """(tick, text, category) per instant of the grid: an utterance at 12.4 s belongs to the tick 12, which sees frames up to 12.0 s.

    ``ticks_s`` ascend; a reference belongs to the last tick that is not after it and less than ``interval_s`` before it, else to none.
    Ticks without reference are silent; under ``BOTH`` a tick may come twice.
    """
    if not ticks_s:
        return []
    at: dict[int, list[tuple[str, str | None]]] = {}
    for t_s, text, category in sorted(references, key=lambda reference: reference[0]):
        place = bisect_right(ticks_s, t_s + 1e-9 * interval_s) - 1
        if place >= 0 and t_s - ticks_s[place] < interval_s - 1e-9:
            at.setdefault(place, []).append((text, category))
    placed: list[tuple[float, str, str | None]] = []
    for index, tick in enumerate(ticks_s):
        here = at.get(index, [])
        if not here:
            placed.append((tick, SILENT, None))
        elif rule is SameSecond.LAST:
            placed.append((tick, *here[-1]))
        elif rule is SameSecond.JOINED:
            placed.append((tick, " ".join(text for text, _ in here), here[-1][1]))
        else:
            placed += [(tick, *reference) for reference in here]
    return placed
