from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ml.tables.declarations.recordings import VIDEO_PROBE
from ml.video.probe import probe_video
from ml.video.windows import iter_windows, make_windows
from tests.ml.video.films import make_film, remux, set_edit_start

ID = "raw_videos/film"


def probe(path: Path | None) -> dict[str, Any]:
    frame = probe_video(path, ID)
    VIDEO_PROBE.check(frame)
    return frame.row(0, named=True)


def test_plain_film(tmp_path):
    row = probe(make_film(tmp_path / "a.mp4", 50))
    assert row == {
        "recording_id": ID,
        "video_path": str(tmp_path / "a.mp4"),
        "file_bytes": (tmp_path / "a.mp4").stat().st_size,
        "header_duration_s": 2.0,
        "decodable_s": 2.0,
        "rate_num": 25,
        "rate_den": 1,
        "width": 160,
        "height": 96,
        "rotation_deg": 0,
        "codec": "h264",
        "warning": None,
        "status": "ok",
        "reason": None,
    }


def test_no_video():
    assert probe(None)["status"] == "no_video"
    row = probe(Path("/nowhere/film.mp4"))
    assert row["status"] == "no_video"
    assert "No such file" in row["reason"]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("matrix.mp4", {"rotation": -90}),
        ("matrix.mkv", {"rotation": -90}),
        ("tag.mkv", {"tags": {"rotate": "90"}}),
        ("TAG.mkv", {"tags": {"ROTATE": "90"}}),
        ("both.mkv", {"rotation": -90, "tags": {"rotate": "90"}}),
    ],
)
def test_size_is_upright_for_matrix_and_tag(tmp_path, name, settings):
    row = probe(make_film(tmp_path / name, 5, width=96, height=160, stored_turns=1, **settings))
    assert (row["width"], row["height"], row["rotation_deg"]) == (96, 160, 90)


def test_matroska_without_stream_duration(tmp_path):
    row = probe(remux(make_film(tmp_path / "a.mp4", 75), tmp_path / "a.mkv"))
    assert (row["status"], row["decodable_s"], row["header_duration_s"], row["warning"]) == ("ok", 3.0, 3.0, None)


def test_live_matroska_without_any_duration(tmp_path):
    path = remux(make_film(tmp_path / "a.mp4", 75), tmp_path / "live.mkv", {"live": "1"})
    row = probe(path)
    assert (row["status"], row["decodable_s"], row["header_duration_s"]) == ("ok", 3.0, None)
    assert row["warning"] == "header gives no duration"
    assert [len(w.times_s) for w in iter_windows(path, make_windows(row["decodable_s"]), 2)] == [6]


def test_bare_stream_without_time_stamps_is_counted(tmp_path):
    row = probe(make_film(tmp_path / "a.h264", 75))
    assert (row["status"], row["decodable_s"]) == ("ok", 3.0)


def test_file_cut_before_its_index_among_good_ones(tmp_path):
    good = [make_film(tmp_path / f"{k}.mp4", 10) for k in range(9)]
    whole = make_film(tmp_path / "whole.mp4", 300).read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: min(20_000, len(whole) // 2)])
    rows = pl.concat([probe_video(path, path.stem) for path in [*good, tmp_path / "cut.mp4"]])
    assert rows["status"].to_list() == ["ok"] * 9 + ["bad_video"]
    assert "moov atom not found" in rows["reason"][-1]
    assert f"{rows['file_bytes'][-1]} bytes" in rows["reason"][-1]


@pytest.mark.parametrize("key_interval", [25, 1000])
def test_truncated_fast_start_file_has_the_length_that_decodes(tmp_path, key_interval):
    path = make_film(tmp_path / "a.mp4", 500, key_interval=key_interval, container_options={"movflags": "faststart"})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 6 // 10])
    row = probe(path)
    assert row["status"] == "ok"
    assert row["header_duration_s"] == 20.0
    assert 5.0 < row["decodable_s"] < 14.0
    assert row["warning"] == f"header claims 20.000 s, frames decode to {row['decodable_s']:.3f} s"
    windows = list(iter_windows(path, make_windows(row["decodable_s"]), 2))
    assert windows[-1].window.end_s == row["decodable_s"]
    assert all(len(window.times_s) == 20 for window in windows[:-1])
    assert len(windows[-1].times_s) > 10


@pytest.mark.parametrize("fill", [b"\x00", b"\xa5"])
def test_tail_that_was_never_written(tmp_path, fill):
    path = make_film(tmp_path / "a.mp4", 500, key_interval=25, container_options={"movflags": "faststart"})
    data = path.read_bytes()
    kept = len(data) * 7 // 10
    path.write_bytes(data[:kept] + fill * (len(data) - kept))
    row = probe(path)
    assert row["status"] == "ok"
    assert 10.0 < row["decodable_s"] < 17.0
    assert "header claims 20.000 s" in row["warning"]


def test_header_without_any_payload(tmp_path):
    path = make_film(tmp_path / "a.mp4", 300, container_options={"movflags": "faststart"})
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"mdat") + 4])
    row = probe(path)
    assert row["status"] == "bad_video"
    assert "no frame decodes" in row["reason"]


@pytest.mark.parametrize("content", [b"", b"not a video", bytes(range(256)) * 40])
def test_no_media_at_all(tmp_path, content):
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    row = probe(path)
    assert row["status"] == "bad_video"
    assert f"({len(content)} bytes)" in row["reason"]


def test_folder_is_not_a_video(tmp_path):
    assert probe(tmp_path)["status"] == "bad_video"


def test_zero_is_the_first_displayed_frame(tmp_path):
    edited = set_edit_start(make_film(tmp_path / "edited.mp4", 100), Fraction(2, 25))
    assert probe(edited)["decodable_s"] == pytest.approx(3.92)
    late = probe(make_film(tmp_path / "late.mkv", 100, start_s=1))
    assert (late["decodable_s"], late["header_duration_s"], late["warning"]) == (4.0, 4.0, None)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts"])
def test_rate_stays_rational(tmp_path, name):
    row = probe(make_film(tmp_path / name, 300, Fraction(30000, 1001)))
    assert (row["rate_num"], row["rate_den"]) == (30000, 1001)
    assert row["decodable_s"] == pytest.approx(300 * 1001 / 30000, abs=1e-3)


@pytest.mark.parametrize(("codec", "name"), [("libsvtav1", "av1"), ("libx265", "hevc"), ("libvpx-vp9", "vp9")])
def test_codecs_that_this_build_decodes(tmp_path, codec, name):
    row = probe(make_film(tmp_path / "a.mp4", 25, codec=codec))
    assert (row["status"], row["codec"], row["decodable_s"]) == ("ok", name, 1.0)


def test_codec_without_decoder_is_named(tmp_path):
    """EVC has no decoder in the wheel: the same path that an AV1 file takes on a build without one."""
    path = make_film(tmp_path / "a.mp4", 10)
    path.write_bytes(path.read_bytes().replace(b"avc1", b"evc1"))
    row = probe(path)
    assert row["status"] == "bad_video"
    assert "no decoder for codec evc" in row["reason"]


def test_opens_fine_but_delivers_no_frame(tmp_path):
    path = make_film(tmp_path / "a.mp4", 25, codec="libsvtav1", container_options={"movflags": "faststart"})
    data = path.read_bytes()
    start = data.index(b"mdat") + 4
    path.write_bytes(data[:start] + b"\xff" * (len(data) - start))
    row = probe(path)
    assert row["status"] == "bad_video"
    assert "no frame decodes (codec av1)" in row["reason"]


def test_film_of_one_frame(tmp_path):
    row = probe(make_film(tmp_path / "a.mp4", 1))
    assert (row["status"], row["decodable_s"]) == ("ok", 0.04)
