"""Counts of overlapping windows taken apart: how many additions fall in each stretch between window borders."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_MOST_PER_SLOT: Final = 5


@dataclass(frozen=True)
class Slot:
    """A stretch of time with the number of additions in it."""

    start_s: float
    end_s: float
    count: int

    @property
    def middle_s(self) -> float:
        return (self.start_s + self.end_s) / 2


def counts_per_slot(
    windows: Sequence[tuple[float, float]], counts: Sequence[int], total: int | None, clip_start_s: float, clip_end_s: float
) -> list[Slot]:
    """Additions per stretch, such that windows see what they say and all together make ``total``, as nearly as can be.

    ``windows`` [N] of (start, end) in order, ``counts`` [N]. Stretches outside the clip hold none. Dynamic programming over stretches
    with the state (count of the last one, sum so far); a window is supposed to span at most two stretches, as 10 s every 5 s do.
    """
    borders = sorted({edge for window in windows for edge in window})
    spans = [(a, b) for a, b in pairwise(borders) if any(w[0] <= a and b <= w[1] for w in windows)]
    inside = [min(b, clip_end_s) - max(a, clip_start_s) > 0.2 for a, b in spans]
    by_last: dict[int, list[int]] = {}
    for index, (start, end) in enumerate(windows):
        covered = [i for i, (a, b) in enumerate(spans) if start <= a and b <= end]
        if covered:
            by_last.setdefault(covered[-1], []).append(index)
    reach = {
        index: [i for i, (a, b) in enumerate(spans) if windows[index][0] <= a and b <= windows[index][1]] for index in range(len(windows))
    }
    limit = max([total or 0, *counts, 1]) + _MOST_PER_SLOT
    states: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {(0, 0): (0.0, ())}
    for position in range(len(spans)):
        following: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {}
        for (_, so_far), (cost, path) in states.items():
            for here in range((_MOST_PER_SLOT if inside[position] else 0) + 1):
                if so_far + here > limit:
                    break
                made = (*path, here)
                added = cost
                for index in by_last.get(position, ()):
                    added += abs(counts[index] - sum(made[i] for i in reach[index]))
                key = (here, so_far + here)
                if key not in following or added < following[key][0]:
                    following[key] = (added, made)
        states = following
    best = min(states.items(), key=lambda entry: (entry[1][0] + 0.9 * (abs(entry[0][1] - total) if total is not None else 0), entry[1][1]))
    return [
        Slot(max(a, clip_start_s), min(b, clip_end_s), count) for (a, b), count, ok in zip(spans, best[1][1], inside, strict=True) if ok
    ]
