"""A dry run: what requests would cost, before anything is spent. Nothing is stored, and no reply is asked for."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ml.llm.batch_book import BatchBook
from ml.llm.calls import Backend
from ml.llm.client import Client
from ml.llm.prices import BATCH_SHARE
from ml.llm.requests import Request, Usage
from ml.llm.tokens import input_tokens, text_tokens

_COUNTS_AT_ONCE = 8


@dataclass(frozen=True)
class Estimate:
    """``calls`` to make, ``cached`` replies already paid for, ``in_batch`` on their way. Tokens and money are of the calls.

    ``input_tokens`` includes prefix reads.

    ``output_tokens`` and ``money_usd`` expect replies as long as stored ones of the same task and model, else as guessed by the caller,
    else as ``max_tokens``; ``money_worst_usd`` has every reply reach its cap. Money is None where the price is unknown. ``seconds``
    assumes ``latency_s``; a batch takes up to a day instead.
    """

    calls: int
    cached: int
    input_tokens: int
    output_tokens: int
    money_usd: float | None
    money_worst_usd: float | None
    seconds: float
    in_batch: int = 0


def estimate(
    requests: Sequence[Request],
    client: Client,
    *,
    count: Literal["length", "provider"] = "length",
    latency_s: float = 3.0,
    is_batch: bool = False,
    guesses: Mapping[str, int] | None = None,
) -> Estimate:
    """``guesses`` are expected output tokens by request key.

    ``count``: ``length`` is the stated rule of ``ml.llm.tokens``; ``provider`` asks its counting endpoint, free but slow.

    Raises InputError where ``provider`` has no such endpoint.
    """
    backend = client.backend
    if not isinstance(backend, Backend):
        return Estimate(0, 0, 0, 0, 0.0, 0.0, 0.0)
    on_the_way = BatchBook(client.cache, backend).on_the_way() if client.cache is not None else {}
    stands = client.stand(requests)
    cached = sum(one.answer is not None for one in stands)
    in_batch = sum(one.answer is None and one.key in on_the_way for one in stands)
    todo = {one.key: one.request for one in stands if one.answer is None and one.key not in on_the_way}
    asked = list(todo.values())
    sizes = asyncio.run(_counted(backend, asked)) if count == "provider" else [input_tokens(one, backend.image_limits) for one in asked]
    typical = _typical_output(client, {request.task for request in asked})
    prefixes = Counter(request.system for request in asked)
    seen: set[str] = set()
    total = worst = 0.0
    outputs = 0
    share = BATCH_SHARE if is_batch else 1.0
    for request, size in zip(asked, sizes, strict=True):
        guess = (guesses or {}).get(request.key, request.max_tokens)
        output = min(request.max_tokens, typical.get(request.task, guess))
        outputs += output
        if client.price is None:
            continue
        prefix = text_tokens(request.system)
        shortest = backend.min_prefix_tokens
        shared = 0 if is_batch or shortest is None or prefix < shortest or prefixes[request.system] < 2 else min(prefix, size)
        first = request.system not in seen
        seen.add(request.system)
        read, written = (0, shared) if first else (shared, 0)
        for tokens, is_worst in ((output, False), (request.max_tokens, True)):
            money = client.price.money(Usage(size - shared, tokens, read, written), share)
            worst, total = (worst + money, total) if is_worst else (worst, total + money)
    seconds = _seconds(client, len(asked), sum(sizes) + outputs, latency_s)
    money_usd, money_worst = (None, None) if client.price is None else (total, worst)
    return Estimate(len(asked), cached, sum(sizes), outputs, money_usd, money_worst, seconds, in_batch)


def _typical_output(client: Client, tasks: set[str]) -> dict[str, int]:
    """Mean output tokens of stored replies by task, rounded up; only of this model and only where ten or more are stored."""
    if client.cache is None or not tasks:
        return {}
    rows = client.cache.rows(
        "SELECT task, avg(output_tokens) FROM replies WHERE model = ? AND provider = ? GROUP BY task HAVING count(*) >= 10",
        (client.model, client.backend.provider),
    )
    return {task: -int(-mean // 1) for task, mean in rows if task in tasks}


def _seconds(client: Client, calls: int, tokens: int, latency_s: float) -> float:
    """The slowest of the three bounds: requests in flight, requests a minute, tokens a minute."""
    limits = client.limits
    by_flight = -(-calls // limits.in_flight) * latency_s
    by_requests = calls / limits.requests_per_minute * 60 if limits.requests_per_minute else 0.0
    by_tokens = tokens / limits.tokens_per_minute * 60 if limits.tokens_per_minute else 0.0
    return max(by_flight, by_requests, by_tokens)


async def _counted(backend: Backend, requests: Sequence[Request]) -> list[int]:
    gate = asyncio.Semaphore(_COUNTS_AT_ONCE)

    async def one(request: Request) -> int:
        async with gate:
            return await backend.count_tokens(request)

    await backend.open()
    try:
        return list(await asyncio.gather(*(one(request) for request in requests)))
    finally:
        await backend.close()
