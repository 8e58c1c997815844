"""A served vision model (any OpenAI-compatible server, or Claude) as a narrator, through the project's LLM client.

Retries, pacing, cache, budget and outcomes are the client's (``ml.llm``); this module makes the requests and reads the replies.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from ml.llm.images import ImageLimits, split
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

    @property
    def image_limits(self) -> ImageLimits | None: ...

    def run(self, requests: Sequence[Request]) -> list[Reply]: ...

    def report(self) -> dict[str, float | int | str | None]: ...


class ClientBackend:
    """One request per window: its frames as JPEG in time order, then their true times and the question.

    A window with more frames than the provider takes is asked about in parts, whose texts are joined.
    """

    def __init__(
        self, client: RequestClient, plan: FramePlan, *, provider: str = "openai", windows_per_call: int = 32, max_tokens: int = MAX_TOKENS
    ) -> None:
        self._client, self.plan = client, plan
        self.name = f"{provider}/{client.model}"
        self.windows_per_call, self._max_tokens = windows_per_call, max_tokens

    def describe(self, windows: Sequence[WindowFrames]) -> list[Narration]:
        asked = [self._requests(window) for window in windows]
        replies = {reply.key: reply for reply in self._client.run([request for parts in asked for request in parts])}
        return [_joined([_narration(replies[request.key]) for request in parts]) for parts in asked]

    def report(self) -> dict[str, float | int | str | None]:
        """What its calls used so far."""
        return self._client.report()

    def _requests(self, window: WindowFrames) -> list[Request]:
        times_s, length_s = times_in_window(window), window.window.end_s - window.window.start_s
        images = encode_jpegs(window.frames)
        return window_requests(str(window.window.index), times_s, length_s, images, self._client.image_limits, self._max_tokens)


def window_requests(
    key: str, times_s: Sequence[float], length_s: float, images: Sequence[bytes], limits: ImageLimits | None, max_tokens: int = MAX_TOKENS
) -> list[Request]:
    """The questions about a stretch of ``length_s`` with pictures at ``times_s`` (from its start): one, or one for each part.

    A part begins at its first picture and ends where the next begins; its times count from there.
    """
    parts = [list(images)] if limits is None else split(images, limits)
    firsts = list(accumulate((len(part) for part in parts), initial=0))
    starts_s = [0.0, *(times_s[first] for first in firsts[1:-1]), length_s]
    requests = []
    for place, part in enumerate(parts):
        start_s, end_s = starts_s[place], starts_s[place + 1]
        times = [t_s - start_s for t_s in times_s[firsts[place] : firsts[place + 1]]]
        name = key if len(parts) == 1 else f"{key} part {place}"
        prompt = narration_request(times, end_s - start_s)
        requests.append(Request(name, TASK, {"times_s": times}, SYSTEM, prompt, images=tuple(part), max_tokens=max_tokens))
    return requests


def _joined(parts: Sequence[Narration]) -> Narration:
    """One after the other; the first that failed stands for all."""
    failed = next((part for part in parts if part.status is not Status.OK), None)
    return failed if failed is not None else Narration(" ".join(part.text or "" for part in parts))


def _narration(reply: Reply) -> Narration:
    text = " ".join(reply.text.split()) if reply.text else None
    if reply.status is Status.OK and not text:
        return Narration(None, Status.EMPTY, "the reply has no text")
    return Narration(text, reply.status, reply.reason)
