"""The embedded base model as a narrator. It knows the rendered sample kitchen only; model and decoding are in ``ml.streaming``."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ml.narration.narrator import FramePlan, Narration, times_in_window
from ml.video.windows import WindowFrames
from ml.vocabulary import Status

MIN_FRAMES = 2  # the model sees frames in pairs


class WindowDescriber(Protocol):
    """What ``ml.streaming.narrate.EmbeddedNarrator`` offers."""

    def describe(self, windows: Sequence[np.ndarray], times_s: Sequence[Sequence[float]]) -> list[str]: ...


class EmbeddedBackend:
    """Narrates with a small streaming model, many windows a call."""

    name = "embedded"

    def __init__(self, describer: WindowDescriber, fps: float = 2.0, size: tuple[int, int] = (64, 64), windows_per_call: int = 64) -> None:
        self._describer = describer
        # The model was trained on pictures stretched to its square.
        self.plan = FramePlan(fps, size, keeps_shape=False)
        self.windows_per_call = windows_per_call

    def describe(self, windows: Sequence[WindowFrames]) -> list[Narration]:
        frames, times_s = [], []
        for window in windows:
            lacking = max(0, MIN_FRAMES - len(window.frames))
            frames.append(np.concatenate([window.frames, window.frames[-1:].repeat(lacking, axis=0)]) if lacking else window.frames)
            times = times_in_window(window)
            times_s.append(times + times[-1:] * lacking)
        texts = self._describer.describe(frames, times_s)
        return [
            Narration(text.strip()) if text.strip() else Narration(None, Status.EMPTY, "the model ended without a word") for text in texts
        ]
