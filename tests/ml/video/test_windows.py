import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.errors import InputError
from ml.video.reader import VideoReader
from ml.video.windows import Window, iter_windows, make_windows, read_windows
from tests.ml.video.films import make_film, number_of


@given(st.floats(1e-3, 20_000))
def test_windows_cover_the_recording_to_its_end(duration_s):
    windows = make_windows(duration_s)
    assert windows[0].start_s == 0
    assert windows[-1].end_s == duration_s
    assert [w.index for w in windows] == list(range(len(windows)))
    assert [w.start_s for w in windows] == [5.0 * k for k in range(len(windows))]
    assert all(w.end_s - w.start_s == 10 for w in windows[:-1])
    assert len(windows) == 1 or windows[-1].end_s - windows[-1].start_s > 5


def test_examples_of_windows():
    assert [(w.start_s, w.end_s) for w in make_windows(12.0)] == [(0, 10), (5, 12)]
    assert [(w.start_s, w.end_s) for w in make_windows(10.0)] == [(0, 10)]
    assert [(w.start_s, w.end_s) for w in make_windows(0.4)] == [(0, 0.4)]
    assert make_windows(0) == []


@pytest.mark.parametrize("stride_s", [0, -1, 11])
def test_stride_that_leaves_gaps_is_refused(stride_s):
    with pytest.raises(InputError, match="stride"):
        make_windows(60, 10, stride_s)


def test_frames_of_overlapping_windows_decoded_once(tmp_path):
    path = make_film(tmp_path / "a.mp4", 27 * 20, 20)
    with VideoReader(path) as reader:
        found = list(read_windows(reader, make_windows(27.0), 2, (80, 48)))
        assert 526 < reader.n_decoded <= 27 * 20
    assert [w.window.start_s for w in found] == [0, 5, 10, 15, 20]
    for window in found:
        assert window.frames.shape == (len(window.times_s), 48, 80, 3)
        assert [number_of(image) for image in window.frames] == [round(20 * t_s) for t_s in window.times_s]
        assert window.times_s == tuple(np.arange(window.window.start_s, window.window.end_s, 0.5))


def test_very_short_windows(tmp_path):
    short = make_film(tmp_path / "short.mp4", 10)
    (window,) = iter_windows(short, make_windows(0.4), 1)
    assert [number_of(image) for image in window.frames] == [0, 5]
    nine = make_film(tmp_path / "nine.mp4", 9, 30)
    (window,) = iter_windows(nine, make_windows(0.3), 60, max_frames=16)
    assert [number_of(image) for image in window.frames] == list(range(9))
    single = make_film(tmp_path / "single.mp4", 1)
    (window,) = iter_windows(single, make_windows(0.04), 2)
    assert len(window.frames) == 1


def test_max_frames_spreads_over_the_window(tmp_path):
    path = make_film(tmp_path / "a.mp4", 250)
    (window,) = iter_windows(path, make_windows(10.0), 4, max_frames=8)
    assert [number_of(image) for image in window.frames] == [int(250 * k / 8) for k in range(8)]


def test_true_times_of_skipped_frames(tmp_path):
    """Frames are kept at 0, 4 and 8 s only: the window says so."""
    path = make_film(tmp_path / "a.mp4", 100, 10, skip_frames=frozenset(set(range(100)) - {0, 40, 80}))
    (window,) = iter_windows(path, make_windows(10.0), 1)
    assert window.times_s == (0.0, 4.0, 8.0)


def test_window_past_the_end_is_empty(tmp_path):
    path = make_film(tmp_path / "a.mp4", 50)
    found = list(iter_windows(path, [Window(0, 0, 10), Window(1, 5, 15)], 2, (16, 16)))
    assert [w.frames.shape for w in found] == [(4, 16, 16, 3), (0, 16, 16, 3)]


def _growth_kib(path: Path, minutes: float) -> int:
    def status(name: str) -> int:
        return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))

    before = status("VmRSS")
    assert sum(len(window.times_s) for window in iter_windows(path, make_windows(minutes * 60), 2, (128, 128))) > 400
    return status("VmHWM") - before


def test_memory_is_bounded_by_the_window(tmp_path):
    """Three minutes at 640x360 are 1.2 GB of decoded pictures; reading them in windows stays under 60 MB."""
    if not Path("/proc/self/status").exists():
        pytest.skip("resident size is read from /proc")
    path = make_film(tmp_path / "a.mp4", 1800, 10, width=640, height=360)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_growth_kib, (path, 3.0)) < 60 * 1024
