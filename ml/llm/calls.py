"""What a backend is: one call in, one paid answer or one error out. Retries, pacing, cache and budget are the client's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ml.llm.images import ImageLimits
from ml.llm.requests import NOTHING_USED, Request, Usage
from ml.vocabulary import Status


@dataclass(frozen=True)
class Answer:
    """A final outcome of one call. ``usage`` has the tokens; the client adds money, calls and retries.

    Status is ok, truncated, refused, empty, or error where text had begun and was lost: all of them are paid for.
    ``headers`` are the response's, in lower case, for pacing.
    """

    status: Status
    text: str | None
    reason: str | None = None
    usage: Usage = NOTHING_USED
    model: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("text", "reason", "model"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, storable(value))


def storable(text: str) -> str:
    """The text with U+FFFD for halves of character pairs, which JSON can spell and UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class CallError(Exception):
    """A call without an outcome.

    ``retryable``: the same call may succeed later. ``fatal``: every call would fail alike (key, model, credit), so the run stops.
    ``maybe_paid``: the request may have reached the model, as with a timeout, so the budget counts its worst case.
    ``unreachable``: there was not even a connection.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool,
        fatal: bool = False,
        maybe_paid: bool = False,
        unreachable: bool = False,
        rate_limited: bool = False,
        retry_after_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.retryable, self.fatal, self.maybe_paid, self.unreachable = reason, retryable, fatal, maybe_paid, unreachable
        self.rate_limited, self.retry_after_s, self.headers = rate_limited, retry_after_s, dict(headers or {})


@runtime_checkable
class OfflineBackend(Protocol):
    """Answers at once, for free and always alike: never cached, paced or budgeted."""

    provider: str
    model: str

    def answer(self, request: Request) -> Answer: ...


@runtime_checkable
class Backend(Protocol):
    """A provider's model over the network.

    ``parameters`` is what of the backend's own settings shapes replies; it is part of the cache key. ``open`` and ``close`` frame
    one event loop. ``request.images`` are prepared by the client within ``image_limits``. ``cache_prefix`` asks for the provider's
    prompt cache on the system text; ``min_prefix_tokens`` is the shortest that the provider caches, None where nothing need be asked.
    """

    provider: str
    model: str
    parameters: Mapping[str, object]
    image_limits: ImageLimits
    min_prefix_tokens: int | None

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def call(self, request: Request, *, cache_prefix: bool, timeout_s: float) -> Answer:
        """Raises CallError where there is no outcome."""
        ...

    async def count_tokens(self, request: Request) -> int:
        """The provider's own count of the input tokens; InputError where it has no such endpoint."""
        ...
