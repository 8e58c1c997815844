"""What a provider's batch interface is to ``ml.llm.batches``: upload, look, read results. The providers have their own modules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ml.llm.calls import Answer, Backend, CallError, storable
from ml.llm.requests import Request

LOOK_S = 20.0  # longest wait for one look at a batch, which is not tried again: the next look is a minute off


@dataclass(frozen=True)
class BatchView:
    """How a batch stands at the provider. ``total`` requests; ``created_at`` in seconds since 1970.

    ``label`` is our own id where the provider keeps one with the batch. ``problem`` says why it ended as a whole without results.
    """

    native_id: str
    has_ended: bool
    total: int
    created_at: float
    label: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class BatchResult:
    """One line of results: an answer, or why there is none (``outcome`` errored, expired or canceled)."""

    custom_id: str
    outcome: str
    answer: Answer | None
    reason: str | None

    def __post_init__(self) -> None:
        if self.reason is not None:
            object.__setattr__(self, "reason", storable(self.reason))


class GoneError(CallError):
    """The provider does not know the batch, or no longer has its results: asking again is of no use."""


class BatchProvider(Protocol):
    """The batch side of a backend: the same model, parameters and wire form, so the same cache keys."""

    most_requests: int
    most_bytes: int

    @property
    def backend(self) -> Backend: ...

    def size(self, request: Request) -> int:
        """Bytes of the request on the wire, for cutting into batches."""
        ...

    def upload(self, items: Sequence[tuple[str, Request]], label: str) -> str:
        """The provider's id of a new batch. Raises InputError where it refuses, CallError where it is unknown whether it took it."""
        ...

    def look(self, native_id: str) -> BatchView:
        """Raises GoneError where the provider does not know the batch, CallError where it cannot be told how it stands."""
        ...

    def recent(self) -> list[BatchView]:
        """The newest hundred batches, whoever made them. Raises CallError."""
        ...

    def results(self, native_id: str) -> Iterator[BatchResult]:
        """Results in the provider's order, which is any. Raises GoneError where it has none, CallError where they do not come now."""
        ...
