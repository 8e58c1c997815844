"""The executor of each compute class, as the settings name it. Ray and Kubernetes are optional extras, imported only when asked for."""

import dagster as dg

from ml.errors import InputError
from ml.setting_sections.compute import Compute, ExecutorKind

PRELOADED = ["dagster_project.definitions"]


def executor_for(name: str, compute: Compute) -> dg.ExecutorDefinition:
    """Executor for a compute class; raises ``InputError`` when its extra is not installed."""
    match compute.executor:
        case ExecutorKind.IN_PROCESS:
            return dg.in_process_executor
        case ExecutorKind.MULTIPROCESS:
            # forkserver imports the definitions once; spawned children would each pay for it
            return dg.multiprocess_executor.configured(
                {"max_concurrent": compute.max_concurrent, "start_method": {"forkserver": {"preload_modules": PRELOADED}}},
                name=f"{name}_multiprocess",
            )
        case ExecutorKind.RAY:
            return _ray(name, compute)
        case ExecutorKind.KUBERNETES:
            return _kubernetes(name, compute)


def _ray(name: str, compute: Compute) -> dg.ExecutorDefinition:
    try:
        from dagster_ray import ray_executor
    except ImportError as error:
        raise InputError(
            "executor 'ray' is not installed", field=f"compute.{name}.executor", remedy="pip install 'interject[ray]'"
        ) from error
    return ray_executor.configured({"ray": {"num_gpus": compute.gpus_per_step}}, name=f"{name}_ray")


def _kubernetes(name: str, compute: Compute) -> dg.ExecutorDefinition:
    try:
        from dagster_k8s import k8s_job_executor
    except ImportError as error:
        raise InputError(
            "executor 'kubernetes' is not installed", field=f"compute.{name}.executor", remedy="pip install 'interject[kubernetes]'"
        ) from error
    limits = {"nvidia.com/gpu": str(int(compute.gpus_per_step))} if compute.gpus_per_step else {}
    config: dict[str, object] = {
        "max_concurrent": compute.max_concurrent,
        "step_k8s_config": {"container_config": {"resources": {"limits": limits}}},
    }
    if compute.image:
        config["job_image"] = compute.image
    return k8s_job_executor.configured(config, name=f"{name}_kubernetes")
