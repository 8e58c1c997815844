import json

import av
import numpy as np
import pytest

from ml.errors import InputError
from ml.sources.ego4d_goalstep import read_ego4d_goalstep
from ml.sources.joined_videos import join_videos
from ml.sources.raw_folder import list_raw_videos
from ml.sources.raw_videos import read_raw_videos

RATE = 25


def write_video(path, grey, frames):
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        for _ in range(frames):
            picture = av.VideoFrame.from_ndarray(np.full((64, 64, 3), grey, np.uint8), format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    return path


def shades(path, times_s):
    """Mean grey of the frame shown at each time."""
    with av.open(str(path)) as container:
        frames = [(frame.time, frame.to_ndarray(format="gray").mean()) for frame in container.decode(video=0)]
    return len(frames), [next(grey for t, grey in reversed(frames) if t <= time + 1e-6) for time in times_s]


def test_times_in_the_second_file_are_offset_by_the_length_of_the_first(tmp_path):
    first = write_video(tmp_path / "été 1.mp4", 40, 50)
    second = write_video(tmp_path / "b's.mp4", 200, 25)
    playlist = join_videos([first, second], [2.0, 1.0], tmp_path / "joined")
    count, seen = shades(playlist, [0.0, 1.96, 2.0, 2.96])
    assert count == 75
    assert seen == pytest.approx([40, 40, 200, 200], abs=6)
    assert join_videos([first, second], [2.0, 1.0], tmp_path / "joined") == playlist
    assert join_videos([second, first], [1.0, 2.0], tmp_path / "joined") != playlist


def test_the_playlist_can_be_sought(tmp_path):
    files = [write_video(tmp_path / f"{n}.mp4", 40 + 100 * n, 25) for n in range(2)]
    with av.open(str(join_videos(files, [1.0, 1.0], tmp_path / "joined"))) as container:
        container.seek(int(1.5 * av.time_base))
        assert next(container.decode(video=0)).time == pytest.approx(1.0)


def test_an_absent_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        join_videos([tmp_path / "nowhere.mp4"], [1.0], tmp_path)


def test_chapters_play_as_one_recording(tmp_path):
    folder = tmp_path / "raw"
    write_video(folder / "GH010155.mp4", 40, 50)
    write_video(folder / "GH020155.mp4", 200, 25)
    lengths = {"GH010155.mp4": 2.0, "GH020155.mp4": 1.0}
    source = read_raw_videos(
        list_raw_videos(folder).videos, source="r", joined=tmp_path / "joined", length_of=lambda path: lengths[path.name]
    )
    row = source.recordings.row(0, named=True)
    assert (row["recording_id"], row["annotated_duration_s"]) == ("r/GH0155.mp4", 3.0)
    assert [member["offset_s"] for member in row["members"]] == [0.0, 2.0]
    assert shades(row["video_path"], [2.5])[1] == pytest.approx([200], abs=6)


def test_members_of_a_goalstep_group_play_as_one(tmp_path):
    for uid, grey in (("a", 40), ("b", 200)):
        write_video(tmp_path / "videos" / f"{uid}.mp4", grey, 25)
    video = {"video_uid": "grp-a", "start_time": 0.0, "end_time": 2.0, "goal_category": "COOKING:X", "segments": []}
    (tmp_path / "goalstep_val.json").write_text(json.dumps({"split": "val", "videos": [video]}))
    (tmp_path / "goalstep_video_groups.tsv").write_text("university\tvideo_group\nx\t['a', 'b']\n")
    row = read_ego4d_goalstep(
        tmp_path, tmp_path / "videos", source="g", durations_s={"a": 1.0, "b": 1.0}, joined=tmp_path / "joined"
    ).recordings.row(0, named=True)
    assert row["status"] == "ok"
    assert shades(row["video_path"], [0.5, 1.5])[1] == pytest.approx([40, 200], abs=6)
