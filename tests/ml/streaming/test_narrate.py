import numpy as np
import pytest

from ml.errors import InputError
from ml.sample_kitchen.truth import Event, WindowNarration
from ml.streaming.narrate import EmbeddedNarrator
from ml.streaming.narration_quality import judge


def window(seconds: int, seed: int) -> tuple[np.ndarray, list[float]]:
    return np.random.default_rng(seed).integers(0, 256, (2 * seconds, 48, 80, 3), dtype=np.uint8), [step / 2 for step in range(2 * seconds)]


def test_a_batch_gives_what_single_windows_give(model):
    narrator = EmbeddedNarrator(model)
    windows = [window(seconds, seed) for seed, seconds in enumerate((3, 2, 3, 1))]
    together = narrator.describe([frames for frames, _ in windows], [times for _, times in windows])
    assert together == [narrator.describe([frames], [times])[0] for frames, times in windows]


def test_no_windows(model):
    assert EmbeddedNarrator(model).describe([], []) == []


def test_a_window_without_a_pair_of_frames_is_refused(model):
    with pytest.raises(InputError, match="1 frames and 1 times"):
        EmbeddedNarrator(model).describe([np.zeros((1, 64, 64, 3), np.uint8)], [[0.0]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The person adds 3 scoops of cocoa to the bowl.", (True, True)),
        ("The person wipes the counter. The person adds 1 scoop of cocoa to the bowl.", (True, False)),
        ("The person adds 3 scoops of flour to the bowl.", (False, False)),
        ("", (False, False)),
    ],
)
def test_judging_a_narration(text, expected):
    main = Event(0.0, 5.0, "add", "cocoa", 3, "The person adds 3 scoops of cocoa to the bowl.")
    assert judge(text, WindowNarration(main.text, main, (main,))) == expected
