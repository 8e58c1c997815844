"""Predictions and scores of all families over a rectangle of experiment and protocol: who cannot take part is passed over."""

import json

import dagster as dg
import pytest

from assets.fingerprints import Fingerprints
from dagster_project.definitions import build_definitions
from dagster_project.demo import _multi_ranges
from ml.settings import load_settings
from ml.tables.store import TableStore
from tests.resources.conftest import benchmark_tables, data

__all__ = ["benchmark_tables", "data"]
EXPERIMENTS = ("floor_silent", "floor_always_mistake", "embedded_clips")
PROTOCOLS = ("ego.per_step", "guide.anchor", "cook.default")


@pytest.fixture
def settings(data, monkeypatch):
    chosen = {"experiments": EXPERIMENTS, "protocols": PROTOCOLS}
    for name, values in chosen.items():
        monkeypatch.setenv(f"INTERJECT_BENCHMARKS__{name.upper()}", json.dumps(values))
    return load_settings()


def execute(settings, instance, job):
    tags = _multi_ranges([f"{EXPERIMENTS[0]}|{PROTOCOLS[0]}", f"{EXPERIMENTS[-1]}|{PROTOCOLS[-1]}"], settings)
    assert len(tags) == 1
    done = build_definitions(settings).resolve_job_def(f"{job}_job").execute_in_process(instance=instance, tags=tags[0])
    assert done.success
    return done


def test_a_rectangle_runs_what_can_be_run_and_nothing_twice(settings, data):
    store = TableStore(data / "tables")
    taking_part = {f"{e}/{p}" for e, p in settings.benchmark_runs()}
    assert taking_part == {
        "floor_silent/ego.per_step",
        "floor_silent/guide.anchor",
        "floor_always_mistake/cook.default",
        "embedded_clips/cook.default",
    }
    with dg.DagsterInstance.ephemeral() as instance:
        done = execute(settings, instance, "predictions")
        (event,) = done.asset_materializations_for_node("predictions")[:1]
        assert event.metadata["runs"].value == 4
        assert event.metadata["cannot take part"].value == 5
        stored = {name for table in ("predictions", "guidance_predictions", "clip_predictions") for name in store.partitions(table)}
        assert stored == taking_part
        times = {name: store.path("clip_predictions", name).stat().st_mtime_ns for name in store.partitions("clip_predictions")}
        execute(settings, instance, "predictions")
        assert times == {name: store.path("clip_predictions", name).stat().st_mtime_ns for name in times}
        execute(settings, instance, "scores")
        assert set(store.partitions("scores")) == taking_part
        assert build_definitions(settings).resolve_job_def("leaderboard_job").execute_in_process(instance=instance).success
    board = store.read("leaderboard").filter(store.read("leaderboard")["origin"] == "here")
    assert set(board["protocol"]) == set(PROTOCOLS)


def test_what_shapes_answers_makes_a_run_stale_and_the_pace_does_not(settings, monkeypatch, data):
    store = TableStore(data / "tables")

    def made_from(**changes):
        llm = {"backend": "openai", "model": "m", "base_url": "http://localhost:1/v1"} | changes.pop("llm", {})
        monkeypatch.setenv("INTERJECT_ASSISTANTS", json.dumps({"m": {"llm": llm, **changes}}))
        monkeypatch.setenv("INTERJECT_BENCHMARKS__EXPERIMENTS", '["m"]')
        return Fingerprints(store, load_settings()).predictions("m/cook.default")

    same = made_from()
    assert made_from(units_at_once=3, llm={"budget_usd": 1.0, "max_in_flight": 2}) == same
    assert len({same, made_from(llm={"model": "other"}), made_from(box=[64, 64]), made_from(llm={"effort": "low"})}) == 4


def test_a_judge_makes_scores_stale_where_it_is_asked(settings, monkeypatch, data):
    store = TableStore(data / "tables")
    runs = ("floor_silent/ego.per_step", "floor_silent/guide.anchor", "floor_always_mistake/cook.default")
    before = [Fingerprints(store, settings).scores(run) for run in runs]
    monkeypatch.setenv("INTERJECT_BENCHMARKS__JUDGE", json.dumps({"backend": "openai", "model": "j", "base_url": "http://localhost:1/v1"}))
    after = [Fingerprints(store, load_settings()).scores(run) for run in runs]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, False]


def test_a_partition_that_cannot_be_run_is_passed_over_on_its_own(settings):
    with dg.DagsterInstance.ephemeral() as instance:
        for job in ("predictions", "scores"):
            definition = build_definitions(settings).resolve_job_def(f"{job}_job")
            done = definition.execute_in_process(instance=instance, partition_key="floor_silent|cook.default")
            (event,) = done.asset_materializations_for_node(job)
            assert (event.metadata["runs"].value, event.metadata["cannot take part"].value) == (0, 1)


def test_scores_tell_what_their_judge_has_cost(settings, monkeypatch, provider):
    judge = {"backend": "openai", "model": "j", "base_url": f"{provider.url}/v1"}
    monkeypatch.setenv("INTERJECT_BENCHMARKS__JUDGE", json.dumps(judge))
    monkeypatch.setenv("INTERJECT_LLM__PRICES", json.dumps({"j": {"input": 1.0, "output": 5.0}}))
    usage = {"prompt_tokens": 100, "completion_tokens": 2}
    provider.play({"kind": "text", "text": "YES", "usage": usage, "times": 0})
    chosen = load_settings()
    with dg.DagsterInstance.ephemeral() as instance:
        execute(chosen, instance, "predictions")
        told = execute(chosen, instance, "scores").asset_materializations_for_node("scores")[0].metadata
        again = execute(chosen, instance, "scores").asset_materializations_for_node("scores")[0].metadata
    assert told["run judge calls"].value == len(provider.calls()) > 0
    assert told["run judge money usd"].value > 0
    assert again.get("run judge calls") is None or again["run judge calls"].value == 0
