"""A small data folder with steps and narrations, a settings file whose LLM stages ask the played provider, and ways to run it."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from dagster_project.instance import prepare_instance
from ml.settings import Settings, load_settings
from ml.tables.store import TableStore, encode_key
from resources.partitions import RECORDINGS, partition_tags
from tests.ml.counterfactuals.conftest import make_narrations, make_steps
from tests.ml.llm.provider import Provider

ROOT = Path(__file__).parent.parent
STAGES = ("attributes", "counterfactuals", "feedback_timestamps", "validity_check")
JOB = "counterfactuals_job"
MODEL = "claude-haiku-4-5"

_RUN = """
import sys
from dagster_project.instance import prepare_instance
from dagster_project.runs import end_dead_runs, run_job
from ml.settings import load_settings
from resources.partitions import RECORDINGS, partition_tags

if __name__ == "__main__":
    instance = prepare_instance(load_settings())
    end_dead_runs(instance)
    outcome = run_job(instance, "counterfactuals_job", tags=partition_tags(instance.get_dynamic_partitions(RECORDINGS.name)))
    print(outcome.message or "done")
    sys.exit(0 if outcome.success else 1)
"""


class LLMGraph:
    """``settings(stage={...})`` writes the settings file; a stage that is not named stays with the rules."""

    def __init__(self, provider: Provider, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in os.environ if name.startswith("INTERJECT_") and name != "INTERJECT_SHARED"]:
            monkeypatch.delenv(name)
        monkeypatch.delenv("DAGSTER_HOME", raising=False)
        monkeypatch.setenv("INTERJECT_SETTINGS", str(folder / "interject.toml"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        self.provider, self.folder, self.ids = provider, folder, []
        (folder / "cc").mkdir()
        self.settings()

    def settings(self, **stages: dict[str, object]) -> Settings:
        lines = [
            f'data = "{self.folder / "data"}"',
            "sample_kitchen = false",
            "mixes = {}",
            "experiments = {}",
            "[sources.cc]",
            f'kind = "captaincook4d"\nannotations = "{self.folder / "cc"}"\ncounterfactuals = true',
            '[benchmarks]\nexperiments = ["floor_silent"]\nprotocols = ["cc.per_step"]',
        ]
        for stage, given in stages.items():
            asked = {"backend": "anthropic", "model": MODEL, "base_url": self.provider.url, "retry_attempts": 2, **given}
            lines += [f"[stages.{stage}]", *(f"{name} = {_toml(value)}" for name, value in asked.items())]
        (self.folder / "interject.toml").write_text("\n".join(lines))
        return load_settings()

    @property
    def store(self) -> TableStore:
        return TableStore(self.folder / "data" / "tables")

    def record(self, *texts: str, narrations: tuple[str, ...] = ("The person cooks.",) * 12) -> str:
        """One more recording with these steps; its partition is known to the instance."""
        identifier = f"cc/{len(self.ids)}"
        self.ids.append(identifier)
        self.store.write("steps", make_steps(*texts, recording_id=identifier), identifier, made_from="v1")
        self.store.write("narrations", make_narrations(*narrations, recording_id=identifier), identifier, made_from="v1")
        imported = {
            "recording_id": identifier,
            "source": "cc",
            "native_id": identifier[3:],
            "licence": "none",
            "members": [],
            "status": "ok",
        }
        before = self.store.read("imported_recordings", "cc")
        from ml.tables.declarations.sources import IMPORTED_RECORDINGS

        self.store.write("imported_recordings", pl.concat([before, IMPORTED_RECORDINGS.rows([imported])]), "cc", made_from="v1")
        self.instance().add_dynamic_partitions(RECORDINGS.name or "", [encode_key(identifier)])
        return identifier

    def instance(self) -> dg.DagsterInstance:
        return prepare_instance(load_settings())

    def run(
        self, *only: str, config: dict[str, object] | None = None, tags: dict[str, str] | None = None, job: str = JOB
    ) -> dg.ExecuteInProcessResult:
        """Runs the job over all recordings in this process; ``config`` is that of the first of ``only``."""
        from dagster_project.definitions import build_definitions

        definitions = build_definitions(load_settings())
        return definitions.resolve_job_def(job).execute_in_process(
            instance=self.instance(),
            tags=tags or partition_tags([encode_key(one) for one in self.ids]),
            asset_selection=[dg.AssetKey(name) for name in only] or None,
            run_config={"ops": {only[0]: {"config": config}}} if config and only else None,
            raise_on_error=False,
        )

    def told(self, result: dg.ExecuteInProcessResult, name: str) -> dict[str | None, object]:
        """One entry of the metadata of each partition that a run materialized, as the UI shows it; None where an event lacks it."""
        kinds = {dg.DagsterEventType.ASSET_MATERIALIZATION}
        records = self.instance().get_records_for_run(result.run_id, of_type=kinds).records
        found = [record.asset_materialization for record in records]
        return {one.partition: one.metadata[name].value if name in one.metadata else None for one in found}

    def start(self) -> subprocess.Popen[str]:
        """The job in a process of its own."""
        script = self.folder / "run_job.py"
        script.write_text(_RUN)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, str(script)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def asked(self) -> Counter[str]:
        """How often the provider was asked each question."""
        return Counter(call["body"]["messages"][0]["content"] for call in self.provider.calls() if call["path"] == "/v1/messages")

    def rows(self, table: str) -> pl.DataFrame:
        return self.store.scan(table, self.ids).collect()


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def metadata(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, object]:
    """Metadata of the asset's last materialization in a run."""
    (event, *_) = [one for one in reversed(result.get_asset_materialization_events()) if one.asset_key == dg.AssetKey(asset)]
    return {name: value.value for name, value in event.materialization.metadata.items()}


def failure(result: dg.ExecuteInProcessResult) -> str:
    """What the failed step said."""
    events = [event for event in result.all_events if event.is_step_failure]
    return str(events[0].step_failure_data.user_failure_data.description) if events else ""
