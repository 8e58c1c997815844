from collections.abc import Sequence

import numpy as np

from ml.narration.embedded import EmbeddedBackend
from ml.narration.stage import narrate_recording
from ml.video.windows import Window, WindowFrames
from ml.vocabulary import Status
from tests.ml.video.films import make_film, number_of


class Recorder:
    """Stands where the model is; says which frames it got, and nothing for a window that starts with number 50."""

    def __init__(self) -> None:
        self.times_s: list[list[float]] = []

    def describe(self, windows: Sequence[np.ndarray], times_s: Sequence[Sequence[float]]) -> list[str]:
        self.times_s += [list(times) for times in times_s]
        texts = [" ".join(str(number_of(frame)) for frame in frames) for frames in windows]
        return ["" if text.startswith("50 ") else f" {text} " for text in texts]


def test_windows_at_2_fps_in_the_model_square(tmp_path):
    path = make_film(tmp_path / "a.mp4", 200, 10)
    recorder = Recorder()
    rows = narrate_recording("s/r", path, 20.0, lambda: EmbeddedBackend(recorder))
    assert recorder.times_s == [[k / 2 for k in range(20)]] * 3
    assert rows["text"].to_list() == [" ".join(map(str, range(0, 100, 5))), None, " ".join(map(str, range(100, 200, 5)))]
    assert rows["status"].to_list() == ["ok", "empty", "ok"]
    assert set(rows["narrator"]) == {"embedded"}


def test_a_single_frame_is_shown_twice():
    recorder = Recorder()
    (narration,) = EmbeddedBackend(recorder).describe([WindowFrames(Window(0, 0.0, 0.04), (0.0,), np.zeros((1, 64, 64, 3), np.uint8))])
    assert (narration.text, narration.status) == ("0 0", Status.OK)
    assert recorder.times_s == [[0.0, 0.0]]
