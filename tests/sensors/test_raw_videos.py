"""The raw video sensor through Dagster: nothing while a file grows, then one run per version (field cases 8, 9, 74)."""

import os
import time

import dagster as dg
import pytest

from ml.settings import load_settings
from ml.tables.store import decode_key
from sensors.raw_videos import raw_videos_sensor


@dg.asset(partitions_def=dg.DynamicPartitionsDefinition(name="recordings"))
def taken_in() -> None: ...


@pytest.fixture
def ticks(tmp_path):
    settings = load_settings(data=tmp_path)
    sensor = raw_videos_sensor(settings, "raw_video_job")
    definitions = dg.Definitions(assets=[taken_in], sensors=[sensor], jobs=[dg.define_asset_job("raw_video_job", [taken_in])])
    folder = tmp_path / "raw_videos"
    folder.mkdir()
    cursor = None

    with dg.DagsterInstance.ephemeral() as instance:

        def tick():
            nonlocal cursor
            context = dg.build_sensor_context(instance=instance, cursor=cursor, definitions=definitions)
            result = sensor(context)
            if isinstance(result, dg.SkipReason):
                cursor = context.cursor
                return []
            cursor = result.cursor
            for request in result.dynamic_partitions_requests or []:
                instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
            return [(decode_key(request.partition_key), request.run_key) for request in result.run_requests]

        yield folder, tick, instance


def test_a_growing_file_waits_and_a_whole_one_runs_once(ticks):
    folder, tick, instance = ticks
    video = folder / "soup.mp4"
    for size in (10, 20, 30):
        video.write_bytes(b"x" * size)
        assert tick() == []
    later = [tick() for _ in range(5)]
    found = [request for requests in later for request in requests]
    assert [identifier for identifier, _ in found] == ["raw_videos/soup.mp4"]
    assert [decode_key(k) for k in instance.get_dynamic_partitions("recordings")] == ["raw_videos/soup.mp4"]


def test_temporary_names_and_companions_are_ignored(ticks):
    folder, tick, _ = ticks
    for name in ("a.mp4.part", ".b.mp4", "c.THM", "d.srt"):
        (folder / name).write_bytes(b"xxxx")
    assert [tick() for _ in range(5)] == [[]] * 5


def test_a_replaced_file_is_a_new_version_of_the_same_partition(ticks):
    folder, tick, _ = ticks
    video = folder / "soup.mp4"
    video.write_bytes(b"x" * 10)
    first = [request for _ in range(5) for request in tick()]
    video.write_bytes(b"y" * 8)
    os.utime(video, (time.time() + 60, time.time() + 60))
    second = [request for _ in range(5) for request in tick()]
    assert [i for i, _ in first] == [i for i, _ in second] == ["raw_videos/soup.mp4"]
    assert first[0][1] != second[0][1]


def test_an_old_modification_time_and_equal_names_in_two_folders(ticks):
    folder, tick, _ = ticks
    for kitchen in ("kitchen1", "kitchen2"):
        (folder / kitchen).mkdir()
        path = folder / kitchen / "a.mp4"
        path.write_bytes(b"x" * 10)
        os.utime(path, (time.time() - 7 * 86400,) * 2)
    found = [request for _ in range(5) for request in tick()]
    assert sorted(i for i, _ in found) == ["raw_videos/kitchen1/a.mp4", "raw_videos/kitchen2/a.mp4"]
