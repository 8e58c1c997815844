"""Batches through the graph: a run submits and ends, the sensor collects and requests the next, until all rows are there at half price."""

import dagster as dg
import pytest

from ml.llm.prices import BATCH_SHARE, price_of
from ml.settings import load_settings
from tests.llm_graph import MODEL, LLMGraph, metadata

USAGE = {"input_tokens": 100, "output_tokens": 10}
REPLIES = (
    {"kind": "text", "when": "Which cooking technique", "text": '{"technique": "Slice", "item": "carrot"}', "times": 0, "usage": USAGE},
    {"kind": "text", "when": "Name another technique", "text": "dice", "times": 0, "usage": USAGE},
    {"kind": "text", "when": "Rewrite the step", "text": "Dice the carrot.", "times": 0, "usage": USAGE},
    {"kind": "text", "when": "Write what an assistant", "text": "You slice it, dice it instead.", "times": 0, "usage": USAGE},
    {"kind": "text", "text": "None", "times": 0, "usage": USAGE},
)
ROUNDS = 4  # attributes; then changed technique, instruction and feedback


def tick(graph: LLMGraph):
    from dagster_project.definitions import build_definitions

    definitions = build_definitions(load_settings())
    sensor = definitions.resolve_sensor_def("llm_batches")
    with dg.build_sensor_context(instance=graph.instance(), definitions=definitions) as context:
        return sensor.evaluate_tick(context)


def batched(graph: LLMGraph, **more: object) -> None:
    graph.settings(**{stage: {"batch": True, **more} for stage in ("attributes", "counterfactuals")})


def sent(graph: LLMGraph) -> list[list[str]]:
    posts = [call["body"]["requests"] for call in graph.provider.calls() if call["path"] == "POST /v1/messages/batches"]
    return [[item["params"]["messages"][0]["content"] for item in items] for items in posts]


def test_from_submission_to_the_last_row(llm_graph: LLMGraph):
    for _ in range(2):
        llm_graph.record("Slice the carrot.")
    batched(llm_graph)
    llm_graph.provider.play(*REPLIES, polls_until_ended=2)
    first = llm_graph.run()
    assert first.success
    assert first.get_asset_materialization_events() == []
    assert llm_graph.rows("attributes").is_empty()
    assert [len(batch) for batch in sent(llm_graph)] == [5]
    assert "1 batches are on their way" in tick(llm_graph).skip_message
    spent = 0.0
    for _ in range(ROUNDS):
        request = next(one for _ in range(3) for one in tick(llm_graph).run_requests)
        assert request.job_name == "counterfactuals_job"
        result = llm_graph.run(tags=dict(request.tags), job=request.job_name)
        assert result.success
        made = {event.asset_key.to_user_string() for event in result.get_asset_materialization_events()}
        spent += sum(metadata(result, asset)["run money usd"] for asset in made & {"attributes", "counterfactuals"})
    assert "0 batches are on their way" in tick(llm_graph).skip_message
    questions = [question for batch in sent(llm_graph) for question in batch]
    assert len(questions) == len(set(questions)) == 5 + 3  # equal steps ask once
    assert llm_graph.rows("counterfactuals")["counterfactual_instruction"].to_list() == ["Dice the carrot."] * 2
    assert llm_graph.rows("feedback_timestamps").height == 2
    price = price_of(MODEL)
    assert spent == pytest.approx(8 * BATCH_SHARE * (100 * price.input + 10 * price.output) / 1e6)
    finished = {run.status for run in llm_graph.instance().get_runs()}
    assert finished == {dg.DagsterRunStatus.SUCCESS}  # no run and no worker waited


def test_a_later_run_does_not_tell_the_cost_of_a_batch_again(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={"batch": True})
    llm_graph.provider.play(*REPLIES)
    llm_graph.run("attributes")
    (request,) = tick(llm_graph).run_requests
    first = llm_graph.run("attributes", tags=dict(request.tags))
    assert metadata(first, "attributes")["run calls"] == 5
    llm_graph.store.drop("attributes", llm_graph.ids[0])
    again = metadata(llm_graph.run("attributes"), "attributes")
    assert (again["run calls"], again["run money usd"]) == (0, 0.0)


def test_the_estimate_halves_the_price(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    told = []
    for batch in (False, True):
        batched(llm_graph, batch=batch)
        (event,) = llm_graph.run("attributes", config={"dry_run": True}).get_asset_observation_events()
        told.append(event.asset_observation_data.asset_observation.metadata["estimated worst money usd"].value)
    assert told[1] == pytest.approx(told[0] / 2, rel=1e-3)


def test_what_failed_or_expired_is_sent_again_alone(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={"batch": True})
    lost = ({"kind": "errored", "when": "Which cooking technique"}, {"kind": "expired", "when": "measured or counted"})
    llm_graph.provider.play(*lost, *REPLIES)
    assert llm_graph.run("attributes").success
    (request,) = tick(llm_graph).run_requests
    assert request.asset_selection == [dg.AssetKey("attributes")]  # no more than the run that waited
    assert llm_graph.run("attributes", tags=dict(request.tags)).success
    again = sent(llm_graph)[1]
    assert len(again) == 2
    (request,) = tick(llm_graph).run_requests
    assert llm_graph.run("attributes", tags=dict(request.tags)).success
    assert llm_graph.rows("attributes").height == 5
    assert tick(llm_graph).run_requests == []


def test_what_is_asked_again_in_a_batch_is_written_once_it_comes(llm_graph: LLMGraph):
    cut = {"kind": "text", "when": "Which cooking technique", "text": '{"technique": "Sl', "stop_reason": "max_tokens"}
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={})
    llm_graph.provider.play(cut, *REPLIES)
    assert llm_graph.run("attributes").success
    assert llm_graph.rows("attributes")["status"].to_list().count("truncated") == 1
    llm_graph.settings(attributes={"batch": True})
    llm_graph.provider.play(*REPLIES, polls_until_ended=2)
    assert llm_graph.run("attributes", config={"retry_failed": True}).success
    assert [len(batch) for batch in sent(llm_graph)] == [1]
    assert llm_graph.run("attributes").success  # by hand, too early: it takes nothing from the run that waits
    request = next(one for _ in range(4) for one in tick(llm_graph).run_requests)
    result = llm_graph.run("attributes", tags=dict(request.tags))
    assert result.success
    assert sorted(llm_graph.rows("attributes")["status"].to_list()) == ["not_applicable"] * 4 + ["ok"]
    assert metadata(result, "attributes")["run calls"] == 1
    assert tick(llm_graph).run_requests == []
    assert len(sent(llm_graph)) == 1


def test_what_fails_again_in_a_batch_is_not_paid_for_a_third_time(llm_graph: LLMGraph):
    cut = {"kind": "text", "when": "Which cooking technique", "text": '{"technique": "Sl', "stop_reason": "max_tokens", "times": 0}
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={})
    llm_graph.provider.play(cut, *REPLIES)
    assert llm_graph.run("attributes").success
    llm_graph.settings(attributes={"batch": True})
    llm_graph.provider.play(cut, *REPLIES)
    assert llm_graph.run("attributes", config={"retry_failed": True}).success
    (request,) = tick(llm_graph).run_requests
    assert llm_graph.run("attributes", tags=dict(request.tags)).success
    assert tick(llm_graph).run_requests == []
    assert len(sent(llm_graph)) == 1
    assert llm_graph.rows("attributes")["status"].to_list().count("truncated") == 1


def test_one_request_is_made_however_often_the_sensor_ticks(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={"batch": True})
    llm_graph.provider.play(*REPLIES)
    llm_graph.run("attributes")
    keys = [request.run_key for _ in range(3) for request in tick(llm_graph).run_requests]
    assert len(keys) == 3
    assert len(set(keys)) == 1  # Dagster takes a run key once


def test_recordings_that_are_done_are_told_while_others_wait(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={})
    llm_graph.provider.play(*REPLIES)
    llm_graph.run("attributes")
    llm_graph.record("Peel the carrot.")
    llm_graph.settings(attributes={"batch": True})
    result = llm_graph.run("attributes")
    assert [event.partition for event in result.get_asset_materialization_events()] == ["cc~0"]
    assert sorted(llm_graph.instance().get_materialized_partitions(dg.AssetKey("attributes"))) == ["cc~0"]


def test_the_sensor_is_on_where_a_stage_uses_batches(llm_graph: LLMGraph):
    from dagster_project.definitions import build_definitions

    states = []
    for stages in ({}, {"attributes": {"batch": True}}):
        definitions = build_definitions(llm_graph.settings(**stages))
        states.append(definitions.resolve_sensor_def("llm_batches").default_status)
    assert states == [dg.DefaultSensorStatus.STOPPED, dg.DefaultSensorStatus.RUNNING]


def test_a_sensor_without_a_key_says_so_and_goes_on(llm_graph: LLMGraph, monkeypatch: pytest.MonkeyPatch):
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={"batch": True})
    llm_graph.run("attributes")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    (llm_graph.folder / "interject.toml").write_text((llm_graph.folder / "interject.toml").read_text().replace("base_url", "# base_url"))
    assert "1 batches are on their way" in tick(llm_graph).skip_message


def test_a_server_that_is_away_keeps_no_other_models_batches_from_being_collected(llm_graph: LLMGraph):
    llm_graph.record("Slice the carrot.")
    llm_graph.settings(attributes={"batch": True})
    llm_graph.provider.play(*REPLIES)
    llm_graph.run("attributes")
    away = {"batch": True, "base_url": "http://127.0.0.1:9"}
    llm_graph.settings(attributes=away)
    assert "no connection to http://127.0.0.1:9" in tick(llm_graph).skip_message
    llm_graph.settings(attributes=away, counterfactuals={"batch": True})
    assert len(tick(llm_graph).run_requests) == 1
