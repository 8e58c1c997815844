"""A raw video through the real definitions: the sensor sees it, its run takes it in, and without a recipe steps are proposed later."""

import json
import os
import time
from pathlib import Path

import dagster as dg
import pytest

from assets.fingerprints import Fingerprints
from dagster_project.definitions import build_definitions
from ml.settings import Settings, load_settings
from ml.tables.store import TableStore, decode_key, fingerprint
from tests.ml.counterfactuals.conftest import make_narrations
from tests.ml.video.films import make_film

RICE, PLAIN = "raw_videos/rice.mp4", "raw_videos/plain.mp4"


class Platform:
    """Settings, definitions and instance over one empty data folder without the sample kitchen."""

    def __init__(self, settings: Settings, instance: dg.DagsterInstance) -> None:
        self.settings, self.instance = settings, instance
        self.definitions = build_definitions(settings)
        self.store = TableStore(settings.data / "tables")
        self.folder = settings.path(settings.raw_videos.folder)
        self.folder.mkdir(parents=True)
        self.cursor: str | None = None

    def tick(self) -> list[dg.RunRequest]:
        """One tick of the sensor as the daemon does it: partitions added, cursor kept."""
        context = dg.build_sensor_context(instance=self.instance, cursor=self.cursor, definitions=self.definitions)
        result = self.definitions.get_repository_def().get_sensor_def("raw_videos_arrived")(context)
        if not isinstance(result, dg.SensorResult):
            self.cursor = context.cursor
            return []
        self.cursor = result.cursor
        for request in result.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
        return list(result.run_requests or [])

    def run(self, job: str, key: str, last: str | None = None) -> None:
        names = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
        tags = {"dagster/partition": key} if last is None else dict(zip(names, (key, last), strict=True))
        assert self.definitions.resolve_job_def(job).execute_in_process(instance=self.instance, tags=tags).success


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INTERJECT_DATA", str(tmp_path))
    monkeypatch.setenv("INTERJECT_SAMPLE_KITCHEN", "false")
    with dg.DagsterInstance.ephemeral() as instance:
        yield Platform(load_settings(), instance)


def test_from_the_folder_to_proposed_steps_and_pairs(platform):
    make_film(platform.folder / "rice.mp4")
    make_film(platform.folder / "plain.mp4", n_frames=500)
    steps = [{"instruction": "Cook the rice for 60 seconds", "start_s": 0.0, "end_s": 1.5}]
    (platform.folder / "rice.steps.json").write_text(json.dumps({"activity": "Rice", "steps": steps}))

    requests = [request for _ in range(4) for request in platform.tick()]
    keys = [str(request.partition_key) for request in requests]
    assert sorted(decode_key(key) for key in keys) == [PLAIN, RICE]
    assert sorted(platform.instance.get_dynamic_partitions("recordings")) == sorted(keys)
    for key in keys:
        platform.run("raw_video_job", key)

    taken_in = platform.store.scan("recordings").sort("recording_id").collect()
    assert taken_in.select("recording_id", "status", "video_status", "duration_s").rows() == [
        (PLAIN, "waiting", "ok", 20.0),
        (RICE, "ok", "ok", 2.0),
    ]
    assert taken_in["reason"][0] == "no recipe: put plain.steps.json beside the video, or narrate it and materialize proposed_steps"
    assert platform.store.read("steps", PLAIN).is_empty()
    assert platform.store.read("steps", RICE)["instruction"].to_list() == ["Cook the rice for 60 seconds"]

    told = make_narrations(*["The person slices the onion."] * 2, "The person fries the onion.", recording_id=PLAIN)
    platform.store.write("narrations", told, PLAIN, made_from=fingerprint("told"))
    order = platform.instance.get_dynamic_partitions("recordings")
    platform.run("proposed_steps_job", order[0], order[-1])  # a backfill of several partitions is one run over a range

    proposed = platform.store.read("steps", PLAIN)
    assert proposed.select("instruction", "start_s", "end_s", "is_proposed").rows() == [
        ("Slice the onion.", 0.0, 12.5, True),
        ("Fry the onion.", 12.5, 20.0, True),
    ]
    assert not platform.store.read("steps", RICE)["is_proposed"].any()
    assert platform.store.read("proposed_steps", RICE).is_empty()

    platform.run("counterfactuals_job", order[0], order[-1])
    found = {one: set(platform.store.read("attributes", one)["mistake_type"]) for one in (PLAIN, RICE)}
    assert found[PLAIN] == {"preparation", "technique"}
    assert found[RICE] == {"measurement", "preparation", "technique", "temperature", "timing"}


def test_a_recipe_that_arrives_later_takes_the_place_of_proposals(platform):
    make_film(platform.folder / "plain.mp4", n_frames=500)
    (first,) = [str(request.partition_key) for _ in range(4) for request in platform.tick()]
    platform.run("raw_video_job", first)
    told = make_narrations(*["The person slices the onion."] * 3, recording_id=PLAIN)
    platform.store.write("narrations", told, PLAIN, made_from=fingerprint("told"))
    platform.run("proposed_steps_job", first)
    assert platform.store.read("steps", PLAIN)["is_proposed"].all()

    steps = [{"instruction": "Chop the onion", "start_s": 1.0, "end_s": 9.0}]
    (platform.folder / "plain.steps.json").write_text(json.dumps({"steps": steps}))
    (again,) = [str(request.partition_key) for _ in range(4) for request in platform.tick()]
    assert again == first
    platform.run("raw_video_job", again)
    placed = platform.store.read("steps", PLAIN)
    assert placed.select("instruction", "is_proposed").rows() == [("Chop the onion", False)]


def test_switched_off_the_recording_waits_for_its_recipe(platform, monkeypatch):
    monkeypatch.setenv("INTERJECT_RAW_VIDEOS__PROPOSE_STEPS", "false")
    make_film(platform.folder / "plain.mp4", n_frames=500)
    (key,) = [str(request.partition_key) for _ in range(4) for request in platform.tick()]
    platform.run("raw_video_job", key)
    assert platform.store.read("recordings", PLAIN)["reason"].to_list() == ["no recipe: put plain.steps.json beside the video"]
    told = make_narrations(*["The person slices the onion."] * 3, recording_id=PLAIN)
    platform.store.write("narrations", told, PLAIN, made_from=fingerprint("told"))
    platform.run("proposed_steps_job", key)
    assert platform.store.read("proposed_steps", PLAIN).is_empty()
    assert platform.store.read("steps", PLAIN).is_empty()


def test_a_file_cut_short_stops_nothing_and_nothing_is_asked_about_it(platform):
    """Field case 5."""
    for number in range(3):
        make_film(platform.folder / f"good{number}.mp4")
    whole = make_film(platform.folder / "cut.mp4").read_bytes()
    (platform.folder / "cut.mp4").write_bytes(whole[: len(whole) // 3])
    keys = [str(request.partition_key) for _ in range(4) for request in platform.tick()]
    order = platform.instance.get_dynamic_partitions("recordings")
    assert len(keys) == 4
    platform.run("raw_video_job", order[0], order[-1])
    platform.run("proposed_steps_job", order[0], order[-1])
    probed = platform.store.scan("video_probe").sort("recording_id").collect()
    assert probed["status"].to_list() == ["bad_video", "ok", "ok", "ok"]
    assert "moov atom not found" in probed["reason"][0]
    assert f"({len(whole) // 3} bytes)" in probed["reason"][0]
    proposals = platform.store.read("proposed_steps", "raw_videos/cut.mp4")
    assert proposals.select("status", "reason").rows() == [("bad_video", "nothing to propose from: the video is bad_video")]


def test_a_replaced_file_makes_what_was_derived_stale(platform):
    """Field case 9."""
    video = make_film(platform.folder / "plain.mp4", n_frames=250)
    (key,) = [str(request.partition_key) for _ in range(4) for request in platform.tick()]
    platform.run("raw_video_job", key)
    told = make_narrations("The person slices the onion.", recording_id=PLAIN)
    prints = Fingerprints(platform.store, platform.settings)
    platform.store.write("narrations", told, PLAIN, made_from=prints.narrations(PLAIN))
    assert prints.is_current("narrations", PLAIN)

    make_film(video, n_frames=200)
    os.utime(video, (time.time() + 60, time.time() + 60))
    (again,) = [str(request.partition_key) for _ in range(4) for request in platform.tick()]
    assert again == key
    platform.run("raw_video_job", again)
    assert platform.store.read("recordings", PLAIN)["duration_s"].to_list() == [8.0]
    assert not Fingerprints(platform.store, platform.settings).is_current("narrations", PLAIN)
