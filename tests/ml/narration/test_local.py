"""Local narrators whose texts are kept: nothing is described twice, and whatever a text depends on is in its key."""

from dataclasses import replace

import numpy as np
import pytest

from ml.errors import InputError
from ml.llm.cache import ReplyCache
from ml.narration.local import KeptNarrator
from ml.narration.narrator import FramePlan, Narration
from ml.video.windows import Window, WindowFrames
from ml.vocabulary import Status

PLAN = FramePlan(2.0, (8, 8))
NOTE = Narration("It boils.")
WINDOW = WindowFrames(Window(3, 5.0, 10.0), (5.0, 7.5), np.zeros((2, 8, 8, 3), np.uint8))


class Counting:
    name, plan, windows_per_call = "test", PLAN, 1

    def __init__(self, told=NOTE):
        self.told, self.seen, self.loaded = told, [], 0

    def load(self):
        self.loaded += 1
        return self

    def describe(self, windows):
        self.seen += windows
        return [self.told] * len(windows)


def kept(counting, cache, weights="w1"):
    return KeptNarrator("test", PLAN, counting.load, {"weights": weights}, cache)


@pytest.fixture
def cache(tmp_path):
    return ReplyCache(tmp_path / "replies.sqlite")


@pytest.mark.parametrize("told", [NOTE, Narration(None, Status.EMPTY, "no word"), Narration("x", Status.TRUNCATED, "cut")])
def test_what_was_told_is_told_again_without_loading_the_model(cache, told):
    first = kept(Counting(told), cache)
    assert first.describe([WINDOW, WINDOW]) == [told, told]
    other = Counting()
    second = kept(other, cache)
    later = replace(WINDOW, window=Window(9, 105.0, 110.0), times_s=(105.0, 107.5))
    assert second.describe([WINDOW, later]) == [told, told]  # times count from the window's start
    assert (other.loaded, other.seen) == (0, [])
    assert (first.report()["calls"], second.report()["calls"], second.report()["cache_hits"]) == (1, 0, 2)


@pytest.mark.parametrize(
    "other",
    [
        replace(WINDOW, frames=WINDOW.frames + np.uint8(1)),
        replace(WINDOW, frames=WINDOW.frames.reshape(2, 4, 16, 3)),
        replace(WINDOW, times_s=(5.0, 8.0)),
        replace(WINDOW, window=Window(3, 5.0, 11.0)),
    ],
    ids=["frames", "shape", "times", "length"],
)
def test_another_window_is_described_anew(cache, other):
    narrator = kept(counting := Counting(), cache)
    narrator.describe([WINDOW, other])
    assert counting.seen == [WINDOW, other]
    assert counting.loaded == 1


def test_other_weights_describe_anew(cache):
    kept(Counting(), cache).describe([WINDOW])
    kept(counting := Counting(), cache, "w2").describe([WINDOW])
    assert counting.seen == [WINDOW]


def test_a_failure_is_told_and_not_kept(cache):
    failing = Narration(None, Status.ERROR, "out of memory")
    assert kept(Counting(failing), cache).describe([WINDOW]) == [failing]
    assert kept(Counting(), cache).describe([WINDOW]) == [NOTE]


def test_a_model_that_is_not_there_is_told(cache):
    def load():
        raise InputError("no such model")

    with pytest.raises(InputError, match="no such model"):
        KeptNarrator("test", PLAN, load, {}, cache).describe([WINDOW])
