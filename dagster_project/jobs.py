"""One job per stretch of the graph, each with the executor of its compute class. No asset logic."""

from typing import Any

import dagster as dg

from dagster_project.executors import executor_for
from ml.settings import Settings

SOURCES, RECORDINGS, NARRATIONS, COUNTERFACTUALS = "sources", "recordings", "narrations", "counterfactuals"
COMIST, TRAINING_MIX, CHECKPOINT = "comist", "training_mix", "checkpoint"
COMIST_ASSETS = (
    "embeddings",
    "comist_candidates",
    "validity_answers",
    "ego_comist",
    "validity_sample",
    "validity_review",
    "comist_report",
)
BENCHMARKS, PREDICTIONS, SCORES, LEADERBOARD = "benchmarks", "predictions", "scores", "leaderboard"
RAW_VIDEO, PROPOSED_STEPS = "raw_video", "proposed_steps"
LLM_JOBS = {  # the job that an LLM stage belongs to
    "instructions": f"{RECORDINGS}_job",
    "proposed_steps": f"{PROPOSED_STEPS}_job",
    "attributes": f"{COUNTERFACTUALS}_job",
    "counterfactuals": f"{COUNTERFACTUALS}_job",
    "feedback_timestamps": f"{COUNTERFACTUALS}_job",
    "validity_check": f"{COUNTERFACTUALS}_job",
}


def jobs(settings: Settings) -> list[Any]:
    """All jobs; partitions come from the assets. Dagster does not export the type that `define_asset_job` returns."""
    cpu = executor_for("cpu", settings.compute.cpu)
    llm = executor_for("llm", settings.compute.llm)
    gpu = executor_for("gpu", settings.compute.gpu)

    def job(name: str, selection: dg.AssetSelection, executor: dg.ExecutorDefinition, description: str) -> Any:
        return dg.define_asset_job(f"{name}_job", selection=selection, executor_def=executor, description=description)

    keys = dg.AssetSelection.assets
    return [
        job(
            SOURCES,
            dg.AssetSelection.groups("sources") - keys("raw_videos"),
            cpu,
            "Make the sample kitchen and import every source that is on.",
        ),
        job(
            RECORDINGS,
            keys("video_probe", "recordings", "instructions", "steps"),
            cpu,
            "Probe videos, turn descriptions into instructions, place steps on their time line.",
        ),
        job(PROPOSED_STEPS, keys("proposed_steps", "steps"), llm, "Steps of raw videos without a recipe, from their narrations."),
        job(RAW_VIDEO, keys("raw_videos", "video_probe", "recordings", "steps"), cpu, "Take in one raw video up to its steps."),
        job(NARRATIONS, keys("narrations"), gpu, "Describe 10 s windows; the model is loaded once per run."),
        job(
            COUNTERFACTUALS,
            keys("attributes", "counterfactuals", "feedback_timestamps", "validity_check"),
            llm,
            "Attributes, counterfactuals, when their feedback is due, and whether the pairs are valid.",
        ),
        job(
            COMIST,
            keys(*COMIST_ASSETS, *(["sample_kitchen_accuracy"] if settings.sample_kitchen else [])),
            cpu,
            "Filter, balance and split the pairs; draw what people review, and sum up what they answered.",
        ),
        job(TRAINING_MIX, keys("training_mix", "exports"), cpu, "Weighted training samples of one mix, and their exports."),
        job(CHECKPOINT, keys("checkpoint"), gpu, "Tune one experiment; resumes where a killed run stopped."),
        job(BENCHMARKS, keys("benchmark_steps", "benchmark_dialogues", "benchmark_clips"), cpu, "Benchmark data in canonical form."),
        job(PREDICTIONS, keys("predictions"), gpu, "Run assistants on benchmark protocols."),
        job(SCORES, keys("scores"), cpu, "Score predictions."),
        job(LEADERBOARD, keys("leaderboard"), cpu, "All scores side by side."),
    ]


def job_named(name: str) -> dg.JobDefinition:
    """A job of the loaded definitions; the entry that ``dagster_project.runs`` reconstructs in child processes."""
    from dagster_project.definitions import defs

    return defs.resolve_job_def(name)
