"""Sending one request until it has an outcome: budget, pace, prompt-cache warm-up, retries. Storing and ordering are the client's."""

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import replace

from ml.errors import InputError, StopError
from ml.llm.budget import Budget
from ml.llm.calls import Answer, Backend, CallError
from ml.llm.images import prepare
from ml.llm.limits import Limits, Pacer
from ml.llm.prices import FREE, Price
from ml.llm.requests import Request, Usage
from ml.llm.retries import RetryPolicy
from ml.llm.tokens import ceiling, input_tokens, text_tokens
from ml.vocabulary import Status

_SMALL_IMAGES = 200_000  # bytes of pictures that may be looked at without leaving the event loop


_FIRST_CONTACT_S = 20.0  # a server that is just starting answers by then; a wrong address never will


class Contact:
    """Whether the server can be reached at all: one that never was is given up soon, one that was lost after ``lost_s`` seconds."""

    def __init__(self, lost_s: float) -> None:
        self._lost_s = lost_s
        self._was_heard = False
        self._missing_since: float | None = None

    def heard(self) -> None:
        self._was_heard, self._missing_since = True, None

    def missed(self) -> float:
        """A connection failed: seconds left until the server counts as gone."""
        now = time.monotonic()
        self._missing_since = now if self._missing_since is None else self._missing_since
        patience_s = self._lost_s if self._was_heard else min(self._lost_s, _FIRST_CONTACT_S)
        return self._missing_since + patience_s - now


class Sender:
    """One run's sending. ``prefixes`` counts the requests by system text: only a shared one is worth the provider's prompt cache.

    Where it is, the first request goes alone, since a prefix can be read only after the first reply began: 32
    at once would write it 32 times.
    ``stopped`` is set when every call would fail alike.
    """

    def __init__(
        self,
        backend: Backend,
        budget: Budget,
        price: Price | None,
        limits: Limits,
        retry: RetryPolicy,
        pacer: Pacer,
        contact: Contact,
        prefixes: Mapping[str, int],
    ) -> None:
        self.backend = backend
        self._contact = contact
        self._budget, self._price, self._limits, self._retry, self._pacer = budget, price, limits, retry, pacer
        self._prefixes = prefixes
        self._warm: dict[str, asyncio.Event] = {}
        self.stopped: InputError | None = None

    async def send(self, request: Request) -> Answer | None:
        """The outcome of the request; None where the run is stopped. ``usage.calls`` is 0 where nothing was paid."""
        if request.images:
            try:
                request = await self._with_fitting_images(request)
            except InputError as error:
                return Answer(Status.ERROR, None, str(error), model=self.backend.model)
        if not self._caches(request.system):
            return await self._attempts(request, cache_prefix=False)
        warm = self._warm.get(request.system)
        if warm is not None:
            await warm.wait()
            return await self._attempts(request, cache_prefix=True)
        warm = self._warm[request.system] = asyncio.Event()
        try:
            return await self._attempts(request, cache_prefix=True)
        finally:
            warm.set()

    async def _attempts(self, request: Request, *, cache_prefix: bool) -> Answer | None:
        price = self._price or FREE
        worst = price.worst(ceiling(request, self.backend.image_limits), request.max_tokens)
        size = input_tokens(request, self.backend.image_limits)
        retries, used_s = 0, 0.0
        while self.stopped is None:
            ticket = await self._pacer.enter(size, request.max_tokens)
            if self.stopped is not None:
                return None
            hold = self._budget.hold(worst)
            if isinstance(hold, str):
                return Answer(Status.OVER_BUDGET, None, hold, Usage(retries=retries), self.backend.model)
            began = time.monotonic()  # not before: a place in the queue is no time of the request's own
            timeout_s = min(self._limits.timeout_s, self._retry.total_s - used_s)
            try:
                answer = await self.backend.call(request, cache_prefix=cache_prefix, timeout_s=timeout_s)
            except CallError as error:
                if error.maybe_paid:
                    self._budget.settle_uncertain(hold)
                else:
                    self._budget.settle(hold, 0.0)
                self._pacer.observe(error.headers, ticket)
                left_s = self._contact_left_s(error)
                used_s += time.monotonic() - began
                if (stop := self._reason_to_stop(error, left_s)) is not None:
                    self.stopped = stop
                    return None
                if error.rate_limited and error.retry_after_s is not None:
                    self._pacer.close_for(error.retry_after_s)
                wait = self._retry.wait_s(retries + 1, error.retry_after_s, used_s) if error.retryable else None
                if wait is None:
                    tries = f" after {retries + 1} attempts in {used_s:.1f} s" if error.retryable else ""
                    return Answer(Status.ERROR, None, error.reason + tries, Usage(retries=retries), self.backend.model)
                retries += 1
                wait = min(wait, left_s)
                used_s += wait
                await asyncio.sleep(wait)
                continue
            except BaseException:
                self._budget.settle_uncertain(hold)
                raise
            self._contact.heard()
            self._pacer.observe(answer.headers, ticket)
            money = price.money(answer.usage)
            if answer.status is Status.ERROR:  # lost half-way: the provider may bill more than it told until then
                self._budget.settle_uncertain(hold)
            else:
                self._budget.settle(hold, money)
            return replace(answer, usage=replace(answer.usage, money_usd=money, calls=1, retries=retries))
        return None

    def _reason_to_stop(self, error: CallError, contact_left_s: float) -> StopError | None:
        """What every other call would meet alike."""
        if error.fatal or contact_left_s <= 0:
            return StopError(error.reason, record=self.backend.model, remedy="Mend this and run again; paid replies are kept")
        wait_s = error.retry_after_s
        if error.rate_limited and wait_s is not None and wait_s > self._retry.total_s:
            return StopError(
                f"the server asks to wait {wait_s:.0f} s, longer than retry_total_s = {self._retry.total_s:g} s ({error.reason})",
                record=self.backend.model,
                remedy="Run again after that time, or raise retry_total_s; paid replies are kept",
            )
        return None

    def _contact_left_s(self, error: CallError) -> float:
        if error.unreachable:
            return self._contact.missed()
        if not error.maybe_paid:  # a call that timed out may have met nobody
            self._contact.heard()
        return math.inf

    async def _with_fitting_images(self, request: Request) -> Request:
        limits = self.backend.image_limits
        if sum(map(len, request.images)) <= _SMALL_IMAGES:
            pictures = prepare(request.images, limits)
        else:  # decoding and shrinking take tens of milliseconds a frame, which would hold up every other call
            pictures = await asyncio.to_thread(prepare, request.images, limits)
        return replace(request, images=tuple(picture.data for picture in pictures))

    def _caches(self, system: str) -> bool:
        shortest = self.backend.min_prefix_tokens
        return shortest is not None and self._prefixes[system] > 1 and text_tokens(system) >= shortest
