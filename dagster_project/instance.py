"""The Dagster home inside the data folder: instance configuration and pool slots. Written once, then left to the user."""

import os
from pathlib import Path

import dagster as dg

from dagster_project.event_log import quicken_event_log
from ml.leftovers import remove_leftovers
from ml.settings import Settings

INSTANCE_YAML = """\
# Instance configuration of Interject. Safe to edit; `interject` writes it only where it is absent.
telemetry:
  enabled: false
nux:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 4          # SQLite holds a handful of writers; with Postgres raise it
  pools:
    default_limit: 1
    granularity: op
run_monitoring:
  enabled: true
  free_slots_after_run_end_seconds: 60   # a killed run gives its GPU slot back
run_retries:
  enabled: false
retention:
  schedule:
    purge_after_days: {skipped: 7, failure: 30, success: -1}
  sensor:
    purge_after_days: {skipped: 2, failure: 30, success: -1}
"""


def prepare_home(settings: Settings) -> Path:
    """Create the Dagster home where absent and point ``DAGSTER_HOME`` at it unless the user has set his own."""
    home = Path(os.environ.get("DAGSTER_HOME") or settings.data.absolute() / "dagster_home")
    home.mkdir(parents=True, exist_ok=True)
    config = home / "dagster.yaml"
    if not config.exists():
        config.write_text(INSTANCE_YAML)
    os.environ["DAGSTER_HOME"] = str(home)
    quicken_event_log()
    return home


def prepare_instance(settings: Settings) -> dg.DagsterInstance:
    """The instance with the pools' slots set as the settings say; what killed processes left half-written goes."""
    prepare_home(settings)
    remove_leftovers(settings.data)
    instance = dg.DagsterInstance.get()
    for pool, slots in (("gpu", settings.compute.gpu.slots), ("llm", settings.compute.llm.slots), ("lance_writer", 1)):
        instance.event_log_storage.set_concurrency_slots(pool, slots)
    return instance
