"""The partition runner: skip what is current, write as it goes, keep failures apart, survive a kill (field cases 77, 78, 84)."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import dagster as dg
import pytest

from assets.partitioned import materialize_partitions
from ml.errors import InputError
from ml.tables.catalogue import TABLES
from ml.tables.store import TableStore, decode_key, encode_key
from resources.tables import Tables

PARTITIONS = dg.DynamicPartitionsDefinition(name="recordings")
IDS = [f"kitchen/{n}" for n in range(5)]


def row(identifier):
    return TABLES["video_probe"].rows([{"recording_id": identifier, "status": "ok"}])


def asset_of(make, made_from=lambda identifier: "v1", chunk=2, reads_files=False):
    @dg.asset(partitions_def=PARTITIONS, backfill_policy=dg.BackfillPolicy.single_run())
    def video_probe(context: dg.AssetExecutionContext, tables: Tables) -> dg.MaterializeResult:
        return materialize_partitions(context, tables, "video_probe", made_from=made_from, make=make, chunk=chunk, reads_files=reads_files)

    return video_probe


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        made.add_dynamic_partitions("recordings", [encode_key(i) for i in IDS])
        yield made


def run(asset, instance, data, first=0, last=4):
    keys = [encode_key(i) for i in IDS]
    job = dg.Definitions(
        assets=[asset], jobs=[dg.define_asset_job("all", [asset])], resources={"tables": Tables(data=str(data))}
    ).resolve_job_def("all")
    tags = {"dagster/asset_partition_range_start": keys[first], "dagster/asset_partition_range_end": keys[last]}
    return job.execute_in_process(instance=instance, tags=tags, raise_on_error=False)


def test_a_second_run_makes_nothing(tmp_path, instance):
    calls = []

    def make(ids):
        calls.extend(ids)
        return {i: row(i) for i in ids}

    assert run(asset_of(make), instance, tmp_path).success
    assert run(asset_of(make), instance, tmp_path).success
    assert calls == IDS


def test_a_changed_fingerprint_remakes_only_that_partition(tmp_path, instance):
    calls = []

    def make(ids):
        calls.extend(ids)
        return {i: row(i) for i in ids}

    run(asset_of(make), instance, tmp_path)
    calls.clear()
    run(asset_of(make, made_from=lambda i: "v2" if i == IDS[3] else "v1"), instance, tmp_path)
    assert calls == [IDS[3]]


def test_one_failure_leaves_the_others_materialized_and_stays_failed(tmp_path, instance):
    def make(ids):
        if IDS[2] in ids:
            raise InputError("bad", file="x.json", record=IDS[2])
        return {i: row(i) for i in ids}

    result = run(asset_of(make), instance, tmp_path)
    assert not result.success
    done = instance.get_materialized_partitions(dg.AssetKey("video_probe"))
    assert done == {encode_key(i) for i in IDS if i != IDS[2]}
    assert TableStore(tmp_path / "tables").partitions("video_probe") == [i for i in IDS if i != IDS[2]]
    failure = next(e for e in result.all_events if e.is_step_failure)
    assert "1 of 5 recordings failed, first kitchen/2" in failure.step_failure_data.user_failure_data.description


def test_each_partition_shows_its_own_rows(tmp_path, instance):
    def told():
        return {
            decode_key(record.partition_key): record.asset_materialization.metadata
            for record in instance.fetch_materializations(dg.AssetKey("video_probe"), limit=len(IDS)).records
        }

    asset = asset_of(lambda ids: {i: TABLES["video_probe"].empty() if i == IDS[1] else row(i) for i in ids})
    for made, current in ((5, 0), (0, 5)):
        assert run(asset, instance, tmp_path).success
        shown = told()
        assert {i: shown[i]["dagster/partition_row_count"].value for i in IDS} == {i: int(i != IDS[1]) for i in IDS}
        assert all(i in shown[i]["preview"].value and shown[i]["rows by status"].value == {"ok": 1} for i in IDS if i != IDS[1])
        assert (shown[IDS[0]]["made"].value, shown[IDS[0]]["already current"].value) == (made, current)


def test_an_empty_frame_is_a_result(tmp_path, instance):
    assert run(asset_of(lambda ids: {i: TABLES["video_probe"].empty() for i in ids}), instance, tmp_path).success
    assert TableStore(tmp_path / "tables").scan("video_probe").collect().schema == TABLES["video_probe"].polars_schema


def test_a_deleted_partition_does_not_break_later_runs(tmp_path, instance):
    asset = asset_of(lambda ids: {i: row(i) for i in ids})
    assert run(asset, instance, tmp_path).success
    instance.delete_dynamic_partition("recordings", encode_key(IDS[2]))
    assert run(asset, instance, tmp_path).success


KILLED = """
    import dagster as dg, sys, time
    from tests.assets.test_partitioned import asset_of, row, run, IDS
    from ml.tables.store import encode_key
    from pathlib import Path
    data, log = Path(sys.argv[1]), Path(sys.argv[2])

    def make(ids):
        for i in ids:
            with log.open("a") as file:
                file.write(i + "\\n")
            time.sleep(float(sys.argv[3]))
        return {i: row(i) for i in ids}

    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("recordings", [encode_key(i) for i in IDS])
        assert run(asset_of(make, chunk=1), instance, data).success
"""


def test_sigkill_in_mid_run_then_rerun_makes_nothing_twice(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    log, data = tmp_path / "log", tmp_path / "data"
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    environment = os.environ | {"PYTHONPATH": root}
    first = subprocess.Popen([sys.executable, str(script), str(data), str(log), "0.3"], env=environment)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (log.exists() and len(log.read_text().split()) >= 3):
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    finished = TableStore(data / "tables").partitions("video_probe")
    assert 0 < len(finished) < len(IDS)
    begun = len(log.read_text().split())
    subprocess.run([sys.executable, str(script), str(data), str(log), "0"], env=environment, check=True)
    assert log.read_text().split()[begun:] == [i for i in IDS if i not in finished]
    whole = TableStore(data / "tables").scan("video_probe").collect()
    assert whole.sort("recording_id")["recording_id"].to_list() == IDS


def test_a_recording_whose_file_changed_while_it_was_read_is_not_written(tmp_path, instance):
    files = dict.fromkeys(IDS, "as probed")

    def make(ids):
        files["kitchen/3"] = "replaced"
        return {i: row(i) for i in ids}

    def made_from(identifier):
        return files[identifier]

    result = run(asset_of(make, made_from, reads_files=True), instance, tmp_path)
    assert not result.success
    assert "kitchen/3: its video changed while it was read" in str(result.all_events)
    store = TableStore(tmp_path / "tables")
    assert [store.has("video_probe", i) for i in IDS] == [True, True, True, False, True]
    assert run(asset_of(make, made_from, reads_files=True), instance, tmp_path).success
