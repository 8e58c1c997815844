"""Pacing: requests in flight, and request and token rates as headers tell them. Waiting after an error: ``ml.llm.retries``."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

_KINDS = ("requests", "tokens", "input-tokens", "output-tokens")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNIT_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Limits:
    """What the user allows. Rates are per minute; None leaves them to the provider's headers."""

    in_flight: int = 32
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout_s: float = 120.0


@dataclass(frozen=True)
class Observed:
    """One rate as headers tell it: ``remaining`` of ``limit``, full again in ``reset_s`` seconds."""

    limit: float
    remaining: float
    reset_s: float | None


def read_reset(value: str, now: datetime | None = None) -> float | None:
    """Seconds from a reset header: an RFC 3339 time, a span such as ``6m0s`` or ``20ms``, or plain seconds. None where senseless."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    if (spans := _SPAN.findall(value)) and "".join(number + unit for number, unit in spans) == value:
        return float(sum(float(number) * _UNIT_S[unit] for number, unit in spans))
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def read_headers(headers: Mapping[str, str]) -> dict[str, Observed]:
    """Rates by kind (requests, tokens, input-tokens, output-tokens) from ``anthropic-ratelimit-*`` or ``x-ratelimit-*``."""
    found = {}
    for kind in _KINDS:
        for limit, remaining, reset in (
            (f"anthropic-ratelimit-{kind}-limit", f"anthropic-ratelimit-{kind}-remaining", f"anthropic-ratelimit-{kind}-reset"),
            (f"x-ratelimit-limit-{kind}", f"x-ratelimit-remaining-{kind}", f"x-ratelimit-reset-{kind}"),
        ):
            if limit in headers and remaining in headers:
                try:
                    top, left = float(headers[limit]), float(headers[remaining])
                except ValueError:
                    continue
                if top > 0:
                    found[kind] = Observed(top, max(0.0, left), read_reset(headers[reset]) if reset in headers else None)
    return found


@dataclass
class Bucket:
    """A rate that refills steadily up to ``limit``. ``taken`` only grows: it tells what was taken after a given request left."""

    limit: float
    level: float
    per_s: float
    at_s: float
    taken: float = 0.0

    def refill(self, now_s: float) -> None:
        self.level = min(self.limit, self.level + self.per_s * max(0.0, now_s - self.at_s))
        self.at_s = now_s

    def wait_s(self, need: float, now_s: float) -> float:
        """Seconds until ``need`` may be taken. A need above the limit waits for a full bucket, else it would wait for ever."""
        self.refill(now_s)
        short = min(need, self.limit) - self.level
        return 0.0 if short <= 1e-9 else short / self.per_s

    def take(self, need: float) -> None:
        self.level -= need
        self.taken += need


@dataclass(frozen=True)
class Ticket:
    """What had been taken of each rate when a request left, its own part included."""

    taken: Mapping[str, float] = field(default_factory=dict)


class Pacer:
    """Holds calls back so that the provider need not refuse them. One per backend and model; calls may be of several event loops in turn.

    Headers tell what remained when the provider saw that request. Requests that left later are not in it, so they are taken off: the level
    may be a little low, never high.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}
        self._fixed: set[str] = set()
        self._closed_until_s = 0.0
        now = clock()
        for kind, rate in (("requests", limits.requests_per_minute), ("tokens", limits.tokens_per_minute)):
            if rate is not None:
                # a tenth of a minute's worth may go at once: a user's own rate should not open with a burst of a whole minute
                burst = max(1.0, rate / 10)
                self._buckets[kind] = Bucket(burst, burst, rate / 60, now)
                self._fixed.add(kind)

    def wait_s(self, input_tokens: int, output_tokens: int) -> float:
        """Seconds until one request of this size may leave; 0 for now."""
        now = self._clock()
        needs = self._needs(input_tokens, output_tokens)
        waits = [bucket.wait_s(needs[kind], now) for kind, bucket in self._buckets.items()]
        return max([self._closed_until_s - now, 0.0, *waits])

    async def enter(self, input_tokens: int, output_tokens: int) -> Ticket:
        """Waits for leave and takes it."""
        while (wait := self.wait_s(input_tokens, output_tokens)) > 0:
            await asyncio.sleep(wait)
        needs = self._needs(input_tokens, output_tokens)
        for kind, bucket in self._buckets.items():
            bucket.take(needs[kind])
        return Ticket({kind: bucket.taken for kind, bucket in self._buckets.items()})

    def observe(self, headers: Mapping[str, str], ticket: Ticket) -> None:
        """Learns the provider's rates from the headers of the response to the request of ``ticket``."""
        now = self._clock()
        for kind, seen in read_headers(headers).items():
            if kind in self._fixed:
                continue
            gap = seen.limit - seen.remaining
            # published limits are per minute; where a reset tells more, believe it, but never let a rate stall for ever
            per_s = gap / seen.reset_s if seen.reset_s and gap > 0 else seen.limit / 60
            bucket = self._buckets.get(kind)
            later = bucket.taken - ticket.taken.get(kind, bucket.taken) if bucket else 0.0
            taken = bucket.taken if bucket else 0.0
            self._buckets[kind] = Bucket(seen.limit, seen.remaining - later, max(per_s, seen.limit / 3600), now, taken)

    def close_for(self, seconds: float) -> None:
        """Nothing leaves for so long: the provider said Retry-After to one, which means all."""
        self._closed_until_s = max(self._closed_until_s, self._clock() + seconds)

    @staticmethod
    def _needs(input_tokens: int, output_tokens: int) -> dict[str, float]:
        return {"requests": 1.0, "tokens": input_tokens + output_tokens, "input-tokens": input_tokens, "output-tokens": output_tokens}
