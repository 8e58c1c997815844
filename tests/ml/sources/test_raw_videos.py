import json
import os
import shutil
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.sources.raw_folder import list_raw_videos
from ml.sources.raw_videos import Cursor, read_raw_videos, scan_folder

WEEK_S = 7 * 24 * 3600


class Sensor:
    """Calls ``scan_folder`` tick by tick, the cursor going through its text form as it does in a sensor."""

    def __init__(self, tmp_path, **keywords):
        self.folder = tmp_path / "raw"
        self.folder.mkdir(exist_ok=True)
        self.ledger = tmp_path / "state" / "ledger.sqlite"
        self.text = None
        self.keywords = {"stable_ticks": 2, "budget_s": 60.0} | keywords

    def tick(self, times=1):
        """Native id and version of what the last of ``times`` ticks handed out."""
        for _ in range(times):
            self.result = scan_folder(self.folder, Cursor.from_text(self.text), self.ledger, **self.keywords)
            self.text = self.result.cursor.to_text()
        return [(arrival.video.native_id, arrival.version) for arrival in self.result.ready]

    def ids(self, times=1):
        return [native_id for native_id, _ in self.tick(times)]

    def drop(self, name, content=b"video"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path


@pytest.fixture
def sensor(tmp_path):
    return Sensor(tmp_path)


def test_a_growing_file_waits_until_it_rests(sensor):
    path = sensor.drop("a.mp4", b"x")
    for size in range(2, 8):
        assert sensor.tick() == []
        path.write_bytes(b"x" * size)
    assert sensor.ids() == []
    assert sensor.result.waiting == 1
    assert sensor.ids() == []
    assert sensor.ids() == ["a.mp4"]
    assert sensor.ids(5) == []


def test_an_empty_file_never_arrives(sensor):
    sensor.drop("a.mp4", b"")
    assert sensor.ids(6) == []


def test_temporary_and_companion_files_are_left_alone(sensor):
    for name in (
        "a.mp4.part", "b.tmp", "c.mp4.crdownload", "~d.mp4", "e.mp4~", ".f.mp4", "._g.mp4", "h.part.mp4", "i.tmp.mp4",
        "GL010155.LRV", "GH010155.THM", "a.srt", "a.json", ".trash/j.mp4", "notes.txt", "k.steps.json",
    ):  # fmt: skip
        sensor.drop(name)
    sensor.drop("partial dinner.mp4")
    sensor.drop("my.party.MOV")
    assert sorted(sensor.ids(3)) == ["my.party.MOV", "partial dinner.mp4"]


def test_a_download_that_is_renamed_arrives_once(sensor):
    part = sensor.drop("a.mp4.part", b"x" * 10)
    sensor.tick(3)
    part.rename(sensor.folder / "a.mp4")
    assert sensor.ids(2) == []
    assert sensor.ids() == ["a.mp4"]
    assert sensor.ids(5) == []


def test_a_replaced_file_is_a_new_version(sensor):
    path = sensor.drop("a.mp4", b"x" * 10)
    ((_, first),) = sensor.tick(3)
    path.write_bytes(b"y" * 8)
    assert sensor.tick(2) == []
    ((native_id, second),) = sensor.tick()
    assert native_id == "a.mp4"
    assert second != first


def test_one_name_in_two_folders_is_two_recordings(sensor):
    sensor.drop("kitchen1/a.mp4")
    sensor.drop("kitchen2/a.mp4")
    arrived = sensor.tick(3)
    assert [native_id for native_id, _ in arrived] == ["kitchen1/a.mp4", "kitchen2/a.mp4"]


def test_a_file_with_an_old_time_arrives(sensor):
    sensor.drop("new.mp4")
    sensor.tick(4)
    path = sensor.drop("old.mp4")
    last_week = time.time() - WEEK_S
    os.utime(path, (last_week, last_week))
    assert sensor.ids(3) == ["old.mp4"]


def test_two_files_of_one_time_both_arrive(sensor):
    for name in ("a.mp4", "b.mp4"):
        os.utime(sensor.drop(name), (1_000_000, 1_000_000))
    assert sensor.ids(3) == ["a.mp4", "b.mp4"]
    os.utime(sensor.drop("c.mp4"), (1_000_000, 1_000_000))
    assert sensor.ids(3) == ["c.mp4"]


def test_composed_and_decomposed_names_are_one(sensor):
    composed, decomposed = (unicodedata.normalize(form, "crème_brûlée 01.mp4") for form in ("NFC", "NFD"))
    assert composed != decomposed
    path = sensor.drop(decomposed)
    assert sensor.ids(3) == [composed]
    assert os.fsencode(sensor.result.ready[0].video.videos[0]) == os.fsencode(path)
    assert sensor.result.ready[0].video.videos[0].read_bytes() == b"video"
    sensor.drop(composed, b"other")
    assert sensor.ids(3) == [composed]
    assert sensor.result.recordings == 1
    assert len(sensor.result.refused) == 1


def test_a_name_that_is_no_text_is_refused(sensor):
    with open(os.fsencode(sensor.folder) + b"/caf\xe9.mp4", "wb") as file:
        file.write(b"video")
    assert sensor.ids(4) == []
    assert sensor.result.refused == (("caf\\xe9.mp4", "the file name is not UTF-8: rename it"),)


def test_chapters_are_grouped_and_ordered(sensor):
    for name in ("GH010155", "GH010156", "GH010165", "GH020155", "GH020165", "GOPR0042", "GP010042", "GP020042"):
        sensor.drop(f"{name}.MP4")
    found = {video.native_id: [path.stem for path in video.videos] for video in list_raw_videos(sensor.folder).videos}
    assert found == {
        "GH0155.MP4": ["GH010155", "GH020155"],
        "GH0156.MP4": ["GH010156"],
        "GH0165.MP4": ["GH010165", "GH020165"],
        "GP0042.MP4": ["GOPR0042", "GP010042", "GP020042"],
    }


def test_chapters_arrive_together_when_all_are_complete(sensor):
    sensor.drop("GH010155.MP4")
    sensor.tick()
    growing = sensor.drop("GH020155.MP4", b"x")
    assert sensor.ids(2) == []
    growing.write_bytes(b"xy")
    assert sensor.ids(2) == []
    assert sensor.ids() == ["GH0155.MP4"]
    first = sensor.result.ready[0].version
    sensor.drop("GH030155.MP4")
    ((native_id, version),) = sensor.tick(3)
    assert native_id == "GH0155.MP4"
    assert version != first


def test_a_recipe_that_comes_later_makes_a_new_version(sensor):
    sensor.drop("a.mp4")
    ((_, first),) = sensor.tick(3)
    sensor.drop("a.steps.json", b"{}")
    ((native_id, second),) = sensor.tick(3)
    assert native_id == "a.mp4"
    assert second != first


def test_what_a_dead_tick_handed_out_is_handed_out_again(sensor):
    sensor.drop("a.mp4")
    sensor.tick(2)
    before = sensor.text
    arrived = sensor.tick()
    assert arrived
    sensor.text = before  # the tick died before its cursor was stored
    assert sensor.tick() == arrived
    assert sensor.tick() == []


def test_a_lost_ledger_hands_out_the_same_versions(sensor):
    sensor.drop("a.mp4")
    arrived = sensor.tick(3)
    sensor.ledger.unlink()
    assert sensor.tick(3) == arrived


def test_chunks(tmp_path):
    sensor = Sensor(tmp_path, chunk=4)
    for number in range(10):
        sensor.drop(f"{number}.mp4")
    assert sensor.ids(3) == ["0.mp4", "1.mp4", "2.mp4", "3.mp4"]
    assert sensor.ids() == ["4.mp4", "5.mp4", "6.mp4", "7.mp4"]
    assert sensor.ids() == ["8.mp4", "9.mp4"]
    assert sensor.ids() == []


def test_a_large_folder_with_slow_looks_progresses_within_its_budget(tmp_path):
    """A clock that advances by what looks of 25 ms would take: 4,000 of them are 100 s, the budget of a tick 20 s."""
    now_s = [0.0]

    def clock():
        now_s[0] += 0.025
        return now_s[0]

    sensor = Sensor(tmp_path, budget_s=20.0, stable_ticks=1, chunk=100_000, clock=clock)
    source = sensor.drop("kitchen0/0.mp4")
    for number in range(1, 4000):
        path = sensor.folder / f"kitchen{number % 7}" / f"{number}.mp4"
        path.parent.mkdir(exist_ok=True)
        os.link(source, path)
    arrived = set()
    for _ in range(11):
        arrived.update(sensor.ids())
        assert sensor.result.looked_at <= 801
        assert len(sensor.result.cursor.to_text()) < 200
    assert len(arrived) == 4000
    assert sensor.ids(6) == []
    assert sensor.ledger.stat().st_size < 4000 * 200


def test_one_look_at_least_even_without_budget(tmp_path):
    sensor = Sensor(tmp_path, budget_s=0.0, stable_ticks=1)
    for name in "abc":
        sensor.drop(f"{name}.mp4")
    arrived = [native_id for _ in range(6) for native_id in sensor.ids()]
    assert arrived == ["a.mp4", "b.mp4", "c.mp4"]


def test_the_ledger_forgets_what_went_away_unfinished(sensor):
    path = sensor.drop("a.mp4")
    sensor.tick()
    path.unlink()
    sensor.tick()
    sensor.drop("a.mp4")
    assert sensor.ids(2) == []
    assert sensor.ids() == ["a.mp4"]


def test_cursor():
    assert Cursor.from_text(None) == Cursor()
    cursor = Cursor(3, "kitchen/crème.mp4")
    assert Cursor.from_text(cursor.to_text()) == cursor
    for text in ("", "{}", "[1]", '["a", "b"]'):
        with pytest.raises(InputError, match="no cursor"):
            Cursor.from_text(text)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        scan_folder(tmp_path / "nowhere", Cursor(), tmp_path / "ledger")


ACTIONS = st.lists(st.tuples(st.sampled_from(["write", "remove", "tick", "tick"]), st.sampled_from("abc"), st.integers(1, 5)), max_size=25)


@settings(max_examples=40, deadline=None)
@given(ACTIONS)
def test_every_resting_version_arrives_exactly_once(tmp_path_factory, actions):
    sensor = Sensor(tmp_path_factory.mktemp("scan"))
    arrived = []
    for action, name, size in actions:
        path = sensor.folder / f"{name}.mp4"
        if action == "write":
            path.write_bytes(b"x" * size)
        elif action == "remove":
            path.unlink(missing_ok=True)
        else:
            arrived += sensor.tick()
    for _ in range(3):
        arrived += sensor.tick()
    last = dict(arrived)
    assert set(last) >= {path.name for path in sensor.folder.iterdir()}
    assert len(arrived) == len(set(arrived))
    shutil.rmtree(sensor.folder)


def sidecar(**values):
    step = {"instruction": "Chop the onion", "start_s": 3.5, "end_s": 41}
    return json.dumps(
        {"activity": "Tomato soup", "licence": "own", "steps": [step, step | {"start_s": 50.0, "end_s": 60.0}]} | values
    ).encode()


def test_a_sidecar_gives_the_steps(sensor):
    sensor.drop("k/a.mp4")
    sensor.drop("k/a.steps.json", sidecar())
    source = read_raw_videos(list_raw_videos(sensor.folder).videos, source="raw_videos")
    assert source.recordings.select("recording_id", "activity", "licence", "status", "video_path").row(0) == (
        "raw_videos/k/a.mp4",
        "Tomato soup",
        "own",
        "ok",
        str(sensor.folder / "k" / "a.mp4"),
    )
    assert source.steps.select("start_s", "end_s", "occurrence", "is_clean").rows() == [(3.5, 41.0, 0, True), (50.0, 60.0, 1, True)]


def test_a_sidecar_is_found_in_the_other_unicode_form(sensor):
    composed, decomposed = (unicodedata.normalize(form, "crème") for form in ("NFC", "NFD"))
    sensor.drop(f"{composed}.mp4")
    sensor.drop(f"{decomposed}.steps.json", sidecar())
    assert read_raw_videos(list_raw_videos(sensor.folder).videos, source="r").steps.height == 2


def test_without_a_recipe_the_recording_waits(sensor):
    sensor.drop("k/a.mp4")
    sensor.drop("b.mp4")
    sensor.drop("b.steps.json", sidecar(steps=[]))
    source = read_raw_videos(list_raw_videos(sensor.folder).videos, source="r")
    assert source.recordings.select("native_id", "status", "reason").rows() == [
        ("b.mp4", "waiting", "no recipe: b.steps.json lists no steps"),
        ("k/a.mp4", "waiting", "no recipe: put a.steps.json beside the video"),
    ]
    assert source.steps.is_empty()


def test_a_bad_sidecar_is_told_with_its_place(sensor):
    sensor.drop("a.mp4")
    sensor.drop("a.steps.json", sidecar(steps=[{"instruction": "Chop", "start_s": 9, "end_s": 3}]))
    with pytest.raises(InputError, match=r"a\.steps\.json, record sidecar, steps\[0\], field end_s: 9\.0 to 3\.0 s"):
        read_raw_videos(list_raw_videos(sensor.folder).videos, source="r")
    sensor.drop("a.steps.json", sidecar(steps=[{"instruction": "Chop", "start_s": 9, "end_s": 1e300}]))
    with pytest.raises(InputError, match=r"field end_s: 1e\+300 is no time in seconds on a recording"):
        read_raw_videos(list_raw_videos(sensor.folder).videos, source="r")


def test_chapters_without_lengths_are_skipped_with_a_reason(sensor):
    sensor.drop("GH010155.MP4")
    sensor.drop("GH020155.MP4")
    row = read_raw_videos(list_raw_videos(sensor.folder).videos, source="r").recordings.row(0, named=True)
    assert (row["status"], row["reason"], row["video_path"]) == ("skipped", "the lengths of 2 of 2 chapters are unknown", None)
    assert [member["video_uid"] for member in row["members"]] == ["GH010155.MP4", "GH020155.MP4"]
