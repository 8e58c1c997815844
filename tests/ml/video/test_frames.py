from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.video.frames import clip_frames, sample, sample_frames, spaced_times
from ml.video.reader import Orientation, VideoReader
from tests.ml.video.films import is_upright, make_film, number_of, set_edit_start


@pytest.fixture(scope="module")
def ntsc(tmp_path_factory):
    """20 s at 30000/1001 with reordered frames and a key frame every 5 s."""
    return make_film(tmp_path_factory.mktemp("ntsc") / "a.mp4", 600, Fraction(30000, 1001), key_interval=150, codec_options={"bf": "2"})


@settings(max_examples=25, deadline=None)
@given(times_s=st.lists(st.floats(0, 19.98), min_size=1, max_size=6).map(sorted))
def test_the_frame_shown_at_a_time(ntsc, times_s):
    for frame, t_s in zip(sample_frames(ntsc, times_s), times_s, strict=True):
        number = number_of(frame.image)
        assert frame.t_s == t_s
        assert frame.shown_s == pytest.approx(number * 1001 / 30000, abs=1e-9)
        assert frame.shown_s <= t_s + 6e-4
        assert t_s < (number + 1) * 1001 / 30000


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts", "a.mov"])
@pytest.mark.parametrize("rate", [Fraction(30000, 1001), Fraction(24000, 1001), Fraction(60)])
def test_every_frame_is_found_at_its_own_time(tmp_path, name, rate):
    path = make_film(tmp_path / name, 120, rate, codec_options={"bf": "2"}, key_interval=30)
    times_s = [float(k / rate) for k in range(120)]
    assert [number_of(frame.image) for frame in sample_frames(path, times_s)] == list(range(120))
    assert [number_of(next(sample_frames(path, [t_s])).image) for t_s in times_s[-30:]] == list(range(90, 120))


def test_frame_5400_of_ntsc_is_at_180_18_s(tmp_path):
    path = make_film(
        tmp_path / "a.mp4", 5402, Fraction(30000, 1001), key_interval=150, width=32, height=32, skip_frames=frozenset(range(1, 5390))
    )
    (frame,) = sample_frames(path, [180.18])
    assert frame.shown_s == 180.18
    assert number_of(frame.image) == 5400 % 1024


@pytest.mark.parametrize(("name", "settings"), [("m.mp4", {"rotation": -90}), ("t.mkv", {"tags": {"rotate": "90"}})])
def test_portrait_phone_clip_is_upright(tmp_path, name, settings):
    path = make_film(tmp_path / name, 3, width=1080 // 4, height=1920 // 4, stored_turns=1, **settings)
    (frame,) = sample_frames(path, [0.04])
    assert frame.image.shape == (480, 270, 3)
    assert is_upright(frame.image)
    assert number_of(frame.image) == 1
    (small,) = sample_frames(path, [0.0], (54, 96))
    assert small.image.shape == (96, 54, 3)
    assert is_upright(small.image)


@pytest.mark.parametrize(("turns", "rotation"), [(1, -90), (2, 180), (3, 90)])
def test_every_quarter_turn(tmp_path, turns, rotation):
    path = make_film(tmp_path / "a.mp4", 2, stored_turns=turns, rotation=rotation)
    (frame,) = sample_frames(path, [0.0])
    assert frame.image.shape == (96, 160, 3)
    assert is_upright(frame.image)


def test_mirrored_then_turned():
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    stored = np.rot90(image, 1)[:, :]
    assert (Orientation(1, False).upright(stored) == image).all()
    assert (Orientation(0, True).upright(image[:, ::-1]) == image).all()


def test_edit_list_moves_zero(tmp_path):
    path = set_edit_start(make_film(tmp_path / "a.mp4", 100, codec_options={"bf": "2"}), Fraction(2, 25))
    assert [(f.shown_s, number_of(f.image)) for f in sample_frames(path, [0.0, 0.04, 1.0])] == [(0.0, 2), (0.04, 3), (1.0, 27)]


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4"])
def test_late_start_moves_zero(tmp_path, name):
    path = make_film(tmp_path / name, 200, start_s=1, key_interval=25)
    assert [(f.shown_s, number_of(f.image)) for f in sample_frames(path, [0.0, 1.0])] == [(0.0, 0), (1.0, 25)]
    assert [(f.shown_s, number_of(f.image)) for f in sample_frames(path, [5.0])] == [(5.0, 125)]


def test_clip_begins_exactly_although_key_frames_are_5_s_apart(tmp_path):
    path = make_film(tmp_path / "a.mp4", 500, key_interval=125)
    frames = list(clip_frames(path, 11.0, 15.0, 25))
    assert frames[0].shown_s == 11.0
    assert [number_of(frame.image) for frame in frames] == list(range(275, 375))
    coarse = list(clip_frames(path, 10.0, 14.0, 2))
    assert [frame.shown_s for frame in coarse] == [10.0, 10.5 - 0.02, 11.0, 11.48, 12.0, 12.48, 13.0, 13.48]


def test_late_clip_decodes_from_its_key_frame_only(tmp_path):
    path = make_film(tmp_path / "a.mp4", 1000, key_interval=50)
    with VideoReader(path) as reader:
        (frame,) = sample(reader, [38.0])
        assert number_of(frame.image) == 950
        assert reader.n_decoded < 60


def test_variable_rate_holds_the_last_picture(tmp_path):
    path = make_film(tmp_path / "a.mp4", 100, skip_frames=frozenset(range(26, 75)))
    assert [number_of(f.image) for f in sample_frames(path, [1.0, 1.5, 2.96, 3.0])] == [25, 25, 25, 75]


def test_past_the_end_gives_nothing(tmp_path):
    path = make_film(tmp_path / "a.mp4", 50)
    assert [number_of(f.image) for f in sample_frames(path, [1.96, 1.99, 2.0, 7.0])] == [49, 49]


def test_each_frame_decoded_once_and_converted_once(tmp_path):
    path = make_film(tmp_path / "a.mp4", 100)
    with VideoReader(path) as reader:
        frames = list(sample(reader, [0.0, 0.01, 0.02, 3.97]))
        assert reader.n_decoded == 100
    assert frames[0].image is frames[1].image
    assert frames[0].image is frames[2].image


def test_broken_packets_in_the_middle_are_passed_over(tmp_path):
    path = make_film(tmp_path / "a.mp4", 250, key_interval=25, container_options={"movflags": "faststart"})
    data = bytearray(path.read_bytes())
    start = data.index(b"mdat") + 4
    hole = start + (len(data) - start) // 2
    data[hole : hole + 600] = b"\x00" * 600
    path.write_bytes(data)
    frames = list(sample_frames(path, [k / 2 for k in range(20)]))
    assert len(frames) == 20
    assert number_of(frames[-1].image) == 237


@pytest.mark.parametrize("times_s", [[-1.0], [2.0, 1.0], [float("nan")], [float("inf")]])
def test_bad_times_are_refused(tmp_path, times_s):
    path = make_film(tmp_path / "a.mp4", 5)
    with pytest.raises(InputError, match="time"):
        list(sample_frames(path, times_s))


@given(
    start_s=st.floats(0, 5000), length_s=st.floats(0.01, 60), fps=st.floats(0.1, 60), max_frames=st.one_of(st.none(), st.integers(1, 50))
)
def test_spaced_times(start_s, length_s, fps, max_frames):
    times_s = spaced_times(start_s, start_s + length_s, fps, max_frames)
    assert times_s[0] == start_s
    assert times_s == sorted(times_s)
    assert times_s[-1] < start_s + length_s
    assert len(times_s) <= (max_frames or max(2, length_s * fps + 1))
    assert len(times_s) >= min(2, max_frames or 2)


def test_resizing_averages(tmp_path):
    """A fine checkerboard becomes grey, not black or white, when it is reduced."""
    path = tmp_path / "a.mkv"
    board = np.indices((128, 128)).sum(0) % 2 * 255
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("ffv1", rate=25)
        stream.width = stream.height = 128
        stream.pix_fmt = "gray"
        frame = av.VideoFrame.from_ndarray(board.astype(np.uint8), format="gray")
        frame.pts = 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    (small,) = sample_frames(path, [0.0], (32, 32))
    assert abs(small.image.astype(int) - 127).max() < 20
