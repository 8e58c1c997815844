"""Sections for compute: the executor, slots and GPUs of each compute class."""

from enum import StrEnum

from pydantic import Field

from ml.setting_sections.section import Section


class ExecutorKind(StrEnum):
    IN_PROCESS = "in_process"
    MULTIPROCESS = "multiprocess"
    RAY = "ray"
    KUBERNETES = "kubernetes"


class Compute(Section):
    """How one compute class runs its steps."""

    executor: ExecutorKind = ExecutorKind.IN_PROCESS
    max_concurrent: int = Field(1, ge=1)
    slots: int = Field(1, ge=1)
    """Slots of the pool over all runs."""
    gpus_per_step: float = Field(0.0, ge=0)
    """What Ray or Kubernetes is asked for."""
    image: str | None = None
    """Container image for Kubernetes."""


class ComputeClasses(Section):
    cpu: Compute = Compute()
    llm: Compute = Compute()
    gpu: Compute = Compute()
