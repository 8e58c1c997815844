"""The graph as a newcomer sees it: keys, groups, owners, compute classes, jobs; and no deprecated Dagster feature."""

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from assets.checks import CHECKED
from dagster_project.definitions import build_definitions
from dagster_project.executors import executor_for
from ml.errors import InputError
from ml.setting_sections.compute import Compute, ExecutorKind
from ml.settings import Settings, load_settings
from ml.tables.declarations.recordings import NARRATIONS

ROOT = Path(__file__).resolve().parents[2]
GRAPH = {
    "sources": {
        "sample_kitchen",
        "kitchen_captaincook4d",
        "kitchen_goalstep",
        "kitchen_qicd",
        "kitchen_ego_mc_bench",
        "kitchen_guideme",
        "kitchen_cook_mre",
        "raw_videos",
    },
    "recordings": {"video_probe", "recordings", "instructions", "proposed_steps", "steps"},
    "narrations": {"narrations"},
    "counterfactuals": {
        "attributes",
        "counterfactuals",
        "feedback_timestamps",
        "validity_check",
        "embeddings",
        "comist_candidates",
        "ego_comist",
        "validity_answers",
        "validity_sample",
        "validity_review",
        "comist_report",
        "sample_kitchen_accuracy",
    },
    "training": {"training_mix", "exports", "checkpoint"},
    "benchmarks": {"benchmark_steps", "benchmark_dialogues", "benchmark_clips", "predictions", "scores", "leaderboard"},
}


@pytest.fixture(scope="module")
def definitions():
    return build_definitions(load_settings())


def specs(definitions):
    return list(definitions.resolve_all_asset_specs())


def test_the_graph_is_valid_to_dagster(definitions):
    dg.Definitions.validate_loadable(definitions)


@pytest.mark.parametrize("empty", [{"mixes": {}, "experiments": {}}, {"assistants": {}}, {"sample_kitchen": False}])
def test_the_graph_is_valid_without_mixes_assistants_or_kitchen(empty):
    dg.Definitions.validate_loadable(build_definitions(load_settings(**empty)))


@pytest.mark.parametrize("name", sorted(set().union(*GRAPH.values()) - {k for k in GRAPH["sources"] if k.startswith("kitchen_")}))
def test_no_source_takes_the_name_of_an_asset(name):
    with pytest.raises(InputError, match=rf"sources\.{name}: the name is taken by an asset"):
        load_settings(sources={name: {"kind": "qicd", "annotations": "/x"}})


def test_keys_and_groups(definitions):
    found = {}
    for spec in specs(definitions):
        found.setdefault(spec.group_name, set()).add(spec.key.to_user_string())
    assert found == GRAPH


def test_every_asset_says_what_it_is(definitions):
    for spec in specs(definitions):
        assert spec.description, spec.key
        assert list(spec.owners), spec.key
        assert spec.kinds, spec.key


def test_assets_with_a_declared_table_show_its_columns(definitions):
    shown = {spec.key.to_user_string(): spec.metadata.get("dagster/column_schema") for spec in specs(definitions)}
    assert [column.name for column in shown["narrations"].columns] == NARRATIONS.polars_schema.names()
    assert {name for name, table in shown.items() if table} == set(CHECKED)


def test_every_asset_that_writes_tables_has_a_check(definitions):
    checked = {key.asset_key.to_user_string() for key in definitions.resolve_asset_graph().asset_check_keys}
    unchecked = {spec.key.to_user_string() for spec in specs(definitions)} - checked
    assert unchecked == {"sample_kitchen", "embeddings", "comist_report", "sample_kitchen_accuracy", "exports"}


def test_pools_hold_what_must_not_run_twice(definitions):
    graph = definitions.resolve_asset_graph()
    pools = {key.to_user_string(): graph.get(key).pools for key in graph.get_all_asset_keys()}
    assert {key for key, names in pools.items() if names == {"gpu"}} == {"narrations", "checkpoint", "predictions"}
    assert {key for key, names in pools.items() if names == {"llm"}} == {
        "instructions",
        "proposed_steps",
        "attributes",
        "counterfactuals",
        "feedback_timestamps",
        "validity_check",
    }
    assert {key for key, names in pools.items() if names == {"lance_writer"}} == {"embeddings"}


def test_llm_assets_carry_their_prompts_in_their_code_version(definitions):
    graph = definitions.resolve_asset_graph()
    names = ("attributes", "counterfactuals", "feedback_timestamps", "validity_check")
    versions = {name: graph.get(dg.AssetKey(name)).code_version for name in names}
    assert all(version and "-" in version for version in versions.values())
    assert len(set(versions.values())) == len(names)


def test_every_asset_is_in_a_job(definitions):
    covered = set()
    for job in definitions.resolve_all_job_defs():
        if not job.name.startswith("__"):
            covered |= {key.to_user_string() for key in job.asset_layer.selected_asset_keys}
    assert covered == {spec.key.to_user_string() for spec in specs(definitions)}


def test_each_compute_class_has_its_own_executor(tmp_path):
    settings = load_settings(
        compute={
            "gpu": {"executor": "multiprocess", "max_concurrent": 1},
            "llm": {"executor": "in_process"},
            "cpu": {"executor": "in_process"},
        }
    )
    built = build_definitions(settings)
    assert built.resolve_job_def("narrations_job").executor_def.name == "gpu_multiprocess"
    assert built.resolve_job_def("counterfactuals_job").executor_def.name == "in_process"


@pytest.mark.parametrize(("kind", "module"), [(ExecutorKind.RAY, "dagster_ray"), (ExecutorKind.KUBERNETES, "dagster_k8s")])
def test_an_executor_that_is_not_installed_says_how_to_get_it(kind, module):
    try:
        __import__(module)
    except ImportError:
        with pytest.raises(InputError, match=r"pip install 'interject\["):
            executor_for("gpu", Compute(executor=kind, gpus_per_step=1))
    else:
        assert executor_for("gpu", Compute(executor=kind, gpus_per_step=1)).name == f"gpu_{kind}"


def test_a_source_that_is_configured_becomes_an_asset(tmp_path):
    settings = load_settings(
        sample_kitchen=False,
        mixes={},
        experiments={},
        sources={"cc": {"kind": "captaincook4d", "annotations": str(tmp_path)}},
        benchmarks={"experiments": ["floor_silent"], "protocols": ["cc.per_step"]},
    )
    assert isinstance(settings, Settings)
    keys = {spec.key.to_user_string() for spec in specs(build_definitions(settings))}
    assert "cc" in keys
    assert "sample_kitchen" not in keys


def test_the_workspace_loads_without_a_deprecation_warning():
    rooms = (
        "(assets|resources|sensors|ml|dagster_project)"  # warnings that name our lines; Dagster's own use of pydantic is not ours to mend
    )
    code = (
        "import warnings\n"
        f"warnings.filterwarnings('error', category=DeprecationWarning, module={rooms!r})\n"
        f"warnings.filterwarnings('error', category=FutureWarning, module={rooms!r})\n"
        "import dagster_project.definitions"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert "Warning" not in run.stderr
