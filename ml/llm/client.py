"""The client: requests in, replies out in the same order. Backends, cache, budget and pacing have their own modules."""

from collections.abc import Callable, Sequence

from ml.llm.calls import OfflineBackend
from ml.llm.requests import NOTHING_USED, Reply, Request, Usage

Progress = Callable[[int, int], None]


class Client:
    """Runs requests against one backend and model."""

    def __init__(self, backend: OfflineBackend) -> None:
        self._backend = backend
        self._usage = NOTHING_USED

    @property
    def model(self) -> str:
        return self._backend.model

    @property
    def usage(self) -> Usage:
        """What was spent so far."""
        return self._usage

    def run(self, requests: Sequence[Request], progress: Progress | None = None) -> list[Reply]:
        replies = []
        for done, request in enumerate(requests, start=1):
            answer = self._backend.answer(request)
            replies.append(Reply(request.key, answer.status, answer.text, answer.reason, answer.usage, False, answer.model))
            if progress is not None:
                progress(done, len(requests))
        return replies
