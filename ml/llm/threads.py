"""One client for many threads: one event loop, one connection pool and one pace serve them all while it is open."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from threading import Thread
from types import TracebackType
from typing import Any, Self

from ml.llm.calls import Answer, Backend
from ml.llm.client import Client
from ml.llm.images import ImageLimits
from ml.llm.requests import Reply, Request


class SharedClient:
    """``run`` of a ``Client`` from any number of threads at once; use it as a context manager.

    The client's own cache, budget, pacing and counts apply to all threads together.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        backend = self.client.backend
        if isinstance(backend, Backend):
            self._held = _HeldOpen(backend)
            self.client.backend = self._held
            self._loop = asyncio.new_event_loop()
            self._thread = Thread(target=self._loop.run_forever, name="llm-shared", daemon=True)
            self._thread.start()
            self._wait(backend.open())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._loop is None or self._thread is None:
            return
        self._wait(self._held.inner.close())
        self.client.backend = self._held.inner
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def run(self, requests: Sequence[Request]) -> list[Reply]:
        """As ``Client.run``."""
        if self._loop is None:
            return self.client.run(requests)
        return asyncio.run_coroutine_threadsafe(self.client.run_async(requests), self._loop).result()

    @property
    def model(self) -> str:
        return self.client.model

    @property
    def image_limits(self) -> ImageLimits | None:
        return self.client.image_limits

    def report(self) -> dict[str, float | int | str | None]:
        return self.client.report()

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(work, self._loop).result()


class _HeldOpen:
    """A backend whose opening and closing are somebody else's."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.provider, self.model = inner.provider, inner.model
        self.parameters: Mapping[str, object] = inner.parameters
        self.image_limits: ImageLimits = inner.image_limits
        self.min_prefix_tokens: int | None = inner.min_prefix_tokens

    async def open(self) -> None:
        """It is open already."""

    async def close(self) -> None:
        """It stays open."""

    async def call(self, request: Request, *, cache_prefix: bool, timeout_s: float) -> Answer:
        return await self.inner.call(request, cache_prefix=cache_prefix, timeout_s=timeout_s)

    async def count_tokens(self, request: Request) -> int:
        return await self.inner.count_tokens(request)
