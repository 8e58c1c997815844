"""Narrations that are points in time, made into stretches: cleaning, order, ends. Which file they come from belongs to the importers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_LENGTH_S = 10.0  # a narration says nothing of what happens later: the length of one narration window
_TAGS = re.compile(r"#\s*(?:c|o|unsure|summary)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Point:
    t_s: float
    text: str


def clean_text(text: str) -> str:
    """``#C C  picks a bag #unsure`` to ``C picks a bag``; case and spacing of the tags do not matter. May be empty."""
    return " ".join(_TAGS.sub(" ", text).split())


def narration_rows(
    recording_id: str, annotator: str, points: Sequence[Point], *, end_s: float | None = None, max_length_s: float = MAX_LENGTH_S
) -> list[dict[str, object]]:
    """Rows of ``imported_narrations``: sorted by time, those of one time in file order, each ending at the next distinct time.

    The last, and any with a longer gap behind it, ends after ``max_length_s``, or at ``end_s`` (the end of the video) if that is sooner.
    An end is never before its start.
    """
    ordered = sorted(points, key=lambda point: point.t_s)
    rows: list[dict[str, object]] = []
    following: float | None = None
    for index in range(len(ordered) - 1, -1, -1):
        point = ordered[index]
        if index + 1 < len(ordered) and ordered[index + 1].t_s > point.t_s:
            following = ordered[index + 1].t_s
        ends = [point.t_s + max_length_s] + [t for t in (following, end_s) if t is not None]
        rows.append(
            {
                "recording_id": recording_id,
                "annotator": annotator,
                "narration_index": index,
                "start_s": point.t_s,
                "end_s": max(point.t_s, min(ends)),
                "text": point.text,
            }
        )
    return rows[::-1]
