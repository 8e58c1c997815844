"""LLM assets in the graph against the played provider: spend, budget, failures, what is asked again, a kill in mid-stage."""

import os
import signal
import sqlite3
import time

import dagster as dg
import pytest

from assets.fingerprints import Fingerprints
from ml.errors import InputError
from ml.llm.replies import share_of_round
from ml.settings import load_settings
from ml.vocabulary import Status
from tests.llm_graph import LLMGraph, failure, metadata

NONE = {"kind": "text", "text": "None", "times": 0}
STEPS = ("Slice the carrot.", "Beat the eggs with a whisk.", "Add 3 scoops of cocoa to the bowl.")


def test_a_materialization_tells_what_was_expected_and_what_was_spent(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={})
    llm_graph.provider.play({**NONE, "usage": {"input_tokens": 100, "output_tokens": 2}})
    result = llm_graph.run("attributes")
    assert result.success
    told = metadata(result, "attributes")
    assert (told["run calls"], told["estimated calls"], told["run cache hits"]) == (15, 15, 0)
    assert told["run money usd"] == pytest.approx(15 * (100 * 1.0 + 2 * 5.0) / 1e6)
    assert 0 < told["estimated money usd"] < told["estimated worst money usd"]
    assert told["run outcome ok"] == 15
    llm_graph.store.drop("attributes", llm_graph.ids[0])
    again = metadata(llm_graph.run("attributes"), "attributes")
    assert (again["run calls"], again["run money usd"], again["run cache hits"], again["estimated calls"]) == (0, 0.0, 15, 0)
    assert again["run money saved usd"] == pytest.approx(told["run money usd"])


def test_a_dry_run_is_an_observation_and_asks_nothing(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={})
    result = llm_graph.run("attributes", config={"dry_run": True})
    assert result.success
    (event,) = result.get_asset_observation_events()
    told = event.asset_observation_data.asset_observation.metadata
    assert (told["estimated calls"].value, told["recordings due"].value) == (15, 1)
    assert llm_graph.provider.calls() == []
    assert not llm_graph.store.has("attributes", llm_graph.ids[0])


def test_a_model_without_constrained_output_is_asked_by_a_tool(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    llm_graph.provider.play(NONE)
    llm_graph.settings(attributes={})
    before = Fingerprints(llm_graph.store, load_settings()).attributes(llm_graph.ids[0])
    settings = llm_graph.settings(attributes={"schema_by": "tool"})
    assert Fingerprints(llm_graph.store, settings).attributes(llm_graph.ids[0]) != before
    assert llm_graph.run("attributes").success
    bodies = [call["body"] for call in llm_graph.provider.calls()]
    assert {body["tool_choice"]["type"] for body in bodies if "tools" in body} == {"tool"}
    assert not any("output_config" in body for body in bodies)
    with pytest.raises(InputError, match="`schema_by` 'tool' is for backend 'anthropic'"):
        llm_graph.settings(attributes={"backend": "openai", "schema_by": "tool"})


def test_row_60_times_in_fives_show(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.", narrations=("The person slices the carrot.",) * 12)
    result = llm_graph.run("attributes", "counterfactuals", "feedback_timestamps")
    times = llm_graph.rows("feedback_timestamps")["t_s"].drop_nulls().to_list()
    assert times
    assert metadata(result, "feedback_timestamps")["share of times in fives"] == share_of_round(times)


def test_a_budget_that_ends_fails_the_run_and_a_later_one_goes_on(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={"budget_calls": 10})
    llm_graph.provider.play(NONE)
    assert "the budget of attributes ended" in failure(llm_graph.run("attributes"))
    assert not llm_graph.store.has("attributes", llm_graph.ids[0])
    assert sum(llm_graph.asked().values()) == 10
    assert llm_graph.run("attributes").success
    assert set(llm_graph.asked().values()) == {1}
    assert llm_graph.rows("attributes").height == 15


def test_a_stage_fails_by_its_share_of_failures_and_loses_nothing(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={"max_failed_share": 0.3})
    refusal = {"kind": "text", "text": "", "stop_reason": "refusal", "when": "technique", "times": 0}
    llm_graph.provider.play(refusal, {"kind": "text", "text": '{"method": "x", "object": "y"}', "when": "preparation", "times": 0}, NONE)
    result = llm_graph.run("attributes")  # of 15 rows 3 are refused
    assert result.success
    llm_graph.settings(attributes={"max_failed_share": 0.1})
    told = failure(llm_graph.run("attributes"))  # nothing is made, and the limit is passed all the same
    assert told.startswith("3 of 15 rows of attributes failed (more than 10% of the rows); most often refused: stop reason refusal")
    assert "interject retry-failed attributes" in told
    assert set(llm_graph.asked().values()) == {1}
    assert llm_graph.rows("attributes").height == 15


def test_what_was_spent_is_told_where_a_run_fails_too(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    llm_graph.record("Peel the potato.")
    llm_graph.settings(attributes={})
    llm_graph.provider.play({"kind": "text", "text": "", "stop_reason": "refusal", "when": "potato", "times": 0}, NONE)
    result = llm_graph.run("attributes")
    assert "5 of 10 rows of attributes failed" in failure(result)
    assert llm_graph.told(result, "run calls") == {"cc~0": 10, "cc~1": 10}  # the rows are there, so they are told
    llm_graph.record("Fry the egg.")
    llm_graph.settings(attributes={"budget_calls": 3})
    result = llm_graph.run("attributes")
    assert "the budget of attributes ended" in failure(result)
    assert llm_graph.told(result, "run calls") == {"cc~0": 3, "cc~1": 3}
    llm_graph.settings(attributes={"max_in_flight": 1})
    llm_graph.provider.play({"kind": "text", "text": "None"}, {"kind": "status", "status": 401, "times": 0})
    result = llm_graph.run("attributes")
    assert "the key was refused" in failure(result)
    assert llm_graph.told(result, "run calls") == {"cc~0": 1, "cc~1": 1}


def test_nothing_but_failures_is_a_failed_stage(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={"max_failed_share": 1.0})
    llm_graph.provider.play({"kind": "text", "text": "[[", "times": 0})
    assert "(nothing came out); most often unparsable" in failure(llm_graph.run("attributes"))


def test_failed_rows_are_paid_for_again_only_when_asked(llm_graph: LLMGraph):
    llm_graph.record(*STEPS)
    llm_graph.settings(attributes={"max_failed_share": 1.0})
    cut = {"kind": "text", "text": '{"technique": "sl', "stop_reason": "max_tokens", "when": "technique", "times": 3}
    lost = {"kind": "status", "status": 500, "when": "measured or counted", "times": 6}  # two attempts each
    good = {"kind": "text", "text": '{"technique": "slice", "item": "carrot"}', "when": "cooking technique", "times": 0}
    llm_graph.provider.play(cut, lost, good, NONE)
    assert "truncated" in failure(llm_graph.run("attributes")) or llm_graph.rows("attributes").height
    before = llm_graph.rows("attributes")
    assert dict(before["status"].value_counts().iter_rows()) == {"not_applicable": 9, "truncated": 3, "error": 3}
    asked = sum(llm_graph.asked().values())
    llm_graph.run("attributes")
    assert sum(llm_graph.asked().values()) == asked
    result = llm_graph.run("attributes", config={"retry_failed": True})
    assert result.success
    assert sum(llm_graph.asked().values()) == asked + 6
    assert metadata(result, "attributes")["run calls"] == 6
    assert dict(llm_graph.rows("attributes")["status"].value_counts().iter_rows()) == {"not_applicable": 12, "ok": 3}


def test_rows_made_anew_are_seen_by_the_stages_after(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={"max_failed_share": 1.0})
    cut = {"kind": "text", "text": '{"technique": "sl', "stop_reason": "max_tokens", "when": "cooking technique"}
    good = {"kind": "text", "text": '{"technique": "Slice", "item": "carrot"}', "when": "cooking technique", "times": 0}
    llm_graph.provider.play(cut, good, NONE)
    llm_graph.run("attributes")
    llm_graph.run("counterfactuals")
    assert llm_graph.rows("counterfactuals").is_empty()
    assert llm_graph.run("attributes", config={"retry_failed": True}).success
    assert llm_graph.run("counterfactuals").success
    assert llm_graph.rows("counterfactuals")["status"].to_list() == [Status.OK]


def test_what_every_call_would_meet_is_asked_once_and_stops_the_run(llm_graph: LLMGraph):
    for _ in range(3):
        llm_graph.record(*STEPS)
    llm_graph.settings(attributes={"max_in_flight": 1})
    llm_graph.provider.play({"kind": "status", "status": 401, "times": 0})
    assert "the key was refused" in failure(llm_graph.run("attributes"))
    assert len(llm_graph.provider.calls()) == 1


def test_killed_in_mid_stage_a_rerun_repeats_no_call_and_loses_and_doubles_no_row(llm_graph: LLMGraph):
    answered, in_flight = 40, 8
    for recording in range(4):
        llm_graph.record(*(f"Slice {recording} carrots for meal {step}." for step in range(4)))
    llm_graph.settings(attributes={"max_in_flight": in_flight})
    llm_graph.provider.play({**NONE, "times": answered}, {"kind": "hang", "times": 0})
    process = llm_graph.start()
    replies = llm_graph.folder / "data" / "llm_cache" / "replies.sqlite"
    deadline = time.monotonic() + 240
    while len(llm_graph.provider.calls()) < answered + in_flight or _stored(replies) < answered:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    hung = {call["body"]["messages"][0]["content"] for call in llm_graph.provider.calls() if call["kind"] == "hang"}
    assert len(hung) == in_flight
    llm_graph.provider.play_on(NONE)
    rerun = llm_graph.start()
    output, _ = rerun.communicate(timeout=240)
    assert rerun.returncode == 0, output
    asked = llm_graph.asked()
    assert len(asked) == 4 * 4 * 5
    assert {question: count for question, count in asked.items() if count > 1} == dict.fromkeys(hung, 2)  # never answered, so never paid
    rows = llm_graph.rows("attributes")
    assert rows.height == rows.select("recording_id", "step_uid", "mistake_type", "attribute_index").unique().height == 4 * 4 * 5
    assert _stored(replies) == 4 * 4 * 5
    events = llm_graph.instance().get_materialized_partitions(dg.AssetKey("attributes"))
    assert len(events) == 4


def _stored(replies) -> int:
    if not replies.exists():
        return 0
    with sqlite3.connect(f"file:{replies}?mode=ro", uri=True) as connection:
        try:
            return connection.execute("SELECT count(*) FROM replies").fetchone()[0]
        except sqlite3.OperationalError:
            return 0
