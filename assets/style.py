"""Common definition arguments of assets: groups, owners, compute classes. No logic."""

from typing import Final

OWNERS: Final = ["team:interject"]
SINGLE_TAGS: Final = {"interject/compute": "cpu"}
GPU_TAGS: Final = {"interject/compute": "gpu"}
LLM_TAGS: Final = {"interject/compute": "llm"}

SOURCES, RECORDINGS, NARRATIONS, COUNTERFACTUALS, TRAINING, BENCHMARKS = (
    "sources",
    "recordings",
    "narrations",
    "counterfactuals",
    "training",
    "benchmarks",
)
