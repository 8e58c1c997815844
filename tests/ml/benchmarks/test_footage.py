"""Frames of real files for assistants: a frame is what a player shows then, never a later one."""

import io

import numpy as np
import pytest
from PIL import Image

from ml.benchmarks.assistants.interface import LookAheadError
from ml.benchmarks.cook_mre.protocol import ClipPictures, clip_question, uniform_times
from ml.benchmarks.cook_mre.samples import CookSample
from ml.benchmarks.footage import FrameSettings, clip_images, video_frames
from ml.errors import InputError
from tests.ml.video.films import make_film, number_of


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return make_film(tmp_path_factory.mktemp("film") / "film.mp4", 100, 10)  # picture k at k / 10 s, 10 s long


def test_a_stream_shows_the_picture_of_its_time(film):
    provide = video_frames({"r": str(film)}, FrameSettings(2.0, (160, 96)))
    found = [(float(times[0]), number_of(frames[0])) for frames, times in provide("r", 1.05, 3.0)]
    assert [t for t, _ in found] == [1.05, 1.55, 2.05, 2.55]
    assert [number for _, number in found] == [10, 15, 20, 25]


def test_a_stream_ends_where_the_video_ends_and_fits_the_box(film):
    provide = video_frames({"r": str(film)}, FrameSettings(1.0, (80, 80)))
    shapes = [frames.shape for frames, _ in provide("r", 5.0, 60.0)]
    assert shapes == [(1, 48, 80, 3)] * 5


def test_a_recording_without_video_is_refused_by_name():
    with pytest.raises(InputError, match=r"r/1.*no video"):
        list(video_frames({"r/1": None}, FrameSettings())("r/1", 0.0, 1.0))


def test_sixteen_pictures_lie_in_the_middle_of_equal_parts(film):
    sample = CookSample("s", "c", "Dice it.", "Slice it.", "verb", video_path=str(film), start_s=2.0, end_s=6.0)
    question = clip_question(sample, False, ClipPictures(box=(160, 96)))
    numbers = [number_of(np.asarray(Image.open(io.BytesIO(image)))) for image in question.images]
    assert numbers == [int(t * 10 + 1e-6) for t in uniform_times(2.0, 6.0)]
    assert question.times_s == pytest.approx([0.125 + 0.25 * k for k in range(16)])


def test_a_clip_past_the_end_repeats_the_last_picture_and_one_beyond_it_is_refused(film):
    assert len(clip_images(str(film), 9.0, 12.0, [9.5, 11.5], (160, 96))) == 2
    with pytest.raises(InputError, match="ends before"):
        clip_images(str(film), 20.0, 22.0, [21.0], (160, 96))
    with pytest.raises(LookAheadError):
        clip_images(str(film), 1.0, 2.0, [2.5], (160, 96))
