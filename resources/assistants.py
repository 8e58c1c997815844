"""The assistants that are scored, by experiment name: floors, the untuned base, tuned checkpoints."""

from collections.abc import Callable
from typing import Any

import dagster as dg
import polars as pl
from pydantic import PrivateAttr

from ml.errors import InputError
from ml.settings import FLOORS, UNTUNED
from ml.tables.store import TableStore
from resources.checkpoints import Checkpoints
from resources.settings import PlatformSettings

Progress = Callable[[int, int], None]
DEFAULT_STEP_S = 30.0


class Assistants(dg.ConfigurableResource):
    """Runs an experiment under a protocol and returns its ``predictions``."""

    data: str
    _speakers: dict[str, Any] = PrivateAttr(default_factory=dict)

    def predict(self, experiment: str, protocol: str, store: TableStore, progress: Progress) -> pl.DataFrame:
        """Predictions of one experiment on one benchmark. Raises ``InputError`` for an unknown experiment or an absent benchmark."""
        benchmark, _, feed = protocol.partition(".")
        steps = store.read("benchmark_steps", benchmark)
        if not steps.height:
            raise InputError(f"benchmark {benchmark!r} has no steps", field="benchmarks.protocols", remedy="Materialize benchmark_steps")
        if experiment in FLOORS:
            return _floor(experiment, protocol, feed, steps, median_step_s(store), progress)
        if experiment == UNTUNED or experiment in PlatformSettings().values.experiments:
            return self._streaming(experiment, protocol, feed, steps, progress)
        raise InputError(f"no experiment {experiment!r}", field="benchmarks.experiments")

    def _streaming(self, experiment: str, protocol: str, feed: str, steps: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        from ml.benchmarks.streaming_runs import predict_full_recipe, predict_per_step

        if experiment not in self._speakers:
            checkpoints = Checkpoints(data=self.data)
            self._speakers = {experiment: checkpoints.untuned() if experiment == UNTUNED else checkpoints.speaker(experiment)}
        speaker, features = self._speakers[experiment]
        run = predict_full_recipe if feed == "full_recipe" else predict_per_step
        return run(speaker, features, steps, experiment=experiment, protocol=protocol, progress=progress)


def _floor(experiment: str, protocol: str, feed: str, steps: pl.DataFrame, median_s: float, progress: Progress) -> pl.DataFrame:
    from ml.benchmarks.assistants.floors import ego_floors
    from ml.benchmarks.assistants.interface import ticks
    from ml.benchmarks.protocols import run_full_recipe, run_per_step

    run = run_full_recipe if feed == "full_recipe" else run_per_step
    return run(ego_floors(median_s)[experiment], steps, ticks(), experiment=experiment, protocol=protocol, progress=progress)


def median_step_s(store: TableStore) -> float:
    """Median length of the clean instructed training steps: what the duration timer knows."""
    recordings = store.scan("recordings").filter(pl.col("split") == "train").select("recording_id")
    steps = store.scan("steps").join(recordings, on="recording_id", how="semi").filter(pl.col("is_clean") & pl.col("is_instruction"))
    value = steps.select((pl.col("end_s") - pl.col("start_s")).median()).collect().item()
    return DEFAULT_STEP_S if value is None else float(value)
