"""Changing text in place, and choosing among alternatives repeatably."""

import hashlib
from collections.abc import Callable, Iterable

Edit = tuple[int, int, str]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with non-overlapping spans replaced."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def pick_by(*parts: object) -> Callable[[int], int]:
    """A chooser that depends on ``parts`` alone: the same step always gets the same alternative."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return lambda n: int.from_bytes(digest[:8], "big") % n
