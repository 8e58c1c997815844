"""Bulk work through a provider's batch interface at half price: submit, remember, collect. The provider's side is in ``backends``.

What was sent is remembered in the reply cache's own file, and results land in the same cache under the same keys: a client that runs the
same requests afterwards finds them. A process that waits for a batch need not live; any later one collects.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from ml.errors import InputError
from ml.llm.backends.anthropic_batches import MOST_BYTES, MOST_REQUESTS, AnthropicBatches, BatchResult, BatchView
from ml.llm.budget import Budget
from ml.llm.cache import ReplyCache, cache_key, store
from ml.llm.calls import Answer
from ml.llm.images import prepare
from ml.llm.outcomes import judge
from ml.llm.prices import BATCH_SHARE, FREE, Price, price_of
from ml.llm.requests import NOTHING_USED, Reply, Request, Usage
from ml.llm.tokens import ceiling
from ml.vocabulary import Status

_CLOCKS_APART_S = 600.0  # provider's clock against ours
_LIFE_S = 26 * 3600.0  # a batch ends within 24 hours, one way or another
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
    """An open batch as the sensor sees it."""

    batch_id: str
    native_id: str | None
    has_ended: bool


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
    """The batches of one backend and model. It has a client's ``run``, ``model`` and ``usage``, so a stage may use either.

    A worst case at half price counts against ``budget`` when it is sent.
    """

    def __init__(
        self,
        provider: AnthropicBatches,
        cache: ReplyCache,
        *,
        budget: Budget | None = None,
        prices: Mapping[str, Price] | None = None,
        retry_failed: bool = False,
        most_requests: int = MOST_REQUESTS,
    ) -> None:
        self.backend, self.cache = provider.backend, cache
        self.price = price_of(provider.backend.model, prices)
        self._provider, self._budget = provider, budget or Budget()
        self._retry_failed, self._most_requests = retry_failed, most_requests
        self._usage = NOTHING_USED
        if self._budget.max_money_usd is not None and self.price is None:
            raise InputError("a money budget needs the model's price, which is unknown", record=self.model, field="llm.prices")

    @property
    def model(self) -> str:
        return self.backend.model

    @property
    def usage(self) -> Usage:
        """What the batches collected so far by this object cost."""
        return self._usage

    def run(self, requests: Sequence[Request], progress: Callable[[int, int], None] | None = None) -> list[Reply]:
        """Sends what is missing and gives what is there; the rest is ``waiting``. Call again once the batch was collected."""
        self.submit(requests)
        replies = self.replies(requests)
        if progress is not None:
            progress(sum(reply.status is not Status.WAITING for reply in replies), len(replies))
        return replies

    def submit(self, requests: Sequence[Request]) -> Submission:
        """Uploads what is neither paid for nor on its way. Raises InputError, before any upload, where two requests have one key."""
        doubles = [key for key, count in Counter(request.key for request in requests).items() if count > 1]
        if doubles:
            raise InputError(f"{len(doubles)} keys stand twice, so that one row would overwrite another", record=doubles[0], field="key")
        keys = {request.key: cache_key(request, self.backend) for request in requests}
        stored = self.cache.get(keys.values())
        if self._retry_failed:
            stored = {key: answer for key, answer in stored.items() if judge(answer).status is Status.OK}
        on_the_way, hopeless = self._remembered()
        left_out: Counter[str] = Counter()
        todo: dict[str, Request] = {}
        cached = waiting = 0
        for request in requests:
            key = keys[request.key]
            if key in stored:
                cached += 1
            elif key in on_the_way:
                waiting += 1
            elif key in hopeless and not self._retry_failed:
                left_out[f"refused unchanged before: {hopeless[key]}"] += 1
            elif key not in todo:
                if (problem := self._hold(request)) is not None:
                    left_out[problem] += 1
                    continue
                try:
                    todo[key] = self._fitting(request)
                except InputError as error:
                    left_out[str(error)] += 1
        for part in self._parts(todo):
            self._upload(part)
        return Submission(len(todo), cached, waiting, dict(left_out))

    def look(self) -> list[Standing]:
        """Asks the provider about every open batch of this model; cheap enough for a sensor. Settles uploads whose fate was unknown."""
        standings = []
        for batch_id, native_id, state, submitted_at in self._open():
            if state == "uploading":
                native_id = self._find_upload(batch_id, submitted_at)
                if native_id is None:
                    continue
            standings.append(Standing(batch_id, native_id, self._provider.look(native_id).has_ended))
        return standings

    def collect(self) -> list[Collected]:
        """Takes the results of every batch that has ended into the cache. Safe to repeat, also after a kill half-way."""
        collected = [self._collect(one.batch_id, one.native_id or "") for one in self.look() if one.has_ended]
        for one in collected:
            self._usage += one.usage
        return collected

    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        """What is known of each request, in order, without any call: a reply, ``waiting``, or ``error`` with the batch's reason."""
        keys = [cache_key(request, self.backend) for request in requests]
        stored = self.cache.get(keys)
        on_the_way, _ = self._remembered()
        failed = dict(
            self.cache.rows(
                "SELECT i.cache_key, i.outcome || ': ' || coalesce(i.reason, '') FROM batch_items i JOIN batches b USING (batch_id) "
                "WHERE b.provider = ? AND b.model = ? AND i.outcome IS NOT NULL AND i.outcome <> 'succeeded' ORDER BY b.submitted_at",
                (self.backend.provider, self.model),
            )
        )
        replies = []
        for request, key in zip(requests, keys, strict=True):
            if key in stored:
                answer = judge(stored[key])
                replies.append(
                    Reply(request.key, answer.status, answer.text, answer.reason, NOTHING_USED, True, answer.model or self.model)
                )
            elif key in on_the_way:
                replies.append(Reply(request.key, Status.WAITING, None, f"in batch {on_the_way[key]}", model=self.model))
            elif key in failed:
                replies.append(Reply(request.key, Status.ERROR, None, failed[key], model=self.model))
            else:
                replies.append(Reply(request.key, Status.WAITING, None, "not sent yet", model=self.model))
        return replies

    def _hold(self, request: Request) -> str | None:
        worst = (self.price or FREE).worst(ceiling(request, self.backend.image_limits), request.max_tokens, BATCH_SHARE)
        hold = self._budget.hold(worst)
        if isinstance(hold, str):
            return f"over budget: {hold}"
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
            if not parts or len(parts[-1]) >= self._most_requests or size + length > MOST_BYTES:
                parts.append({})
                size = 0
            parts[-1][key] = request
            size += length
        return parts

    def _upload(self, part: Mapping[str, Request]) -> None:
        batch_id = uuid4().hex
        with self.cache.transaction() as connection:  # before the upload, so that a kill in between leaves a trace
            connection.execute(
                "INSERT INTO batches VALUES (?, ?, ?, NULL, 'uploading', ?, NULL)",
                (batch_id, self.backend.provider, self.model, time.time()),
            )
            connection.executemany(
                "INSERT INTO batch_items VALUES (?, ?, ?, ?, ?, NULL, NULL)",
                [(custom_id(key), batch_id, key, request.key, request.task) for key, request in part.items()],
            )
        try:
            native_id = self._provider.upload([(custom_id(key), request) for key, request in part.items()])
        except InputError:
            self._forget(batch_id)
            raise
        self._set(batch_id, "open", native_id)

    def _find_upload(self, batch_id: str, submitted_at: float) -> str | None:
        """The provider's id of a batch whose upload was cut off: one that we do not know, of its size and time; else None."""
        total = self.cache.rows("SELECT count(*) FROM batch_items WHERE batch_id = ?", (batch_id,))[0][0]
        known = {row[0] for row in self.cache.rows("SELECT native_id FROM batches WHERE native_id IS NOT NULL")}

        def fits(seen: BatchView) -> bool:
            return seen.native_id not in known and seen.total == total and abs(seen.created_at - submitted_at) < _CLOCKS_APART_S

        match = [seen for seen in self._provider.recent() if fits(seen)]
        if match:
            native_id = min(match, key=lambda seen: abs(seen.created_at - submitted_at)).native_id
            self._set(batch_id, "open", native_id)
            return native_id
        if time.time() - submitted_at > _CLOCKS_APART_S:
            self._forget(batch_id)
        return None

    def _collect(self, batch_id: str, native_id: str) -> Collected:
        items = {
            row[0]: row[1:]
            for row in self.cache.rows(
                "SELECT custom_id, cache_key, task, outcome, reason FROM batch_items WHERE batch_id = ?", (batch_id,)
            )
        }
        counts: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        spent = NOTHING_USED
        results: list[BatchResult] = []

        def keep() -> None:
            nonlocal spent
            with self.cache.transaction() as connection:
                for result in results:
                    key, task, _, _ = items[result.custom_id]
                    if result.answer is not None:
                        answer = self._priced(result.answer)
                        spent += answer.usage
                        store(connection, key, task, self.backend.provider, self.model, answer, replace=self._retry_failed)
                    connection.execute(
                        "UPDATE batch_items SET outcome = ?, reason = ? WHERE custom_id = ? AND batch_id = ?",
                        (result.outcome, result.reason, result.custom_id, batch_id),
                    )
            results.clear()

        seen: set[str] = set()
        for result in self._provider.results(native_id):
            if result.custom_id not in items or result.custom_id in seen:
                continue
            seen.add(result.custom_id)
            counts[result.outcome] += 1
            if result.reason is not None:
                reasons[result.reason] += 1
            results.append(result)
            if len(results) >= _AT_ONCE:
                keep()
        for missing in items.keys() - seen:
            counts["missing"] += 1
            reasons["no result came for it"] += 1
            results.append(BatchResult(missing, "missing", None, "no result came for it"))
        keep()
        self._set(batch_id, "collected", native_id)
        return Collected(batch_id, dict(counts), reasons.most_common(1)[0][0] if reasons else None, spent)

    def _priced(self, answer: Answer) -> Answer:
        money = (self.price or FREE).money(answer.usage, BATCH_SHARE)
        return replace(answer, usage=replace(answer.usage, money_usd=money, calls=1))

    def _open(self) -> list[tuple]:
        return self.cache.rows(
            "SELECT batch_id, native_id, state, submitted_at FROM batches "
            "WHERE provider = ? AND model = ? AND state IN ('uploading', 'open') ORDER BY submitted_at",
            (self.backend.provider, self.model),
        )

    def _remembered(self) -> tuple[dict[str, str], dict[str, str]]:
        """Cache keys on their way with their batch, and keys that the provider called invalid with its words."""
        named = (self.backend.provider, self.model)
        on_the_way = self.cache.rows(
            "SELECT i.cache_key, coalesce(b.native_id, b.batch_id) FROM batch_items i JOIN batches b USING (batch_id) "
            "WHERE b.provider = ? AND b.model = ? AND b.state IN ('uploading', 'open') AND b.submitted_at > ?",
            (*named, time.time() - _LIFE_S),
        )
        hopeless = self.cache.rows(
            "SELECT i.cache_key, i.reason FROM batch_items i JOIN batches b USING (batch_id) "
            "WHERE b.provider = ? AND b.model = ? AND i.outcome = 'errored' AND i.reason LIKE 'invalid_request_error%'",
            named,
        )
        return dict(on_the_way), dict(hopeless)

    def _set(self, batch_id: str, state: str, native_id: str) -> None:
        ended_at = time.time() if state == "collected" else None
        with self.cache.transaction() as connection:
            connection.execute(
                "UPDATE batches SET state = ?, native_id = ?, ended_at = ? WHERE batch_id = ?", (state, native_id, ended_at, batch_id)
            )

    def _forget(self, batch_id: str) -> None:
        with self.cache.transaction() as connection:
            connection.execute("DELETE FROM batch_items WHERE batch_id = ?", (batch_id,))
            connection.execute("DELETE FROM batches WHERE batch_id = ?", (batch_id,))


def custom_id(key: str) -> str:
    """The id that a request has inside a batch: short and plain whatever the row's own key is; the map is stored."""
    return f"r-{key[:48]}"
