"""Running a job from the command line, in this process, with its own executor, partitions and pools; progress is read from files."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.reconstruct import build_reconstructable_job  # the only way to name a job that has arguments

from ml.errors import InputError
from ml.progress import Snapshot, read_progress

POLL_S = 0.25
LOOK_S = 1.0  # between looks into the event log
PROCESS_TAG = "interject/process"


@dataclass(frozen=True)
class RunOutcome:
    job: str
    run_id: str
    success: bool
    seconds: float
    message: str | None


def this_process() -> str:
    """Host, process id and start time: names a process for ever."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def _started(pid: int) -> str:
    """Start time of a process in clock ticks since boot; empty where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Report runs whose command line process was killed as failed, and give their pool slots back.

    Without this a killed run holds its GPU slot for ever and every later one waits; the daemon does the same for runs that it launched.
    """
    ended = []
    for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING])):
        host, _, rest = run.tags.get(PROCESS_TAG, "").partition(":")
        pid, _, started = rest.partition(":")
        if host == socket.gethostname() and pid.isdigit() and _started(int(pid)) != started:
            instance.report_run_failed(run, f"process {pid} was killed")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
            ended.append(run.run_id)
    return ended


def run_job(
    instance: dg.DagsterInstance,
    job: str,
    *,
    tags: Mapping[str, str] | None = None,
    op_config: Mapping[str, Mapping[str, Any]] | None = None,
) -> RunOutcome:
    """Execute a job to its end; ``op_config`` is config by asset. Failure is an outcome, not an exception."""
    reconstructable = build_reconstructable_job("dagster_project.jobs", "job_named", reconstructable_args=(job,))
    started = time.monotonic()
    config: dict[str, Any] = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}  # the terminal shows progress instead
    if op_config:
        config["ops"] = {name: {"config": dict(values)} for name, values in op_config.items()}
    with dg.execute_job(
        reconstructable, instance=instance, run_config=config, tags={**(tags or {}), PROCESS_TAG: this_process()}, raise_on_error=False
    ) as result:
        message = None
        if not result.success:
            failures = [event for event in result.all_events if event.is_failure]
            message = _failure_text(failures[0]) if failures else "the run failed before its first step"
        return RunOutcome(job, result.run_id, result.success, time.monotonic() - started, message)


def _failure_text(event: dg.DagsterEvent) -> str:
    data = event.event_specific_data
    error = getattr(data, "error", None)
    user = getattr(data, "user_failure_data", None)
    if user is not None and user.description:
        return str(user.description)
    while error is not None and error.cause is not None and error.cause.cls_name != "_RemoteTraceback":
        error = error.cause
    if error is None:
        return event.message or ""
    return error.message.strip().removeprefix(f"{InputError.__module__}.{InputError.__name__}: ")


def quiet_dagster(log_file: Path) -> None:
    """Send Dagster's console log to a file, so that progress stays readable."""
    log_file.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(log_file)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("dagster")
    logger.handlers = [handler]
    logger.propagate = False


class ProgressWatch:
    """Polls in a thread what the run of this process is at, and hands each change to ``show``.

    Stages tell their own progress in files; of any other step its name is shown, with the steps done of those of the run.
    """

    def __init__(self, instance: dg.DagsterInstance, folder: Path, stages: Sequence[str], show: Callable[[Snapshot], None]) -> None:
        self._instance, self._folder, self._stages, self._show = instance, folder, stages, show
        self._started = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> "ProgressWatch":
        for stage in self._stages:
            (self._folder / f"{stage}.json").unlink(missing_ok=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _poll(self) -> None:
        last: dict[str, Snapshot] = {}
        step: tuple[str, int, int] | None = None
        looked = time.monotonic()
        while not self._stop.wait(POLL_S):
            for stage in self._stages:
                snapshot = read_progress(self._folder, stage)
                if snapshot is not None and snapshot != last.get(stage):
                    last[stage] = snapshot
                    self._show(snapshot)
            if time.monotonic() - looked >= LOOK_S:
                looked, before, step = time.monotonic(), step, step_under_way(self._instance)
                if step is not None and step != before and step[0] not in self._stages:
                    self._show(Snapshot(*step, time.monotonic() - self._started, None))


def step_under_way(instance: dg.DagsterInstance) -> tuple[str, int, int] | None:
    """Name of the step that this process is at, the steps done and the steps in all of its run; None between runs and steps."""
    filters = dg.RunsFilter(tags={PROCESS_TAG: this_process()}, statuses=[dg.DagsterRunStatus.STARTED])
    for run in instance.get_runs(filters, limit=1):
        kinds = {dg.DagsterEventType.STEP_START, dg.DagsterEventType.STEP_SUCCESS}
        events = [record.event_log_entry for record in instance.get_records_for_run(run.run_id, of_type=kinds).records]
        started = [event.step_key for event in events if event.dagster_event_type is dg.DagsterEventType.STEP_START]
        done = len(events) - len(started)
        if started and started[-1] and run.step_keys_to_execute and done < len(started):
            return started[-1], done, len(run.step_keys_to_execute)
    return None
