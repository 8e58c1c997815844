"""What a reader makes of a reply, and what of a reply a reader may look at. The readers themselves are in ``ml.llm.replies``."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ml.llm.literals import without_thinking
from ml.llm.outcomes import is_refusal
from ml.llm.requests import Reply
from ml.vocabulary import Status

T = TypeVar("T")
Said = Reply | str | None


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """What a reader made of a reply. ``value`` is set only where ``status`` is ok; ``ignored`` is text around it that was left aside."""

    value: T | None
    status: Status
    reason: str | None = None
    ignored: str = ""


def text_of(said: Said) -> str | Parsed[Any]:
    """The text to read, or the outcome where there is none."""
    if isinstance(said, Reply):
        if said.status is not Status.OK:
            return Parsed(None, said.status, said.reason)
        said = said.text
    if said is None or not said.strip():
        return Parsed(None, Status.EMPTY, "no text in the reply")
    text = without_thinking(said)
    if not text.strip():
        return Parsed(None, Status.EMPTY, "nothing after the thinking")
    if is_refusal(text):
        return Parsed(None, Status.REFUSED, f"refused in words: {text.strip()[:120]}")
    return text


def unparsable(reason: str, text: str) -> Parsed[Any]:
    """The outcome of a text that leaves a choice or holds no value."""
    return Parsed(None, Status.UNPARSABLE, f"{reason}: {' '.join(text.split())[:160]}")
