"""Text that models write around the value that was asked for. Readers leave it aside (``Parsed.ignored``); here it is counted and shown."""

import re
from collections.abc import Sequence

from ml.llm.literals import LiteralError, find_literal
from ml.llm.requests import Reply, Request
from ml.vocabulary import Status

_FENCE = re.compile(r"^\s*`{3,}\w*|`{3,}\s*$")
_LONGEST = 120


class IgnoredText:
    """Counts the replies to requests with a schema that hold more than their value, and keeps the first such text."""

    def __init__(self) -> None:
        self.count = 0
        self.first: str | None = None

    def take(self, requests: Sequence[Request], replies: Sequence[Reply]) -> None:
        """``replies`` are those to ``requests``, in order."""
        for request, reply in zip(requests, replies, strict=True):
            if request.schema is None or reply.status is not Status.OK or reply.text is None:
                continue
            if beside := beside_value(reply.text):
                self.count += 1
                self.first = self.first or beside[:_LONGEST]

    def report(self) -> dict[str, float | int | str | None]:
        """For an asset's metadata; nothing where no text was ignored."""
        return {"replies_with_ignored_text": self.count, "ignored_text": self.first} if self.count else {}


def beside_value(text: str) -> str:
    """What stands around the first object or list, a fence aside; empty where there is none or nothing is around it."""
    bare = _FENCE.sub("", _FENCE.sub("", text.strip())).strip()
    try:
        return " ".join(find_literal(bare).around.split())
    except LiteralError:
        return ""
