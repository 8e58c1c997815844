"""What the graph itself costs per partition and asset: one backfill run of three assets over 200 recordings, with work that takes no time.

Prints milliseconds per partition and asset against the limit of 40 ms, and the ratio to writing the same files without Dagster.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import dagster as dg

from assets.partitioned import materialize_partitions
from dagster_project.event_log import quicken_event_log
from dagster_project.instance import INSTANCE_YAML
from ml.tables.catalogue import TABLES
from ml.tables.store import TableStore, encode_key
from resources.partitions import RECORDINGS, partition_tags
from resources.tables import Tables

LIMIT_MS = 40.0
NAMES = ("video_probe", "recordings", "steps")


def stage(name: str, deps: list[str]) -> dg.AssetsDefinition:
    @dg.asset(name=name, partitions_def=RECORDINGS, backfill_policy=dg.BackfillPolicy.single_run(), deps=deps)
    def made(context: dg.AssetExecutionContext, tables: Tables) -> dg.MaterializeResult:
        empty = TABLES[name].empty()
        return materialize_partitions(context, tables, name, made_from=lambda i: i, make=lambda ids: dict.fromkeys(ids, empty))

    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=200)
    count = parser.parse_args().recordings
    ids = [f"source/{n:05d}" for n in range(count)]
    keys = [encode_key(i) for i in ids]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DAGSTER_HOME"] = folder
        quicken_event_log()
        (Path(folder) / "dagster.yaml").write_text(INSTANCE_YAML)
        assets = [stage(name, [before] if before else []) for name, before in zip(NAMES, (None, *NAMES[:-1]), strict=True)]
        definitions = dg.Definitions(
            assets=assets,
            jobs=[dg.define_asset_job("all", assets, executor_def=dg.in_process_executor)],
            resources={"tables": Tables(data=folder)},
        )
        with dg.DagsterInstance.get() as instance:
            instance.add_dynamic_partitions(RECORDINGS.name or "", keys)
            started = time.perf_counter()
            result = definitions.resolve_job_def("all").execute_in_process(instance=instance, tags=partition_tags(keys))
            graph_s = time.perf_counter() - started
            assert result.success
            assert all(len(instance.get_materialized_partitions(dg.AssetKey(name))) == count for name in NAMES)
        started = time.perf_counter()
        bare = TableStore(Path(folder) / "bare")
        for name in NAMES:
            for identifier in ids:
                bare.write(name, TABLES[name].empty(), identifier, made_from=identifier)
        bare_s = time.perf_counter() - started
    each = 1000 * graph_s / count / len(NAMES)
    print(f"{count} recordings x {len(NAMES)} assets in one run: {graph_s:.1f} s, {each:.1f} ms per partition and asset")
    print(f"ratio to the limit of {LIMIT_MS:.0f} ms: {each / LIMIT_MS:.2f}   ratio to bare writes: {graph_s / bare_s:.1f}")


if __name__ == "__main__":
    main()
