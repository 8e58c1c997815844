"""What a backend is: one call in, one paid answer or one error out. Retries, pacing, cache and budget are the client's."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ml.llm.requests import NOTHING_USED, Request, Usage
from ml.vocabulary import Status


@dataclass(frozen=True)
class Answer:
    """A final outcome of one call. ``usage`` has the tokens; the client adds money, calls and retries."""

    status: Status
    text: str | None
    reason: str | None = None
    usage: Usage = NOTHING_USED
    model: str = ""


@runtime_checkable
class OfflineBackend(Protocol):
    """Answers at once, for free and always alike: never cached, paced or budgeted."""

    provider: str
    model: str

    def answer(self, request: Request) -> Answer: ...
