"""A run's budget in money and calls, checked before each call. What a call costs is in ``ml.llm.prices``."""

from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Hold:
    """Money set aside for a call in flight."""

    money_usd: float


class Budget:
    """Limits for one run; None means no limit. May be shared between clients and threads.

    A call is let through only where its worst case, on top of all that is spent, possibly spent or in flight, stays within the limit: the
    limit is never passed. Each attempt counts as a call. ``uncertain_usd`` is the worst case of attempts that timed out and may be billed.
    """

    def __init__(self, max_money_usd: float | None = None, max_calls: int | None = None) -> None:
        self.max_money_usd, self.max_calls = max_money_usd, max_calls
        self.spent_usd = 0.0
        self.uncertain_usd = 0.0
        self.calls = 0
        self._held_usd = 0.0
        self._lock = Lock()

    def hold(self, worst_usd: float) -> Hold | str:
        """Sets the worst case of one attempt aside, or says why it would pass the budget."""
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                return f"{self.calls} of {self.max_calls} calls are used"
            bound = self.spent_usd + self.uncertain_usd + self._held_usd
            if self.max_money_usd is not None and bound + worst_usd > self.max_money_usd * (1 + 1e-12):
                return f"{bound:.4f} USD of {self.max_money_usd:.4f} are spent or held and the call may cost {worst_usd:.4f}"
            self.calls += 1
            self._held_usd += worst_usd
            return Hold(worst_usd)

    def settle(self, hold: Hold, spent_usd: float) -> None:
        """The attempt ended and cost this much."""
        with self._lock:
            self._held_usd -= hold.money_usd
            self.spent_usd += spent_usd

    def settle_uncertain(self, hold: Hold) -> None:
        """The attempt ended without an answer and may be billed."""
        with self._lock:
            self._held_usd -= hold.money_usd
            self.uncertain_usd += hold.money_usd
