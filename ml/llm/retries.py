"""When to try again: capped exponential back-off with jitter, Retry-After, a total time. Which errors qualify is the backend's word."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class RetryPolicy:
    """Seconds throughout. ``total_s`` bounds one request's attempts and the waits after them; waiting for a rate to allow it is apart."""

    first_s: float = 0.5
    cap_s: float = 30.0
    total_s: float = 300.0
    attempts: int = 10

    def wait_s(self, attempt: int, retry_after_s: float | None, elapsed_s: float) -> float | None:
        """Seconds to wait after the failed ``attempt`` (1-based); None to give up.

        The back-off is drawn from the upper half of its range, so that callers spread and yet never hurry. A server's Retry-After is
        never undercut, and may be longer than the cap. An attempt that has less than a tenth of the total time left is not begun: it
        would be paid and cut off.
        """
        if attempt >= self.attempts:
            return None
        backoff = min(self.cap_s, self.first_s * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
        wait = backoff if retry_after_s is None else max(retry_after_s * random.uniform(1.0, 1.1), min(backoff, self.first_s))
        return wait if elapsed_s + wait <= self.total_s * (1 - _LEAST_SHARE) else None


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds from ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date); None where absent or senseless."""
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            try:
                seconds = (parsedate_to_datetime(value) - (now or datetime.now(UTC))).total_seconds()
            except (ValueError, TypeError):
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None
