"""The client: requests in, replies out in the same order. Backends, cache, budget and pacing have their own modules.

Asynchronous inside, synchronous outside; it also works where an event loop already runs, as in a notebook.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock, Thread
from typing import Any

from ml.errors import InputError
from ml.llm.budget import Budget
from ml.llm.cache import ReplyCache, cache_key
from ml.llm.calls import Answer, Backend, OfflineBackend
from ml.llm.follow_ups import Turn, follow_up, turns
from ml.llm.ignored import IgnoredText
from ml.llm.images import ImageLimits
from ml.llm.limits import Limits, Pacer
from ml.llm.outcomes import judge
from ml.llm.prices import Price, price_of
from ml.llm.requests import NOTHING_USED, Reply, Request, Usage
from ml.llm.retries import RetryPolicy
from ml.llm.sending import Contact, Sender
from ml.vocabulary import Status

# Calls that start together end together and then wait for the same processor, round after round; 3 ms apart is more than one call's share.
_STAGGER_S = 0.003

Progress = Callable[[int, int], None]


class Client:
    """Runs requests against one backend and model.

    ``cache``: without one, every run pays again. ``budget`` is one run's; share it between clients that spend from one purse.
    ``prices`` come before the built-in table. ``retry_failed`` asks again where the cache holds a failure (truncated, refused,
    empty, lost, unreadable).
    ``max_tokens`` is the cap of every reply; None leaves each request its own.
    ``truncated_cap``: a reply cut at its cap is asked for once more with this one; None leaves it as it is.

    Raises InputError where a money budget is set and the model's price is unknown.
    """

    def __init__(
        self,
        backend: OfflineBackend | Backend,
        cache: ReplyCache | None = None,
        *,
        budget: Budget | None = None,
        prices: Mapping[str, Price] | None = None,
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        retry_failed: bool = False,
        max_tokens: int | None = None,
        truncated_cap: int | None = None,
    ) -> None:
        self.backend, self.cache = backend, cache
        self.budget = budget or Budget()
        self.limits = limits or Limits()
        self.retry = retry or RetryPolicy()
        self.price = price_of(backend.model, prices)
        self.retry_failed, self.max_tokens, self.truncated_cap = retry_failed, max_tokens, truncated_cap
        self._pacer = Pacer(self.limits)
        self._contact = Contact(self.retry.total_s)
        self._usage = NOTHING_USED
        self._outcomes: Counter[Status] = Counter()
        self._hits = self._saved_usd = 0.0
        self._ignored = IgnoredText()
        self._lock = Lock()
        if isinstance(backend, Backend) and self.budget.max_money_usd is not None and self.price is None:
            raise InputError(
                "a money budget needs the model's price, which is unknown",
                record=backend.model,
                field="llm.prices",
                remedy="Put its price into the settings, or limit calls instead of money",
            )

    @property
    def model(self) -> str:
        return self.backend.model

    @property
    def image_limits(self) -> ImageLimits | None:
        """What one request may hold of pictures; None for an offline backend."""
        return self.backend.image_limits if isinstance(self.backend, Backend) else None

    @property
    def usage(self) -> Usage:
        """What was spent so far. ``money_usd`` is 0 where the price is unknown: see ``report``."""
        return self._usage

    def report(self) -> dict[str, float | int | str | None]:
        """Figures for an asset's metadata: calls, cache hits, tokens by kind, money, retries, outcomes."""
        used = self._usage
        prompt = used.input_tokens + used.cache_read_tokens + used.cache_write_tokens
        return {
            "model": self.model,
            "calls": used.calls,
            "retries": used.retries,
            "cache_hits": int(self._hits),
            "input_tokens": used.input_tokens,
            "cache_read_tokens": used.cache_read_tokens,
            "cache_write_tokens": used.cache_write_tokens,
            "output_tokens": used.output_tokens,
            "prefix_hit_rate": used.cache_read_tokens / prompt if prompt else None,
            "money_usd": used.money_usd if self.price is not None or not isinstance(self.backend, Backend) else None,
            "money_uncertain_usd": self.budget.uncertain_usd,
            "money_saved_usd": self._saved_usd,
            **self._ignored.report(),
            **{f"outcome_{status.value}": count for status, count in sorted(self._outcomes.items())},
        }

    def run(self, requests: Sequence[Request], progress: Progress | None = None) -> list[Reply]:
        """One reply per request, in order; a failed request is a reply with a status, and the others go on.

        Equal questions under different keys are asked once. ``progress(done, total)`` is called as replies arrive, from the thread
        that runs. Raises InputError where every call would fail alike (key, model name, credit); what was paid until then is stored.
        """
        if not isinstance(self.backend, Backend):
            return self._answer_offline(self.backend, requests, progress)
        return _complete(self._run(self.backend, requests, progress))

    async def run_async(self, requests: Sequence[Request]) -> list[Reply]:
        """As ``run``, inside an event loop that is the caller's."""
        if not isinstance(self.backend, Backend):
            return self._answer_offline(self.backend, requests, None)
        return await self._run(self.backend, requests, None)

    def stand(self, requests: Sequence[Request]) -> list[Turn]:
        """Where each request stands in view of the cache, without any call; never for an offline backend."""
        if not isinstance(self.backend, Backend):
            raise TypeError("an offline backend stores nothing")
        get = self.cache.get if self.cache is not None else _nothing_stored
        capped = [self._capped(request) for request in requests]
        return turns(capped, self.backend, get, truncated_cap=self.truncated_cap, retry_failed=self.retry_failed)

    def look_up(self, requests: Sequence[Request]) -> list[Reply | None]:
        """The stored replies without any call; None where nothing usable is stored."""
        if not isinstance(self.backend, Backend):
            return [None] * len(requests)
        return [None if one.answer is None else self._reply(one.request, one.answer, True) for one in self.stand(requests)]

    def _answer_offline(self, backend: OfflineBackend, requests: Sequence[Request], progress: Progress | None) -> list[Reply]:
        replies = []
        for done, request in enumerate(requests, start=1):
            replies.append(self._note(self._reply(request, backend.answer(request), False), None))
            if progress is not None:
                progress(done, len(requests))
        return replies

    async def _run(self, backend: Backend, requests: Sequence[Request], progress: Progress | None) -> list[Reply]:
        found = self.stand(requests)
        replies: dict[int, Reply] = {}
        places: dict[str, list[int]] = {}
        for place, one in enumerate(found):
            if one.answer is not None:
                replies[place] = self._note(self._reply(one.request, one.answer, True), one.before + one.answer.usage)
            else:
                places.setdefault(one.key, []).append(place)
        if progress is not None and replies:
            progress(len(replies), len(requests))
        if places:
            todo = iter([found[where[0]] for where in places.values()])
            prefixes = Counter(found[where[0]].request.system for where in places.values())
            sender = Sender(backend, self.budget, self.price, self.limits, self.retry, self._pacer, self._contact, prefixes)

            async def work(place: int) -> None:
                await asyncio.sleep(place * _STAGGER_S)
                for one in todo:
                    if sender.stopped is not None:
                        return
                    answer = await self._ask(sender, one)
                    if answer is None:
                        return
                    first, *others = places[one.key]
                    replies[first] = self._note(self._reply(requests[first], answer, False), None)
                    for place in others:  # the same question: paid once, so the others count as found
                        replies[place] = self._note(self._reply(requests[place], answer, True), answer.usage)
                    if progress is not None:
                        progress(len(replies), len(requests))

            await backend.open()
            try:
                async with asyncio.TaskGroup() as group:
                    for place in range(min(self.limits.in_flight, len(places))):
                        group.create_task(work(place))
            except BaseExceptionGroup as group_error:
                raise group_error.exceptions[0] from None
            finally:
                await backend.close()
            if sender.stopped is not None:
                raise sender.stopped
        answered = [replies[place] for place in range(len(requests))]
        with self._lock:
            self._ignored.take(requests, answered)
        return answered

    async def _ask(self, sender: Sender, turn: Turn) -> Answer | None:
        """Sends the request and what follows from its reply. ``usage`` of the answer is all that this took."""
        request, key = turn.request, turn.key
        answer = await sender.send(request)
        self._keep(sender, key, request, answer)
        while answer is not None and (following := follow_up(request, answer, self.truncated_cap)) is not None:
            key, request = cache_key(following, sender.backend), following
            held = self.cache.get([key]).get(key) if self.cache is not None and not self.retry_failed else None
            if held is not None:
                answer = replace(held, usage=answer.usage)
                continue
            before, answer = answer.usage, await sender.send(request)
            self._keep(sender, key, request, answer)
            if answer is not None:
                answer = replace(answer, usage=before + answer.usage)
        return answer

    def _keep(self, sender: Sender, key: str, request: Request, answer: Answer | None) -> None:
        if self.cache is not None and answer is not None and answer.usage.calls:
            self.cache.put(key, request, sender.backend, answer, replace=self.retry_failed)

    def _capped(self, request: Request) -> Request:
        return request if self.max_tokens is None else replace(request, max_tokens=self.max_tokens)

    def _reply(self, request: Request, answer: Answer, from_cache: bool) -> Reply:
        judged = judge(answer)
        used = NOTHING_USED if from_cache else judged.usage
        return Reply(request.key, judged.status, judged.text, judged.reason, used, from_cache, judged.model or self.model)

    def _note(self, reply: Reply, once_paid: Usage | None) -> Reply:
        with self._lock:
            self._usage += reply.usage
            self._outcomes[reply.status] += 1
            if once_paid is not None:
                self._hits += 1
                self._saved_usd += once_paid.money_usd
        return reply


def _nothing_stored(keys: Iterable[str]) -> dict[str, Answer]:
    return {}


def _complete(work: Coroutine[Any, Any, list[Reply]]) -> list[Reply]:
    """Runs to the end, in a thread of its own where this one already has an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    done: list[list[Reply]] = []
    failed: list[BaseException] = []

    def target() -> None:
        try:
            done.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread and raised there
            failed.append(error)

    thread = Thread(target=target, name="llm-client")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
