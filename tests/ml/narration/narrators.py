"""A narrator for tests that reads the number which each picture of the test films tells: its text proves which frames it was given."""

from collections.abc import Sequence

from ml.narration.narrator import FramePlan, Narration, times_in_window
from ml.video.windows import WindowFrames
from ml.vocabulary import Status
from tests.ml.video.films import number_of


class NumberReader:
    name = "test/number-reader"

    def __init__(self, plan: FramePlan | None = None, windows_per_call: int = 2, fails_at: frozenset[int] = frozenset()) -> None:
        self.plan = plan or FramePlan(1.0, (80, 48))
        self.windows_per_call, self.fails_at = windows_per_call, fails_at
        self.calls: list[list[int]] = []
        self.shapes: set[tuple[int, ...]] = set()
        self.times_s: list[list[float]] = []

    def describe(self, windows: Sequence[WindowFrames]) -> list[Narration]:
        self.calls.append([window.window.index for window in windows])
        self.shapes |= {window.frames.shape[1:] for window in windows}
        self.times_s += [times_in_window(window) for window in windows]
        return [
            Narration(None, Status.ERROR, "asked to fail")
            if window.window.index in self.fails_at
            else Narration(" ".join(str(number_of(frame)) for frame in window.frames))
            for window in windows
        ]
