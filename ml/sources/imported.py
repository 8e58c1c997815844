"""What every importer returns, and the helpers that make its rows. Reading files and knowing formats belong to the importers.

An importer never drops a row of the annotations: what it cannot use stays as a row with a status, and what it found odd is a row of
``import_problems`` with the rule that was applied.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import polars as pl

from ml.tables.declarations.sources import IMPORT_PROBLEMS, IMPORTED_MESSAGES, IMPORTED_NARRATIONS, IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import Status

SPLIT_LEAK = "split_leak"  # kind of the problem that two splits of a dataset contradict each other


@dataclass(frozen=True)
class ImportedSource:
    """Frames of one source, each checked against its declared table (``InputError`` where one does not fit)."""

    recordings: pl.DataFrame
    steps: pl.DataFrame = field(default_factory=IMPORTED_STEPS.empty)
    narrations: pl.DataFrame = field(default_factory=IMPORTED_NARRATIONS.empty)
    messages: pl.DataFrame = field(default_factory=IMPORTED_MESSAGES.empty)
    problems: pl.DataFrame = field(default_factory=IMPORT_PROBLEMS.empty)

    def __post_init__(self) -> None:
        for name, table in (
            ("recordings", IMPORTED_RECORDINGS),
            ("steps", IMPORTED_STEPS),
            ("narrations", IMPORTED_NARRATIONS),
            ("messages", IMPORTED_MESSAGES),
            ("problems", IMPORT_PROBLEMS),
        ):
            object.__setattr__(self, name, table.check(getattr(self, name)))


class Problems:
    """Collects rows of ``import_problems`` in the order in which they were found."""

    def __init__(self) -> None:
        self._rows: list[dict[str, object]] = []

    def add(self, kind: str, detail: str, rule: str, *, recording_id: str | None = None, record: str | None = None) -> None:
        self._rows.append(
            {
                "problem_index": len(self._rows),
                "recording_id": recording_id,
                "record": record,
                "kind": kind,
                "detail": detail,
                "rule": rule,
            }
        )

    def frame(self) -> pl.DataFrame:
        return IMPORT_PROBLEMS.rows(self._rows)


@dataclass
class StepDraft:
    """One step row while its recording is read. ``number_steps`` gives it occurrence, uid and position.

    ``parent`` is the draft that a substep belongs to, never its uid, which is not known yet.
    """

    native_step_id: str
    instruction: str
    start_s: float | None
    end_s: float | None
    graph_node_ids: list[str] = field(default_factory=list)
    is_instruction: bool = True
    performed_text: str | None = None
    error_tags: list[str] = field(default_factory=list)
    error_texts: list[str] = field(default_factory=list)
    is_clean: bool = True
    parent: "StepDraft | None" = None
    category: str | None = None
    relevance: str | None = None
    is_continued: bool = False
    is_proposed: bool = False
    status: Status = Status.OK
    reason: str | None = None
    step_uid: str = ""

    @property
    def is_timed(self) -> bool:
        return self.start_s is not None and self.end_s is not None


def number_steps(recording_id: str, drafts: Sequence[StepDraft]) -> list[dict[str, object]]:
    """Rows of ``imported_steps`` for one recording, one per draft, in order of position.

    Position follows (start, end), steps without times last, ties in file order. Occurrence counts a native step id in that same order, so
    ``<native step id>#<occurrence>`` is unique in the recording and does not depend on the order of the file where starts differ.
    """
    ordered = sorted(
        drafts, key=lambda d: (d.start_s is None, d.start_s if d.start_s is not None else 0.0, d.end_s if d.end_s is not None else 0.0)
    )
    counts: dict[str, int] = defaultdict(int)
    occurrences = []
    for draft in ordered:
        occurrences.append(counts[draft.native_step_id])
        counts[draft.native_step_id] += 1
        draft.step_uid = f"{draft.native_step_id}#{occurrences[-1]}"
    return [
        {
            "recording_id": recording_id,
            "step_uid": draft.step_uid,
            "native_step_id": draft.native_step_id,
            "graph_node_ids": draft.graph_node_ids,
            "occurrence": occurrence,
            "position": position,
            "start_s": draft.start_s,
            "end_s": draft.end_s,
            "instruction": draft.instruction,
            "is_instruction": draft.is_instruction,
            "performed_text": draft.performed_text,
            "error_tags": draft.error_tags,
            "error_texts": draft.error_texts,
            "is_clean": draft.is_clean,
            "parent_uid": draft.parent.step_uid if draft.parent is not None else None,
            "category": draft.category,
            "relevance": draft.relevance,
            "is_continued": draft.is_continued,
            "is_proposed": draft.is_proposed,
            "status": draft.status,
            "reason": draft.reason,
        }
        for position, (draft, occurrence) in enumerate(zip(ordered, occurrences, strict=True))
    ]


def same_text(a: str, b: str) -> bool:
    """Whether two texts differ in nothing but case, spacing and a closing stop."""
    return _plain(a) == _plain(b)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .")


def text_id(*texts: str) -> str:
    """Deterministic id for a step that its source gives none: 12 hex digits of the hash of its texts, case and spacing ignored."""
    return sha256("\x1f".join(_plain(text) for text in texts).encode()).hexdigest()[:12]


_DIGITS = re.compile(r"(\d+)")


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that reads runs of digits as numbers: ``1_7`` before ``1_28`` before ``10_16``."""
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(text) if part)


def overlaps(intervals: Iterable[tuple[float, float]]) -> int:
    """Number of intervals, sorted by start, that begin before an earlier one has ended."""
    count, latest = 0, float("-inf")
    for start, end in sorted(intervals):
        count += start < latest
        latest = max(latest, end)
    return count
