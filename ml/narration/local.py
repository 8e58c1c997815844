"""A narrator that runs in this process, with its texts kept by content: frames, times and weights. It is loaded at the first window that
is not kept.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from ml.llm.cache import ReplyCache
from ml.llm.calls import Answer
from ml.llm.images import ImageLimits
from ml.llm.local import AS_THEY_ARE, LocalClient
from ml.llm.requests import Request
from ml.narration.narrator import FramePlan, Narration, Narrator, times_in_window
from ml.narration.openai_backend import TASK
from ml.video.windows import WindowFrames


class KeptNarrator:
    """A ``Narrator`` that describes no window twice. ``shaping``: what shapes its texts beside the frames; it must name the weights.

    What the narrator could not do (status error) is not kept. For threads: they take turns.
    """

    windows_per_call = 8

    def __init__(
        self, name: str, plan: FramePlan, load: Callable[[], Narrator], shaping: Mapping[str, object], cache: ReplyCache | None = None
    ) -> None:
        self.name, self.plan = name, plan
        self._client = LocalClient(_Described(name, load, shaping), cache)

    def describe(self, windows: Sequence[WindowFrames]) -> list[Narration]:
        """One at a time, so that what is done is kept."""
        requests = [Request(str(window.window.index), TASK, {"window": window}, "", _content(window)) for window in windows]
        return [Narration(reply.text, reply.status, reply.reason) for reply in self._client.run(requests)]

    def report(self) -> dict[str, float | int | str | None]:
        """How many windows it described, and how many were kept from before."""
        return self._client.report()


class _Described:
    """The narrator as a ``ml.llm.local.LocalModel``."""

    provider = "narrator"
    min_prefix_tokens: int | None = None

    def __init__(self, name: str, load: Callable[[], Narrator], shaping: Mapping[str, object]) -> None:
        self.model, self.parameters, self._load = name, shaping, load
        self.image_limits: ImageLimits = AS_THEY_ARE
        self._narrator: Narrator | None = None

    def answer(self, request: Request) -> Answer:
        self._narrator = self._narrator or self._load()
        (told,) = self._narrator.describe([cast(WindowFrames, request.inputs["window"])])
        return Answer(told.status, told.text, told.reason)


def _content(window: WindowFrames) -> str:
    """Length, times from the window's start and the frames themselves: all of a window that a narrator goes by."""
    frames = hashlib.sha256(window.frames.tobytes()).hexdigest()
    length_s = window.window.end_s - window.window.start_s
    return f"{length_s!r} s; {[float(t_s) for t_s in times_in_window(window)]!r}; {window.frames.shape} {frames}"
