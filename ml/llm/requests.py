"""What callers and the client exchange: requests, replies and what they used. Sending, storing and reading replies live elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ml.vocabulary import Status


@dataclass(frozen=True)
class Request:
    """One question to a model.

    ``key`` is the caller's identity of the row: it comes back on the reply and is never part of the cache key.
    ``task`` and ``inputs`` are what the ``rules`` backend works on; ``system`` and ``prompt`` are the rendered text that models get.
    ``images`` are encoded pictures (PNG, JPEG, GIF or WebP bytes) that stand before the prompt. ``schema`` is a JSON schema of the reply.
    ``check`` says why a reply's text cannot be read, None where it can: an unreadable one is asked for once more (``ml.llm.follow_ups``).
    """

    key: str
    task: str
    inputs: Mapping[str, object]
    system: str = ""
    prompt: str = ""
    images: tuple[bytes, ...] = ()
    schema: Mapping[str, object] | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    check: Callable[[str], str | None] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Usage:
    """What was spent. Token kinds are disjoint: a prompt's length is input + cache_read + cache_write tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    money_usd: float = 0.0
    calls: int = 0
    retries: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.money_usd + other.money_usd,
            self.calls + other.calls,
            self.retries + other.retries,
        )


NOTHING_USED = Usage()


@dataclass(frozen=True)
class Reply:
    """The outcome of one request. ``text`` is safe to read only where ``status`` is OK.

    ``usage`` is what this run spent on it: nothing where ``from_cache`` is true. Statuses: ok, truncated, refused, empty,
    over_budget, in_batch, error; every one but ok comes with a ``reason``.
    """

    key: str
    status: Status
    text: str | None
    reason: str | None
    usage: Usage = field(default=NOTHING_USED)
    from_cache: bool = False
    model: str = ""
