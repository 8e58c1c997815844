"""Collects finished LLM batches and requests again the runs that waited for them. No run and no worker waits meanwhile."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from ml.errors import InputError
from ml.llm_stages import LLM_STAGES
from ml.setting_sections.models import LLMBackend
from ml.settings import Settings
from resources.llm import open_batches, reply_cache
from resources.partitions import partition_tags

INTERVAL_S = 60
TICK_S = 30.0  # collecting stops after that, half of what Dagster gives a tick; the rest comes with the next


def llm_batches_sensor(settings: Settings, jobs: Sequence[Any], job_of_stage: Mapping[str, str]) -> dg.SensorDefinition:
    """On from the start where a stage uses batches. ``jobs`` are those that hold LLM assets.

    ``job_of_stage`` names the job of a run that was launched without one, from the asset graph.
    """
    uses_batches = any(stage.settings(settings).batch for stage in LLM_STAGES.values())

    @dg.sensor(
        name="llm_batches",
        jobs=list(jobs),
        minimum_interval_seconds=INTERVAL_S,
        default_status=dg.DefaultSensorStatus.RUNNING if uses_batches else dg.DefaultSensorStatus.STOPPED,
        description="Collects finished batches of model calls and requests the runs that waited for them.",
    )
    def llm_batches(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        from ml.llm.batch_book import open_batch_ids, waiting_runs

        cache = reply_cache(settings.data.absolute())
        if not cache.path.exists():
            return dg.SkipReason("no model was ever asked")
        deadline = time.monotonic() + TICK_S
        told = [line for line in _collect(settings, deadline, context) if line]
        still_open = open_batch_ids(cache)
        names = {job.name for job in jobs}
        requests = []
        for run in waiting_runs(cache):
            if still_open & set(run.batch_ids):
                continue
            job = run.job if run.job in names else job_of_stage[run.stage]
            requests.append(
                dg.RunRequest(
                    run_key=run.run_key,  # asked for at every tick until the run was there; Dagster takes it once
                    job_name=job,
                    asset_selection=None if run.selection is None else [dg.AssetKey.from_user_string(key) for key in run.selection],
                    tags={**partition_tags(run.partitions), "interject/llm_stage": run.stage},
                )
            )
        if not requests:
            return dg.SkipReason("; ".join([*told, f"{len(still_open)} batches are on their way"]))
        return dg.SensorResult(run_requests=requests)

    return llm_batches


def _collect(settings: Settings, deadline: float, context: dg.SensorEvaluationContext) -> list[str]:
    """Takes in what has ended, for each provider and model in use; says what came."""
    told, seen = [], set()
    cache = reply_cache(settings.data.absolute())
    for stage in LLM_STAGES.values():
        chosen = stage.settings(settings)
        named = (chosen.backend, chosen.model, chosen.base_url)
        if chosen.backend is LLMBackend.RULES or named in seen:
            continue
        seen.add(named)
        try:
            batches = open_batches(chosen, cache, settings)
            collected = batches.collect(until=lambda: time.monotonic() > deadline)
        except Exception as error:  # whatever it was, the other models' batches are collected
            context.log.warning(f"{stage.name}: {error}", exc_info=not isinstance(error, InputError))
            continue
        for batch_id, problem in batches.problems.items():
            told.append(f"batch {batch_id}: {problem}")
            context.log.warning(told[-1])
        for one in collected:
            counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(one.counts.items()))
            line = f"batch {one.batch_id}: {counts}" + (f"; most often {one.commonest_reason}" if one.commonest_reason else "")
            context.log.info(line)
            told.append(line)
    return told
