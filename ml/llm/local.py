"""Models that run in this process behind the same interface as a provider's: one at a time, free, their answers kept by content.

Greedy decoding gives the same answer again, and a local model is slow, so an answer in the cache is as good as a new one. What the model
could not do (out of memory, more pictures than its context holds) is not kept.
"""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Protocol, cast

from ml.llm.cache import ReplyCache, cache_key
from ml.llm.calls import Answer, Backend
from ml.llm.images import ImageLimits
from ml.llm.outcomes import judge
from ml.llm.requests import NOTHING_USED, Reply, Request, Usage
from ml.vocabulary import Status

AS_THEY_ARE = ImageLimits(max_count=10_000, max_edge=100_000, crowd=10_000, crowd_edge=100_000)


class LocalModel(Protocol):
    """``model`` and ``parameters`` must name the weights: they are in the cache key."""

    provider: str
    model: str
    parameters: Mapping[str, object]
    image_limits: ImageLimits
    min_prefix_tokens: int | None

    def answer(self, request: Request) -> Answer: ...


class LocalClient:
    """``run`` as ``ml.llm.client.Client`` has it. May be shared between threads: they take turns at the model."""

    def __init__(self, model: LocalModel, cache: ReplyCache | None = None) -> None:
        self._model, self._cache, self._lock = model, cache, Lock()
        self._identity = cast(Backend, model)  # the cache reads nothing but the names and parameters, which both have
        self.calls = self.cache_hits = 0

    @property
    def model(self) -> str:
        return self._model.model

    def run(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, in order."""
        return [self._reply(request) for request in requests]

    def report(self) -> dict[str, float | int | str | None]:
        """Figures for an asset's metadata."""
        return {"model": self.model, "calls": self.calls, "cache_hits": self.cache_hits}

    def _reply(self, request: Request) -> Reply:
        key = cache_key(request, self._identity)
        stored = self._cache.get([key]).get(key) if self._cache is not None else None
        if stored is not None:
            with self._lock:
                self.cache_hits += 1
            return _read(request, stored, True)
        with self._lock:
            self.calls += 1
            answer = self._model.answer(request)
        if self._cache is not None and answer.status is not Status.ERROR:
            self._cache.put(key, request, self._identity, answer)
        return _read(request, answer, False)


def _read(request: Request, answer: Answer, from_cache: bool) -> Reply:
    judged = judge(answer)
    used = NOTHING_USED if from_cache else Usage(calls=1)
    return Reply(request.key, judged.status, judged.text, judged.reason, used, from_cache, judged.model)
