"""A served vision model (any OpenAI-compatible server, or Claude) as a narrator, through the project's LLM client.

Retries, pacing, cache, budget and outcomes are the client's (``ml.llm``); this module makes the requests and reads the replies.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ml.llm.requests import Reply, Request
from ml.narration.narrator import FramePlan, Narration, times_in_window
from ml.narration.prompts import SYSTEM, narration_request
from ml.video.jpeg import encode_jpegs
from ml.video.windows import WindowFrames
from ml.vocabulary import Status

TASK = "narrate"
MAX_TOKENS = 256


class RequestClient(Protocol):
    """What is used of ``ml.llm.client.Client``."""

    @property
    def model(self) -> str: ...

    def run(self, requests: Sequence[Request]) -> list[Reply]: ...

    def report(self) -> Mapping[str, float | int | str | None]: ...


class ClientBackend:
    """One request per window: its frames as JPEG in time order, then their true times and the question."""

    def __init__(
        self, client: RequestClient, plan: FramePlan, *, provider: str = "openai", windows_per_call: int = 32, max_tokens: int = MAX_TOKENS
    ) -> None:
        self._client, self.plan = client, plan
        self.name = f"{provider}/{client.model}"
        self.windows_per_call, self._max_tokens = windows_per_call, max_tokens

    def describe(self, windows: Sequence[WindowFrames]) -> list[Narration]:
        replies = {reply.key: reply for reply in self._client.run([self._request(window) for window in windows])}
        return [_narration(replies[_key(window)]) for window in windows]

    def report(self) -> Mapping[str, float | int | str | None]:
        """What its calls used so far."""
        return self._client.report()

    def _request(self, window: WindowFrames) -> Request:
        times_s = times_in_window(window)
        return Request(
            key=_key(window),
            task=TASK,
            inputs={"times_s": times_s},
            system=SYSTEM,
            prompt=narration_request(times_s, window.window.end_s - window.window.start_s),
            images=encode_jpegs(window.frames),
            max_tokens=self._max_tokens,
        )


def _key(window: WindowFrames) -> str:
    return str(window.window.index)


def _narration(reply: Reply) -> Narration:
    text = " ".join(reply.text.split()) if reply.text else None
    if reply.status is Status.OK and not text:
        return Narration(None, Status.EMPTY, "the reply has no text")
    return Narration(text, reply.status, reply.reason)
