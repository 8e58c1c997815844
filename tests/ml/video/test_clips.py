from fractions import Fraction

import av
import pytest

from ml.errors import InputError
from ml.video.clips import cut_clip
from ml.video.frames import sample_frames
from tests.ml.video.films import is_upright, make_film, number_of


def numbers(path):
    with av.open(str(path)) as container:
        return [number_of(frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]


def test_a_clip_holds_the_pictures_shown_in_it_from_its_own_zero(tmp_path):
    film = make_film(tmp_path / "film.mp4", 100, start_s=1)
    assert cut_clip(film, 1.0, 2.0, tmp_path / "out" / "clip.mp4") == pytest.approx(1.0)
    assert numbers(tmp_path / "out" / "clip.mp4") == list(range(25, 50))
    # between two pictures the earlier one is shown
    cut_clip(film, 1.02, 1.1, tmp_path / "between.mp4")
    assert numbers(tmp_path / "between.mp4") == [25, 26, 27]
    times = [frame.shown_s for frame in sample_frames(tmp_path / "between.mp4", [0.0, 0.03, 0.07])]
    assert times == pytest.approx([0.0, 0.02, 0.06], abs=1e-3)
    assert not list(tmp_path.rglob("*.part"))


def test_a_turned_film_becomes_upright_and_fits_the_box(tmp_path):
    film = make_film(tmp_path / "film.mp4", 20, stored_turns=1, rotation=-90, width=320, height=180)
    cut_clip(film, 0.0, 0.5, tmp_path / "clip.mp4", box=(161, 161))
    with av.open(str(tmp_path / "clip.mp4")) as container:
        frame = next(container.decode(video=0))
        assert (frame.width, frame.height) == (160, 90)
        assert is_upright(frame.to_ndarray(format="rgb24"))


def test_other_rates_and_codecs_play_as_h264(tmp_path):
    film = make_film(tmp_path / "film.mp4", 60, Fraction(30_000, 1001), codec="mpeg4")
    cut_clip(film, 0.5, 1.5, tmp_path / "clip.mp4")
    with av.open(str(tmp_path / "clip.mp4")) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert sum(packet.is_keyframe for packet in container.demux(stream) if packet.size) >= 2


def test_nothing_shown_is_an_error(tmp_path):
    film = make_film(tmp_path / "film.mp4", 25)
    with pytest.raises(InputError, match="shows nothing from 5 to 6 s"):
        cut_clip(film, 5.0, 6.0, tmp_path / "clip.mp4")
    with pytest.raises(InputError, match="no clip"):
        cut_clip(film, 0.5, 0.5, tmp_path / "clip.mp4")
    with pytest.raises(InputError):
        cut_clip(tmp_path / "absent.mp4", 0.0, 1.0, tmp_path / "clip.mp4")
    assert not (tmp_path / "clip.mp4").exists()
