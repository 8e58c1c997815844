"""What a narrator is: windows of frames in, a text or a reason per window out. Backends have their own modules; ``stage`` makes rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ml.video.jpeg import fit_within
from ml.video.windows import WindowFrames
from ml.vocabulary import Status


@dataclass(frozen=True)
class FramePlan:
    """How a narrator wants to see a window: ``fps`` frames a second, at most ``max_frames``.

    ``size`` is (width, height) in px: exactly that where ``keeps_shape`` is false, else the box that an unstretched picture fits in.
    """

    fps: float
    size: tuple[int, int]
    keeps_shape: bool = True
    max_frames: int | None = None

    def frame_size(self, upright: tuple[int, int]) -> tuple[int, int]:
        """(width, height) to read frames of a video of ``upright`` size at."""
        return fit_within(upright, self.size) if self.keeps_shape else self.size


@dataclass(frozen=True)
class Narration:
    """Outcome for one window. ``text`` may be used only where ``status`` is OK; any other status has a reason."""

    text: str | None
    status: Status = Status.OK
    reason: str | None = None


class Narrator(Protocol):
    """Made once, used for many recordings: a model is loaded once per run.

    ``describe`` returns one ``Narration`` per window, in order. What fails for one window is its status; it raises ``InputError``
    only where every call would fail alike (no such model, wrong key).
    """

    @property
    def name(self) -> str:
        """Backend and model, as stored in the table."""

    @property
    def plan(self) -> FramePlan: ...

    @property
    def windows_per_call(self) -> int:
        """Windows that ``describe`` should get at a time: bounds the memory that their frames take."""

    def describe(self, windows: Sequence[WindowFrames]) -> list[Narration]: ...


def times_in_window(window: WindowFrames) -> list[float]:
    """True times of the frames in s from the window's start; a picture that was already shown then counts as 0."""
    return [max(0.0, t_s - window.window.start_s) for t_s in window.times_s]
