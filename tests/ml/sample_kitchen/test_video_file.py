"""Files: codec, presentation times at every rate, length, whole or absent."""

from fractions import Fraction

import av
import numpy as np
import pytest

from ml.errors import InputError
from ml.sample_kitchen.render import render_frames
from ml.sample_kitchen.script import make_recording
from ml.sample_kitchen.video_file import write_video
from ml.sample_kitchen.world import KitchenSplit


@pytest.fixture(scope="module")
def recording():
    return min((make_recording(seed, KitchenSplit.TRAIN) for seed in range(30)), key=lambda recording: recording.duration_s)


@pytest.mark.parametrize("rate", [Fraction(4), Fraction(10), Fraction(30000, 1001)])
def test_frames_are_presented_when_they_were_seen(tmp_path, recording, rate):
    path = tmp_path / "1_7_360p.mp4"
    count = write_video(recording, path, rate)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height) == (128, 128)
        assert stream.average_rate == rate
        frames = list(container.decode(stream))
    times = [Fraction(frame.pts or 0) * Fraction(frame.time_base or 0) for frame in frames]
    assert len(times) == count
    assert all(abs(t - index / rate) <= Fraction(1, 10**4) for index, t in enumerate(times))
    assert times[-1] < recording.duration_s <= times[-1] + 1 / rate + Fraction(1, 1000)
    gaps = [index for index, frame in enumerate(frames) if frame.key_frame]
    assert max(np.diff([*gaps, count])) <= 2 * rate + 1
    middle = count // 2
    seen = render_frames(recording, [float(middle / rate)], 128)[0].astype(int)
    assert np.abs(frames[middle].to_ndarray(format="rgb24").astype(int) - seen).mean() < 8


def test_same_script_gives_the_same_bytes(tmp_path, recording):
    first, second = tmp_path / "first.mp4", tmp_path / "second.mp4"
    write_video(recording, first, Fraction(4))
    write_video(recording, second, Fraction(4))
    assert first.read_bytes() == second.read_bytes()


def test_a_write_that_fails_leaves_nothing(tmp_path, recording):
    with pytest.raises(InputError, match="size 100"):
        write_video(recording, tmp_path / "a.mp4", Fraction(4), size=100)
    assert list(tmp_path.iterdir()) == []
