"""The instants at which GuideMe asks an assistant: dense and anchor sampling. What is asked and how it is scored stands elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np

from ml.benchmarks.families import GuideMeVariant
from ml.benchmarks.guideme.conversations import GuideMeItem


@dataclass(frozen=True)
class AnchorGrid:
    """``anchors_s`` and the ``silent_s`` drawn beside them; ``is_balanced`` is false where there were too few silent instants."""

    anchors_s: tuple[float, ...]
    silent_s: tuple[float, ...]
    eligible: int

    @property
    def is_balanced(self) -> bool:
        return len(self.silent_s) == len(self.anchors_s)


def tail_seconds(generator: np.random.Generator, low: int = 10, high: int = 15) -> int:
    """Seconds that a dense grid goes on after the last answer, drawn uniformly from low..high."""
    return int(generator.integers(low, high + 1))


def dense_ticks(start_s: float, answers_s: Sequence[float], duration_s: float, tail_s: float, interval_s: float = 1.0) -> tuple[float, ...]:
    """Instants from the first user turn to the last answer and a tail, clipped to the video, ``interval_s`` apart from int(start) on."""
    first = float(int(start_s))
    last_answer = tick_of(max(answers_s), first, interval_s) if answers_s else first
    end = min(last_answer + tail_s, first + interval_s * int((duration_s - first) / interval_s + 1e-9))
    return tuple(first + index * interval_s for index in range(int((end - first) / interval_s + 1e-9) + 1))


def tick_of(t_s: float, first_s: float, interval_s: float = 1.0) -> float:
    """The instant that an answer belongs to: the last one not after it."""
    return first_s + interval_s * int((t_s - first_s) / interval_s + 1e-9)


def silent_candidates(anchors_s: Sequence[float], min_gap_s: float = 5.0) -> list[float]:
    """Integer seconds between two consecutive answers and at least ``min_gap_s`` from both."""
    ordered = sorted(anchors_s)
    found: list[float] = []
    for before, after in pairwise(ordered):
        first, last = int(np.ceil(before + min_gap_s - 1e-9)), int(np.floor(after - min_gap_s + 1e-9))
        found += [float(t) for t in range(first, last + 1)]
    return found


def anchor_grid(anchors_s: Sequence[float], seed: int, min_gap_s: float = 5.0) -> AnchorGrid:
    """Each answer and as many silent instants, drawn without replacement with ``seed``; fewer where there are fewer candidates."""
    seconds = sorted({float(int(t)) for t in anchors_s})
    candidates = silent_candidates(anchors_s, min_gap_s)
    count = min(len(seconds), len(candidates))
    drawn = np.random.default_rng(seed).choice(candidates, size=count, replace=False) if count else np.zeros(0)
    return AnchorGrid(tuple(seconds), tuple(sorted(float(t) for t in drawn)), len(candidates))


def grid_of(item: GuideMeItem, variant: GuideMeVariant) -> tuple[float, ...]:
    """Instants of one video under a protocol, ascending; the same for the same seed, whatever other videos there are.

    Dense: every ``interval_s`` from the first user turn to 10..15 s after the last answer. Anchor: every answer's second, and silent
    ones. A video without answers has no instant.
    """
    answers = [turn.t_s for turn in item.answers]
    if not answers:
        return ()
    seed = int(sha256(f"{variant.seed}/{item.video_id}".encode()).hexdigest()[:12], 16)
    if not variant.is_dense:
        drawn = anchor_grid(sorted(answers), seed)
        return tuple(sorted({*drawn.anchors_s, *drawn.silent_s}))
    tail = tail_seconds(np.random.default_rng(seed))
    duration_s = item.duration_s if item.duration_s is not None else max(answers) + tail
    return dense_ticks(item.start_s, answers, duration_s, tail, variant.interval_s)
