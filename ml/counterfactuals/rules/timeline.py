"""Narrated windows as a timeline: what each window mentions, and in which part of it something began.

Windows overlap. What window k tells and window k-1 does not lies in the part of k that k-1 does not cover.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ml.counterfactuals.rules.parsing import parse_statement, verb_lemma
from ml.counterfactuals.rules.phrases import singular


@dataclass(frozen=True)
class Window:
    """One narration of [start_s, end_s)."""

    start_s: float
    end_s: float
    text: str

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(part for part in re.split(r"(?<=[.!?;])\s+", self.text) if part)


@lru_cache(maxsize=50_000)
def lemmas(text: str) -> frozenset[str]:
    """Lemmas of a text: nouns in the singular, cooking verbs in the base form."""
    found: set[str] = set()
    for token in parse_statement(text):
        if token.tag in ("DT", "IN", "CC", "TO", ".", ",", "PRP$", "PRP"):
            continue
        found.update((token.lemma, singular(token.lower), verb_lemma(token.lower)))
    return frozenset(found)


@lru_cache(maxsize=50_000)
def verbs(text: str) -> frozenset[str]:
    """Base forms of the words that are verbs in the text: "takes a spoon" has take, not spoon."""
    return frozenset(form for token in parse_statement(text) if token.is_verb for form in (token.lemma, verb_lemma(token.lower)))


def read_windows(narrations: object) -> list[Window]:
    """Windows from ``[{"start_s", "end_s", "text"}]`` in time order; windows without text are left out."""
    assert isinstance(narrations, Sequence)
    made = []
    for row in narrations:
        assert isinstance(row, Mapping)
        if row.get("text"):
            made.append(Window(float(row["start_s"]), float(row["end_s"]), str(row["text"])))
    return sorted(made, key=lambda window: window.start_s)


@dataclass(frozen=True)
class Timeline:
    """Windows of one clip with the times that may be answered."""

    windows: tuple[Window, ...]
    options: tuple[float, ...]
    clip_start_s: float
    clip_end_s: float

    @property
    def starts_are_options(self) -> bool:
        starts = {window.start_s for window in self.windows}
        return all(option in starts for option in self.options)

    def onset_s(self, index: int, *, lasting: bool = True, seen_next: bool = False) -> float:
        """When something began that window ``index`` is the first to tell: the middle of the part that no earlier window covers.

        In the first window of all it is taken to begin early, unless it is short and the next window tells it too.
        """
        window = self.windows[index]
        if index == 0:
            start = max(window.start_s, self.clip_start_s)
            step = self.windows[1].start_s - window.start_s if len(self.windows) > 1 else window.end_s - window.start_s
            later = not lasting and seen_next and window.end_s - start > step
            return start + (step * 1.5 if later else min(step, window.end_s - start) / 2)
        covered = min(self.windows[index - 1].end_s, window.end_s)
        return (max(covered, window.start_s) + window.end_s) / 2

    def option_at(self, t_s: float) -> float | None:
        """The option for a moment: the nearest, or where options are window starts the last window that had begun by then."""
        if not self.options:
            return None
        if self.starts_are_options:
            return max((option for option in self.options if option <= t_s), default=self.options[0])
        return min(self.options, key=lambda option: (abs(option - t_s), option))

    def option_from(self, t_s: float) -> float | None:
        """The first option at or after a moment inside the clip."""
        return min((option for option in self.options if option >= t_s), default=None)


FILLERS: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "with",
        "in",
        "on",
        "into",
        "by",
        "to",
        "using",
        "and",
        "or",
        "under",
        "for",
        "your",
        "it",
        "its",
        "them",
        "at",
        "be",
        "person",
        "cook",
        "cooker",
        "until",
        "from",
        "over",
        "again",
        "use",
        "instead",
        "small",
        "large",
        "fine",
        "medium",
        "thin",
        "side",
        "together",
        "then",
    ]
)


def content_words(text: str) -> frozenset[str]:
    """The words of a short phrase that tell it from others, as lemmas."""
    words = re.findall(r"[a-z]+", text.lower().replace("'s", ""))
    return frozenset(verb_lemma(word) if verb_lemma(word) != word else singular(word) for word in words if word not in FILLERS)
