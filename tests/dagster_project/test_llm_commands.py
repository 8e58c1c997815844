"""`interject estimate`, `prompt` and `retry-failed` as a user runs them."""

import json
import subprocess
import sys

import dagster as dg
import pytest
from typer.testing import CliRunner

from dagster_project.cli import app
from dagster_project.jobs import LLM_JOBS
from ml.errors import InputError
from ml.llm_stages import LLM_STAGES
from ml.settings import load_settings
from ml.tables.declarations.recordings import RECORDINGS, VIDEO_PROBE
from ml.tables.declarations.sources import IMPORTED_RECORDINGS
from tests.llm_graph import ROOT, STAGES, LLMGraph
from tests.ml.instructions.made import described

NONE = {"kind": "text", "text": "None", "times": 0}
STEPS = ("Slice the carrot.", "Add 3 scoops of cocoa to the bowl.")


def run(*words: str, fails: bool = False) -> str:
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert (result.exit_code != 0) is fails, result.output
    return result.output


def run_apart(*words: str) -> str:
    """In a process of its own, as a job is found through definitions that are loaded once a process."""
    command = [sys.executable, "-c", "from dagster_project.cli import main; main()", *words]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def estimates(*words: str) -> dict[str, dict]:
    return {one["stage"]: one for one in json.loads(run("estimate", *words, "--json"))}


def test_an_estimate_looks_through_all_stages_before_any_was_made(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={}, counterfactuals={"model": "claude-opus-5"})
    found = estimates("all")
    assert set(found) == {"narrations", *LLM_STAGES}
    assert found["attributes"]["found"]["calls"] == 10
    assert found["counterfactuals"]["found"]["calls"] > 0  # about what the rules would read in the steps
    assert found["counterfactuals"]["model"] == "claude-opus-5"
    assert 0 < found["attributes"]["found"]["money_usd"] < found["attributes"]["found"]["money_worst_usd"]
    assert found["feedback_timestamps"]["found"]["money_usd"] == 0.0  # rules
    assert llm_graph.provider.calls() == []


def test_an_estimate_knows_what_is_paid_and_what_is_current(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={})
    llm_graph.provider.play(NONE)
    assert llm_graph.run("attributes").success
    assert estimates("attributes")["attributes"]["due"] == 0
    llm_graph.store.drop("attributes", llm_graph.ids[0])
    found = estimates("attributes")["attributes"]
    assert (found["due"], found["found"]["calls"], found["found"]["cached"]) == (1, 0, 10)
    llm_graph.record("Peel the potato.")
    found = estimates("attributes")["attributes"]
    assert (found["due"], found["found"]["calls"]) == (2, 5)
    assert estimates("attributes", "--recordings", "cc/1")["attributes"]["due"] == 1


def test_an_estimate_may_suppose_another_model_and_the_batch_interface(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    live = estimates("attributes", "--backend", "anthropic", "--model", "claude-opus-5")["attributes"]
    batch = estimates("attributes", "--backend", "anthropic", "--model", "claude-opus-5", "--batch")["attributes"]
    assert batch["found"]["money_usd"] == pytest.approx(live["found"]["money_usd"] / 2)
    table = run("estimate", "all", "--backend", "openai", "--model", "unheard-of")
    assert "unheard-of: instructions" in table
    assert "?" in table  # its price is unknown


def test_a_stage_that_another_model_made_is_due_where_one_is_supposed(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    assert llm_graph.run(*STAGES).success  # by the rules
    assert estimates("attributes")["attributes"]["due"] == 0
    found = estimates("all", "--backend", "anthropic", "--model", "claude-opus-5")
    assert (found["attributes"]["due"], found["attributes"]["found"]["calls"]) == (1, 10)
    assert all(found[stage]["due"] == 1 and found[stage]["found"]["calls"] > 0 for stage in STAGES[:3])


def test_instructions_are_estimated_for_every_source_that_describes(llm_graph: LLMGraph):
    with_pairs = llm_graph.record(*STEPS)
    row = {"recording_id": "plain/1", "source": "plain", "native_id": "1", "licence": "none", "members": [], "status": "ok"}
    llm_graph.store.write("imported_recordings", IMPORTED_RECORDINGS.rows([row]), "plain", made_from="v1")  # no source of pairs
    llm_graph.store.write("imported_steps", described("cuts the onion", recording_id="plain/1"), "plain", made_from="v1")
    llm_graph.settings(instructions={}, attributes={})
    found = estimates("all")
    assert (found["instructions"]["due"], found["instructions"]["found"]["calls"]) == (1, 1)
    assert (found["attributes"]["due"], found["attributes"]["found"]["calls"]) == (1, 10)
    assert estimates("instructions")["instructions"]["found"]["calls"] == 1
    assert estimates("instructions", "--recordings", with_pairs)["instructions"]["found"]["calls"] == 0


def test_an_estimate_says_what_it_cannot_count_yet(llm_graph: LLMGraph):
    for _ in range(2):
        llm_graph.record(*STEPS)
    llm_graph.settings(feedback_timestamps={}, validity_check={})
    assert "waits for" not in run("estimate")
    llm_graph.store.drop("narrations", llm_graph.ids[0])
    told = run("estimate")
    assert "+ waits for narrations of 1 recordings: feedback_timestamps, validity_check\n" in told
    assert all("+" in line for line in told.splitlines() if line.startswith(("feedback_timestamps", "validity_check")))
    found = estimates("all")
    assert [name for name, one in found.items() if one["waits"]] == ["feedback_timestamps", "validity_check"]
    llm_graph.store.drop("steps", llm_graph.ids[1])
    assert estimates("attributes")["attributes"]["waits"] == {"steps": 1}


def test_narrating_by_a_served_model_is_estimated_without_decoding_a_video(llm_graph: LLMGraph, monkeypatch: pytest.MonkeyPatch):
    identifier = llm_graph.record(*STEPS)
    recording = {"recording_id": identifier, "source": "cc", "native_id": "0", "licence": "none", "members": [], "video_path": "/no/such"}
    recording |= {"video_status": "ok", "duration_s": 62.0, "status": "ok"}
    llm_graph.store.write("recordings", RECORDINGS.rows([recording]), identifier, made_from="v1")
    probe = {"recording_id": identifier, "width": 640, "height": 360, "status": "ok"}
    llm_graph.store.write("video_probe", VIDEO_PROBE.rows([probe]), identifier, made_from="v1")
    assert estimates("narrations")["narrations"]["found"]["calls"] == 0  # the embedded model runs here
    monkeypatch.setenv("INTERJECT_NARRATION__BACKEND", "openai")
    monkeypatch.setenv("INTERJECT_NARRATION__MODEL", "gpt-4o-mini")
    found = estimates("narrations")["narrations"]["found"]
    assert found["calls"] == 12  # windows of 10 s every 5 s over 62 s
    assert found["input_tokens"] > 12 * 20 * 448 * 252 / 750  # 20 pictures each
    assert found["money_usd"] > 0
    llm_graph.store.drop("narrations", llm_graph.record(*STEPS))
    assert estimates("narrations")["narrations"]["waits"] == {"recordings": 1}  # its length is not known yet


def test_the_estimate_stays_with_the_asset(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={})
    run("estimate", "attributes")
    (record,) = llm_graph.instance().fetch_observations(dg.AssetKey("attributes"), limit=5).records
    assert record.asset_observation.metadata["estimated calls"].value == 10


def test_recordings_that_are_not_there_are_named(llm_graph: LLMGraph):
    with pytest.raises(InputError, match="no recording is imported yet"):
        run("estimate")
    llm_graph.record(*STEPS)
    with pytest.raises(InputError, match="none of 1 imported recordings is chosen"):
        run("estimate", "--recordings", "other/*")
    with pytest.raises(InputError, match=r"no LLM stage 'attribute'. Stages: .*attributes"):
        run("estimate", "attribute")


def test_a_supposed_backend_without_a_model_is_refused(llm_graph: LLMGraph):
    with pytest.raises(InputError, match=r"field backend: backend 'anthropic' needs `model`\. Name a model with --model"):
        run("estimate", "attributes", "--backend", "anthropic")


def test_the_prompt_that_is_printed_is_the_one_that_is_sent(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={})
    printed = json.loads(run("prompt", "attributes", "--step", "1#0", "--json"))
    assert [one["task"] for one in printed] == [
        f"extract.{kind}" for kind in ("measurement", "preparation", "technique", "temperature", "timing")
    ]
    llm_graph.provider.play(NONE)
    assert llm_graph.run("attributes").success
    sent = {call["body"]["messages"][0]["content"]: call["body"] for call in llm_graph.provider.calls()}
    for one in printed:
        body = sent[one["messages"][0]["content"]]
        assert (body["messages"], body["system"], body["max_tokens"]) == (one["messages"], one["system"], one["max_tokens"])
        assert body["output_config"]["format"]["schema"]["properties"].keys() == one["schema"]["properties"].keys()
    again = json.loads(run("prompt", "attributes", "--step", "1#0", "--type", "technique", "--json"))
    assert [one["stored_reply"] for one in again] == ["None"]


def test_prompts_of_every_stage_can_be_read_before_any_was_made(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    text = run("prompt", "counterfactuals", "--step", "1#0", "--type", "measurement")
    assert "=== change.measurement" in text
    assert "=== feedback.measurement" in text
    assert "Recipe step: Add 3 scoops of cocoa to the bowl." in text
    assert "--- schema of the reply" in run("prompt", "feedback_timestamps", "--step", "1#0", "--type", "measurement")


def test_a_step_that_is_not_asked_about_says_why(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    with pytest.raises(InputError, match=r"field step 9#9: there is no such step"):
        run("prompt", "attributes", "--step", "9#9")
    with pytest.raises(InputError, match="counterfactuals asks nothing about this step"):
        run("prompt", "counterfactuals", "--step", "0#0", "--type", "timing")
    llm_graph.record(*STEPS)
    with pytest.raises(InputError, match=r"2 recordings have such a step. Name one with --recording, e.g. cc/0"):
        run("prompt", "attributes", "--step", "0#0")


def test_retry_failed_asks_again_for_what_failed(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={})
    assert "No row of attributes failed" in run_apart("retry-failed", "attributes")
    cut = {"kind": "text", "text": '{"a', "stop_reason": "max_tokens", "when": "cooking technique"}
    llm_graph.provider.play(cut, NONE)
    assert llm_graph.run("attributes").success
    asked = sum(llm_graph.asked().values())
    output = run_apart("retry-failed", "attributes")
    assert "1 recordings have failed rows" in output
    assert "0 recordings still have failed rows" in output
    assert sum(llm_graph.asked().values()) == asked + 1


def test_every_llm_stage_has_settings_a_table_an_asset_and_a_job(llm_graph: LLMGraph):
    from dagster_project.definitions import build_definitions
    from ml.tables.catalogue import TABLES

    definitions = build_definitions(load_settings())
    assert set(LLM_JOBS) == set(LLM_STAGES) == set(type(load_settings().stages).model_fields)
    for name, stage in LLM_STAGES.items():
        assert {name, *stage.reads} <= set(TABLES)
        job = definitions.resolve_job_def(LLM_JOBS[name])
        assert dg.AssetKey(name) in job.asset_layer.selected_asset_keys
        assert definitions.resolve_asset_graph().get(dg.AssetKey(name)).code_version.endswith(stage.version())
