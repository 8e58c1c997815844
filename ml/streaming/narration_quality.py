"""How well narrations of sample-kitchen windows name what happens, against the truth. Used while training and by measure scripts."""

import random
import re
from collections import defaultdict
from dataclasses import dataclass

from ml.sample_kitchen.truth import WindowNarration, window_narration
from ml.streaming.base_rows import WINDOW_S
from ml.streaming.footage import Footage
from ml.streaming.narrate import EmbeddedNarrator

ATTRIBUTE = re.compile(r"\d+|(?<=with a )\w+|(?<=burner to )\w+")
PLURAL = re.compile(r"\b(scoop|cup|slice)s of\b")


@dataclass(frozen=True)
class NarrationScore:
    """Shares of ``windows`` whose main action is named, and named with its number, tool or level right."""

    windows: int
    named: float
    exact: float
    by_action: dict[str, tuple[float, float, int]]


def sentences(text: str) -> list[str]:
    return [part.strip().rstrip(".") + "." for part in text.split(". ") if part.strip()]


def without_attribute(sentence: str) -> str:
    """The sentence with its number, tool or level blanked: what is left is verb and object."""
    return PLURAL.sub(r"\1 of", ATTRIBUTE.sub("#", sentence))


def judge(text: str, truth: WindowNarration) -> tuple[bool, bool]:
    """(main action named, exact) of one narration; ``truth.main`` must not be None."""
    assert truth.main is not None
    told = sentences(text)
    wanted = without_attribute(truth.main.text)
    return any(without_attribute(sentence) == wanted for sentence in told), truth.main.text in told


def score_narrator(narrator: EmbeddedNarrator, footage: Footage, windows: int, seed: int) -> NarrationScore:
    """Narrate ``windows`` random windows of ``footage`` in which something happens and compare with the truth."""
    rng = random.Random(seed)
    chosen: list[tuple[int, int, WindowNarration]] = []
    while len(chosen) < windows:
        index = rng.randrange(len(footage.recordings))
        start = rng.randrange(max(1, int(footage.recordings[index].duration_s) - WINDOW_S))
        truth = window_narration(footage.recordings[index], start, start + WINDOW_S)
        if truth.main is not None:
            chosen.append((index, start, truth))
    times = [step / 2 for step in range(2 * WINDOW_S)]
    texts = narrator.describe(
        [footage.frames[index][2 * start : 2 * (start + WINDOW_S)] for index, start, _ in chosen], [times] * len(chosen)
    )
    tallies: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for text, (_, _, truth) in zip(texts, chosen, strict=True):
        assert truth.main is not None
        tallies[truth.main.verb].append(judge(text, truth))
    every = [pair for pairs in tallies.values() for pair in pairs]
    share = lambda pairs, which: sum(pair[which] for pair in pairs) / len(pairs)  # noqa: E731
    by_action = {verb: (round(share(pairs, 0), 3), round(share(pairs, 1), 3), len(pairs)) for verb, pairs in sorted(tallies.items())}
    return NarrationScore(len(every), share(every, 0), share(every, 1), by_action)
