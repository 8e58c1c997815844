"""What a run is at is seen from the side: stages by their own progress, other steps by name and number."""

import time

import dagster as dg

from dagster_project.runs import PROCESS_TAG, ProgressWatch, this_process
from ml.progress import Progress


def test_steps_and_stages_are_seen_while_they_run(tmp_path):
    @dg.asset
    def first() -> None:
        time.sleep(2.5)

    @dg.asset(deps=[first])
    def counted() -> None:
        progress = Progress(tmp_path, "counted")
        for done in range(4):
            progress(done + 1, 4)
            time.sleep(0.5)

    seen = []
    job = dg.Definitions(assets=[first, counted], jobs=[dg.define_asset_job("all", "*")]).resolve_job_def("all")
    with dg.instance_for_test() as instance, ProgressWatch(instance, tmp_path, ("counted",), seen.append):
        assert job.execute_in_process(instance=instance, tags={PROCESS_TAG: this_process()}).success
    steps = [(snapshot.stage, snapshot.done, snapshot.total) for snapshot in seen]
    assert ("first", 0, 2) in steps
    assert ("counted", 4, 4) in steps
    assert ("counted", 1, 2) not in steps
