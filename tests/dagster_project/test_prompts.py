"""`interject prompt` for every LLM stage: what is printed is what is sent, no question more and none less."""

import json
from contextlib import suppress

import polars as pl
import pytest

from dagster_project.jobs import LLM_JOBS
from dagster_project.prompts import rendered
from ml.errors import InputError
from ml.llm_stages import LLM_STAGES
from ml.settings import load_settings
from ml.sources.imported import IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.tables.declarations.recordings import RECORDINGS
from ml.tables.store import encode_key
from tests.llm_graph import STAGES, LLMGraph
from tests.ml.counterfactuals.conftest import make_narrations
from tests.ml.instructions.made import described

TEXTS = ("Slice the carrot.", "Add 3 scoops of cocoa to the bowl.", "Slice the carrot.", "Beat the eggs with a whisk.")
TOLD = ("The person slices the carrot.", "The person adds one scoop of cocoa.", "The person beats the eggs with a whisk.") * 6


def sent(graph: LLMGraph) -> set[tuple[str, str]]:
    found = set()
    for body in (call["body"] for call in graph.provider.calls() if call["path"] == "/v1/messages"):
        system = body["system"] if isinstance(body["system"], str) else body["system"][0]["text"]
        found.add((system, body["messages"][0]["content"]))
    return found


def printed(stage: str, steps: list[str]) -> set[tuple[str, str]]:
    """The questions about each step; a step that is not asked about has none."""
    found = set()
    for step in steps:
        with suppress(InputError):
            found |= {(one.system, one.prompt) for one in rendered(load_settings(), stage, step)}
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_what_is_printed_of_the_steps_is_what_is_sent(llm_graph: LLMGraph, stage: str):
    identifier = llm_graph.record(*TEXTS, narrations=TOLD)
    before = STAGES[: STAGES.index(stage)]
    if before:
        assert llm_graph.run(*before).success  # by the rules
    llm_graph.settings(**{stage: {"max_failed_share": 1.0}})
    llm_graph.provider.play({"kind": "text", "text": "no such thing", "times": 0})
    steps = llm_graph.store.read("steps", identifier)["step_uid"].to_list()
    llm_graph.run(stage)
    assert sent(llm_graph)
    again = {(system, prompt) for system, prompt in sent(llm_graph) if "could not be read" in prompt}
    assert printed(stage, steps) == sent(llm_graph) - again


def test_a_described_step_is_printed_with_its_parent_and_a_parent_not_at_all(llm_graph: LLMGraph):
    identifier = llm_graph.record()
    steps = described("makes the salad", "cuts the onion", "rinses it", recording_id=identifier).with_columns(
        parent_uid=pl.when(pl.col("step_uid") != "s0#0").then(pl.lit("s0#0"))
    )
    llm_graph.store.write("imported_steps", IMPORTED_STEPS.check(steps), "cc", made_from="v1")
    llm_graph.settings(instructions={})
    found = printed("instructions", ["s0#0", "s1#0", "s2#0"])
    assert {"Larger step that it is a part of: makes the salad" in prompt for _, prompt in found} == {True}
    with pytest.raises(InputError, match="its substeps are instructed instead"):
        rendered(load_settings(), "instructions", "s0#0")
    llm_graph.provider.play({"kind": "text", "text": json.dumps({"is_cooking": False, "instruction": ""}), "times": 0})
    assert llm_graph.run("instructions", job=LLM_JOBS["instructions"]).success
    assert found == sent(llm_graph)


def test_proposals_are_printed_by_recording_before_there_are_any(llm_graph: LLMGraph):
    identifier = "raw_videos/a"
    row = {"recording_id": identifier, "source": "raw_videos", "native_id": "a", "licence": "none", "members": [], "status": "ok"}
    llm_graph.store.write("imported_recordings", IMPORTED_RECORDINGS.rows([row]), "raw_videos/a", made_from="v1")
    placed = RECORDINGS.rows([row | {"video_path": "/no/such", "video_status": "ok", "duration_s": 60.0}])
    llm_graph.store.write("recordings", placed, identifier, made_from="v1")
    llm_graph.store.write("narrations", make_narrations(*TOLD, recording_id=identifier), identifier, made_from="v1")
    llm_graph.instance().add_dynamic_partitions("recordings", [encode_key(identifier)])
    llm_graph.settings(proposed_steps={})
    with pytest.raises(InputError, match="Name one with --recording"):
        rendered(load_settings(), "proposed_steps")
    found = {(one.system, one.prompt) for one in rendered(load_settings(), "proposed_steps", recording=identifier)}
    llm_graph.provider.play({"kind": "text", "text": '{"steps": []}', "times": 0})
    llm_graph.ids.append(identifier)
    assert llm_graph.run("proposed_steps", job=LLM_JOBS["proposed_steps"]).success
    assert found == sent(llm_graph)
    assert len(found) == 1


def test_every_stage_is_held_here():
    assert set(LLM_STAGES) == {*STAGES, "instructions", "proposed_steps"}
