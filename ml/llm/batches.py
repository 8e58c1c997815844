"""Bulk work through a provider's batch interface at half price: submit, remember, collect. The provider's side is in ``backends``.

What was sent is remembered in the reply cache's own file (``ml.llm.batch_book``), and results land in the same cache under the same keys:
a client that runs the same requests afterwards finds them. A process that waits for a batch need not live; any later one collects.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from ml.errors import InputError
from ml.llm.backends.batching import BatchProvider, BatchResult, BatchView, GoneError
from ml.llm.batch_book import BatchBook, OpenBatch, custom_id
from ml.llm.budget import Budget
from ml.llm.cache import ReplyCache
from ml.llm.calls import Answer, CallError
from ml.llm.follow_ups import Turn, turns
from ml.llm.ignored import IgnoredText
from ml.llm.images import prepare
from ml.llm.outcomes import judge
from ml.llm.prices import BATCH_SHARE, FREE, Price, price_of
from ml.llm.requests import NOTHING_USED, Reply, Request, Usage
from ml.llm.tokens import ceiling
from ml.vocabulary import Status

_CLOCKS_APART_S = 600.0  # provider's clock against ours
_AT_ONCE = 500


@dataclass(frozen=True)
class Submission:
    """What became of the requests: sent now, already paid for, on the way in an earlier batch, or left out with the reason."""

    sent: int
    cached: int
    waiting: int
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Standing:
    """An open batch as the sensor sees it. ``problem``: why it ended without results or, where it has not ended, why nobody can tell."""

    batch_id: str
    native_id: str | None
    has_ended: bool
    problem: str | None = None


@dataclass(frozen=True)
class Collected:
    """A batch that ended: items by outcome (succeeded, errored, expired, canceled, missing) and the commonest reason of failure."""

    batch_id: str
    counts: Mapping[str, int]
    commonest_reason: str | None
    usage: Usage

    @property
    def failed(self) -> int:
        return sum(count for outcome, count in self.counts.items() if outcome != "succeeded")


class Batches:
    """The batches of one backend and model. It has a client's ``run``, ``model``, ``usage`` and ``report``, so a stage may use either.

    A worst case at half price counts against ``budget`` when it is sent. ``usage`` and ``report`` tell what collected batches cost for
    requests that were run here, each batch item once over all processes: ``settle`` marks what was told.
    """

    def __init__(
        self,
        provider: BatchProvider,
        cache: ReplyCache,
        *,
        budget: Budget | None = None,
        prices: Mapping[str, Price] | None = None,
        retry_failed: bool = False,
        max_tokens: int | None = None,
        truncated_cap: int | None = None,
        most_requests: int | None = None,
    ) -> None:
        self.backend, self.cache = provider.backend, cache
        self.price = price_of(provider.backend.model, prices)
        self.max_tokens, self.truncated_cap = max_tokens, truncated_cap
        self._book = BatchBook(cache, provider.backend)
        self._provider, self._budget = provider, budget or Budget()
        self._retry_failed, self._most_requests = retry_failed, most_requests or provider.most_requests
        self.problems: dict[str, str] = {}
        self._told: dict[str, Usage] = {}
        self._sent: set[str] = set()
        self._outcomes: Counter[Status] = Counter()
        self._ignored = IgnoredText()
        self._cached = 0
        if self._budget.max_money_usd is not None and self.price is None:
            raise InputError("a money budget needs the model's price, which is unknown", record=self.model, field="llm.prices")

    @property
    def model(self) -> str:
        return self.backend.model

    @property
    def usage(self) -> Usage:
        """What batches cost for the requests that were run here and that no earlier run has told."""
        return sum(self._told.values(), NOTHING_USED)

    def report(self) -> dict[str, float | int | str | None]:
        """Figures for an asset's metadata, as a client's."""
        used = self.usage
        return {
            "model": self.model,
            "calls": used.calls,
            "retries": 0,
            "cache_hits": self._cached - len(self._told),
            "input_tokens": used.input_tokens,
            "cache_read_tokens": used.cache_read_tokens,
            "cache_write_tokens": used.cache_write_tokens,
            "output_tokens": used.output_tokens,
            "money_usd": used.money_usd if self.price is not None else None,
            "sent_to_batch": len(self._sent),
            **self._ignored.report(),
            **{f"outcome_{status.value}": count for status, count in sorted(self._outcomes.items())},
        }

    def run(self, requests: Sequence[Request], progress: Callable[[int, int], None] | None = None) -> list[Reply]:
        """Sends what is missing and gives what is there; the rest is ``in_batch``. Call again once the batch was collected."""
        _, left_out = self._submit(requests)
        replies = self.replies(requests, left_out)
        self._outcomes.update(reply.status for reply in replies)
        self._ignored.take(requests, replies)
        if progress is not None:
            progress(sum(reply.status is not Status.IN_BATCH for reply in replies), len(replies))
        return replies

    def submit(self, requests: Sequence[Request]) -> Submission:
        """Uploads what is neither paid for nor on its way. Raises InputError, before any upload, where two requests have one key."""
        return self._submit(requests)[0]

    def open_batches(self) -> list[str]:
        """Our ids of the batches that are on their way."""
        return [one.batch_id for one in self._book.open()]

    def settle(self) -> None:
        """What ``usage`` tells was told: no later run counts it again."""
        self._book.told(self._told)
        self._told.clear()

    def look(self) -> list[Standing]:
        """Asks the provider about every open batch of this model; cheap enough for a sensor. Settles uploads whose fate was unknown."""
        return [standing for one in self._book.open() if (standing := self._look(one)) is not None]

    def collect(self, until: Callable[[], bool] = lambda: False) -> list[Collected]:
        """Takes the results of every batch that has ended into the cache. Safe to repeat, also after a kill half-way.

        ``until`` is asked before each batch; the rest is left for the next time once it is true. A batch that the provider cannot tell
        of now is in ``problems`` and keeps no other from being collected.
        """
        self.problems = {}
        collected = []
        for one in self._book.open():
            if until():
                break
            standing = self._look(one)
            if standing is None:
                continue
            try:
                if standing.has_ended:
                    collected.append(self._collect(standing))
                elif standing.problem is not None:
                    self.problems[one.batch_id] = standing.problem
            except CallError as error:
                self.problems[one.batch_id] = error.reason
        return collected

    def _look(self, one: OpenBatch) -> Standing | None:
        native_id = one.native_id
        try:
            native_id = native_id or self._find_upload(one)
            if native_id is None:
                return None
            seen = self._provider.look(native_id)
        except GoneError as error:
            return Standing(one.batch_id, native_id, native_id is not None, f"the provider does not know it: {error.reason}")
        except CallError as error:
            return Standing(one.batch_id, native_id, False, error.reason)
        return Standing(one.batch_id, native_id, seen.has_ended, seen.problem)

    def replies(self, requests: Sequence[Request], left_out: Mapping[str, tuple[Status, str]] | None = None) -> list[Reply]:
        """What is known of each request, in order, without any call: a reply, ``in_batch``, or ``error`` with the batch's reason."""
        stands = self._stand(requests)
        on_the_way, hopeless, lost = self._book.on_the_way(), self._book.hopeless(), self._book.lost()
        self._count(stands)
        replies = []
        for request, one in zip(requests, stands, strict=True):
            status, reason = Status.IN_BATCH, "not sent yet"
            if one.answer is not None:
                answer = judge(one.answer)
                replies.append(
                    Reply(request.key, answer.status, answer.text, answer.reason, NOTHING_USED, True, answer.model or self.model)
                )
                continue
            if one.key in on_the_way:
                reason = f"in batch {on_the_way[one.key]}"
            elif left_out and one.key in left_out:
                status, reason = left_out[one.key]
            elif one.key in hopeless:
                status, reason = Status.ERROR, hopeless[one.key]
            elif one.key in lost:
                status, reason = Status.ERROR, lost[one.key]
            replies.append(Reply(request.key, status, None, reason, model=self.model))
        return replies

    def _stand(self, requests: Sequence[Request]) -> list[Turn]:
        capped = [request if self.max_tokens is None else replace(request, max_tokens=self.max_tokens) for request in requests]
        return turns(
            capped,
            self.backend,
            self.cache.get,
            truncated_cap=self.truncated_cap,
            retry_failed=self._retry_failed,
            on_the_way=self._book.on_the_way(),
        )

    def _submit(self, requests: Sequence[Request]) -> tuple[Submission, dict[str, tuple[Status, str]]]:
        doubles = [key for key, count in Counter(request.key for request in requests).items() if count > 1]
        if doubles:
            raise InputError(f"{len(doubles)} keys stand twice, so that one row would overwrite another", record=doubles[0], field="key")
        on_the_way, hopeless = self._book.on_the_way(), self._book.hopeless()
        left_out: dict[str, tuple[Status, str]] = {}
        todo: dict[str, tuple[Request, Request]] = {}
        reasons: Counter[str] = Counter()
        cached = waiting = 0
        for one in self._stand(requests):
            if one.answer is not None:
                cached += 1
            elif one.key in on_the_way:
                waiting += 1
            elif one.key in hopeless and not self._retry_failed:
                left_out[one.key] = (Status.ERROR, f"not sent again: {hopeless[one.key]}")
            elif one.key not in todo and one.key not in left_out:
                try:
                    fitting = self._fitting(one.request)
                except InputError as error:
                    left_out[one.key] = (Status.ERROR, str(error))
                else:
                    if (problem := self._hold(one.request)) is None:
                        todo[one.key] = (one.request, fitting)
                    else:
                        left_out[one.key] = (Status.OVER_BUDGET, f"over budget: {problem}")
            if one.key in left_out:
                reasons[left_out[one.key][1]] += 1
        for part in self._parts({key: fitting for key, (_, fitting) in todo.items()}):
            self._upload(part)
        self._sent.update(todo)
        return Submission(len(todo), cached, waiting, dict(reasons)), left_out

    def _count(self, stands: Sequence[Turn]) -> None:
        """Notes what answers cost that came by batch and were not told yet; a follow-up counts with the replies that led to it."""
        costs = {one.key: one.before + one.answer.usage for one in stands if one.answer is not None}
        self._cached += len(costs)
        self._told |= {key: costs[key] for key in self._book.untold(costs)}

    def _hold(self, request: Request) -> str | None:
        worst = (self.price or FREE).worst(ceiling(request, self.backend.image_limits), request.max_tokens, BATCH_SHARE)
        hold = self._budget.hold(worst)
        if isinstance(hold, str):
            return hold
        self._budget.settle_uncertain(hold)  # what it really cost is known to whoever collects
        return None

    def _fitting(self, request: Request) -> Request:
        if not request.images:
            return request
        return replace(request, images=tuple(picture.data for picture in prepare(request.images, self.backend.image_limits)))

    def _parts(self, todo: Mapping[str, Request]) -> list[dict[str, Request]]:
        parts: list[dict[str, Request]] = []
        size = 0
        for key, request in todo.items():
            length = self._provider.size(request)
            if not parts or len(parts[-1]) >= self._most_requests or size + length > self._provider.most_bytes:
                parts.append({})
                size = 0
            parts[-1][key] = request
            size += length
        return parts

    def _upload(self, part: Mapping[str, Request]) -> None:
        batch_id = uuid4().hex
        self._book.begin(batch_id, part)
        try:
            native_id = self._provider.upload([(custom_id(key), request) for key, request in part.items()], batch_id)
        except InputError:
            self._book.forget(batch_id)
            raise
        self._book.opened(batch_id, native_id)

    def _find_upload(self, lost: OpenBatch) -> str | None:
        """The provider's id of a batch whose upload was cut off: with its label, else one that we do not know, of its size and time."""
        total, known = self._book.size(lost.batch_id), self._book.native_ids()

        def fits(seen: BatchView) -> bool:
            if seen.label is not None:
                return seen.label == lost.batch_id
            return seen.native_id not in known and seen.total == total and abs(seen.created_at - lost.submitted_at) < _CLOCKS_APART_S

        match = [seen for seen in self._provider.recent() if fits(seen)]
        if match:
            native_id = min(match, key=lambda seen: abs(seen.created_at - lost.submitted_at)).native_id
            self._book.opened(lost.batch_id, native_id)
            return native_id
        if time.time() - lost.submitted_at > _CLOCKS_APART_S:
            self._book.forget(lost.batch_id)
        return None

    def _collect(self, ended: Standing) -> Collected:
        items = self._book.items(ended.batch_id)
        counts: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        spent = NOTHING_USED
        waiting: list[tuple[BatchResult, str, str, Answer | None]] = []

        def take(result: BatchResult) -> None:
            nonlocal spent
            answer = None if result.answer is None else self._priced(result.answer)
            spent += NOTHING_USED if answer is None else answer.usage
            counts[result.outcome] += 1
            if result.reason is not None:
                reasons[result.reason] += 1
            waiting.append((result, *items[result.custom_id], answer))
            if len(waiting) >= _AT_ONCE:
                self._book.keep(ended.batch_id, waiting)
                waiting.clear()

        seen: set[str] = set()
        problem = ended.problem
        try:
            for result in self._provider.results(ended.native_id or ""):
                if result.custom_id in items and result.custom_id not in seen:
                    seen.add(result.custom_id)
                    take(result)
        except GoneError as error:
            problem = problem or f"the provider does not have the results: {error.reason}"
        except CallError:
            self._book.keep(ended.batch_id, waiting)  # paid for; the rest is asked for the next time
            raise
        for missing in sorted(items.keys() - seen):
            take(BatchResult(missing, "missing", None, problem or "no result came for it"))
        self._book.keep(ended.batch_id, waiting)
        self._book.collected(ended.batch_id)
        return Collected(ended.batch_id, dict(counts), reasons.most_common(1)[0][0] if reasons else None, spent)

    def _priced(self, answer: Answer) -> Answer:
        money = (self.price or FREE).money(answer.usage, BATCH_SHARE)
        return replace(answer, usage=replace(answer.usage, money_usd=money, calls=1))
