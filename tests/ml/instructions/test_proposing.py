import json

import polars as pl
import pytest

from ml.instructions.proposing import PART_S, propose_steps, steps_of_proposals
from ml.instructions.rules import RULES
from ml.instructions.told import told_steps
from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from ml.tables.declarations.recordings import INSTRUCTIONS, NARRATIONS, PROPOSED_STEPS, RECORDINGS
from ml.tables.declarations.sources import IMPORTED_STEPS
from tests.ml.counterfactuals.conftest import make_narrations
from tests.ml.instructions.made import described

RAW = "raw_videos/a.mp4"
OFFLINE = Client(RulesBackend(RULES))
SLICING, POURING = "The person slices the onion with a knife.", "The person pours oil into the pan."


def raw(video_status: str = "ok") -> pl.DataFrame:
    about = {"recording_id": RAW, "source": "raw_videos", "native_id": "a.mp4", "licence": "not stated", "members": []}
    return RECORDINGS.rows([about | {"video_status": video_status, "status": "waiting", "reason": "no recipe"}])


def answered(provider, *steps: tuple[object, object, object]) -> pl.DataFrame:
    listed = [{"start_s": start, "end_s": end, "instruction": text} for start, end, text in steps]
    provider.play({"text": json.dumps({"steps": listed}), "kind": "text", "times": 0})
    client = Client(OpenAIBackend("some-model", base_url=provider.url))
    return propose_steps(raw(), make_narrations(SLICING, SLICING, POURING, recording_id=RAW), client)


def test_offline_proposals_are_steps_marked_as_proposed():
    made = PROPOSED_STEPS.check(propose_steps(raw(), make_narrations(SLICING, SLICING, POURING, recording_id=RAW), OFFLINE))
    assert made.select("start_s", "end_s", "instruction", "status").rows() == [
        (0.0, 12.5, "Slice the onion with a knife.", "ok"),
        (12.5, 20.0, "Pour oil into the pan.", "ok"),
    ]
    steps = IMPORTED_STEPS.check(steps_of_proposals(made))
    assert steps["is_proposed"].all()
    assert steps["is_instruction"].all()
    assert steps["is_clean"].all()


def test_a_recording_without_narrations_waits_with_a_reason():
    made = propose_steps(raw(), NARRATIONS.empty(), OFFLINE)
    assert made.select("status", "reason").rows() == [("waiting", "there are no narrations yet")]
    failed = make_narrations(None, recording_id=RAW, status="bad_video", reason="moov atom not found")
    assert propose_steps(raw(), failed, OFFLINE).select("status", "reason").rows() == [("bad_video", "moov atom not found")]
    assert steps_of_proposals(made).is_empty()
    cut = propose_steps(raw("bad_video"), NARRATIONS.empty(), OFFLINE)
    assert cut.select("status", "reason").rows() == [("bad_video", "nothing to propose from: the video is bad_video")]


@pytest.mark.parametrize("backend", [AnthropicBackend, OpenAIBackend])
def test_models_see_the_windows_with_their_times(provider, backend):
    provider.play({"text": '{"steps": []}', "kind": "text", "times": 0})
    client = Client(backend("some-model", api_key="k", base_url=provider.url))
    made = propose_steps(raw(), make_narrations(SLICING, POURING, recording_id=RAW), client)
    assert made.select("status", "reason").rows() == [("not_applicable", "no cooking in this part")]
    (call,) = provider.calls()
    assert f"5 s to 15 s: {POURING}" in json.dumps(call["body"])
    assert "from 0 s to 15 s" in json.dumps(call["body"])


def test_times_that_do_not_fit_are_outcomes_and_never_moved(provider):
    made = answered(
        provider,
        (0, 10, "Slice the onion."),
        (15, 31, "Fry it."),
        (12, 12, "Stir."),
        ("00:12", "15 s", "Pour oil."),
        (1, None, "Wash."),
        (1, 2, ""),
    )
    assert made.select("start_s", "end_s", "status").rows() == [
        (0.0, 10.0, "ok"),
        (15.0, 31.0, "out_of_clip"),
        (12.0, 12.0, "inconsistent"),
        (12.0, 15.0, "ok"),
        (1.0, None, "unparsable"),
        (1.0, 2.0, "empty"),
    ]
    assert steps_of_proposals(made)["instruction"].to_list() == ["Slice the onion.", "Pour oil."]


def test_a_bad_reply_is_one_row(provider):
    for text, status in (('{"steps": "none"}', "unparsable"), ("no idea", "unparsable"), ("I cannot assist with that.", "refused")):
        provider.play({"text": text, "kind": "text", "times": 0})
        client = Client(OpenAIBackend("some-model", base_url=provider.url))
        assert propose_steps(raw(), make_narrations(SLICING, recording_id=RAW), client)["status"].to_list() == [status]


def test_long_recordings_are_asked_about_in_parts_and_a_step_over_the_border_is_one():
    count = int(PART_S / 5) + 40
    made = propose_steps(raw(), make_narrations(*[SLICING] * count, recording_id=RAW), OFFLINE)
    assert made["part_start_s"].n_unique() == 2
    assert made.height == 2
    assert (made["part_end_s"] - made["part_start_s"]).max() <= PART_S
    steps = steps_of_proposals(made)
    assert steps.select("start_s", "end_s").rows() == [(0.0, count * 5.0 + 5)]


def test_a_recipe_stands_before_proposals_and_a_description_without_instruction_stays_one():
    proposals = propose_steps(raw(), make_narrations(SLICING, recording_id=RAW), OFFLINE)
    given = described("Cut the onion", recording_id=RAW, is_instruction=True)
    assert told_steps(given, INSTRUCTIONS.empty(), proposals)["instruction"].to_list() == ["Cut the onion"]
    assert told_steps(IMPORTED_STEPS.empty(), INSTRUCTIONS.empty(), proposals)["is_proposed"].all()
    steps = described("cuts the onion", "clean hands")
    row = {"recording_id": "gs/v", "step_uid": "s0#0", "description": "cuts the onion", "instruction": "Cut the onion.", "model": "m"}
    told = told_steps(steps, INSTRUCTIONS.rows([row | {"status": "ok"}]), PROPOSED_STEPS.empty())
    assert told.select("instruction", "description", "is_instruction").rows() == [
        ("Cut the onion.", "cuts the onion", True),
        ("clean hands", "clean hands", False),
    ]
