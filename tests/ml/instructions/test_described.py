import json

import polars as pl
import pytest

from ml.instructions.described import instruct_descriptions, stated_amounts
from ml.instructions.prompts import INSTRUCT, instruct_hash, propose_hash
from ml.instructions.rules import RULES
from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from ml.tables.declarations.recordings import INSTRUCTIONS
from ml.tables.declarations.sources import IMPORTED_STEPS
from tests.ml.instructions.made import described, recording

OFFLINE = Client(RulesBackend(RULES))


def rows(frame: pl.DataFrame) -> list[tuple]:
    return frame.select("step_uid", "instruction", "is_cooking", "status").rows()


def test_every_description_is_a_row_with_an_instruction_or_a_reason():
    made = INSTRUCTIONS.check(instruct_descriptions(described("cuts the onion", "clean hands"), recording(), OFFLINE))
    assert rows(made) == [("s0#0", "Cut the onion.", True, "ok"), ("s1#0", None, False, "not_applicable")]
    assert made["reason"].to_list() == [None, "no step of cooking"]


def test_leaves_are_asked_about_and_steps_with_substeps_are_not():
    steps = described("makes the salad", "cuts the onion").with_columns(
        parent_uid=pl.when(pl.col("step_uid") == "s1#0").then(pl.lit("s0#0"))
    )
    made = instruct_descriptions(steps, recording(), OFFLINE)
    assert rows(made) == [("s0#0", None, None, "not_applicable"), ("s1#0", "Cut the onion.", True, "ok")]
    assert made["reason"][0] == "its substeps are instructed instead"


def test_irrelevant_unclean_and_instructing_steps_are_not_asked_about():
    irrelevant = described("cuts the onion", relevance="irrelevant")
    withheld = described("cuts the onion", recording_id="gs/w", is_clean=False, status="skipped", reason="times are withheld")
    tells = described("Cut the onion", recording_id="gs/x", is_instruction=True)
    made = instruct_descriptions(pl.concat([irrelevant, withheld, tells]), pl.concat([recording(f"gs/{n}") for n in "vwx"]), OFFLINE)
    assert made.select("recording_id", "status", "reason").rows() == [
        ("gs/v", "not_applicable", "the source calls it irrelevant to the goal"),
        ("gs/w", "skipped", "times are withheld"),
    ]


@pytest.mark.parametrize("backend", [AnthropicBackend, OpenAIBackend])
def test_models_are_asked_once_per_distinct_question_and_get_the_context(provider, backend):
    provider.play({"text": json.dumps({"is_cooking": True, "instruction": "Cut the onion."}), "kind": "text", "times": 0})
    client = Client(backend("some-model", api_key="k", base_url=provider.url))
    steps = pl.concat([described("cuts the onion", recording_id=f"gs/{n}") for n in "vw"])
    made = instruct_descriptions(steps, pl.concat([recording("gs/v"), recording("gs/w")]), client)
    assert made["instruction"].to_list() == ["Cut the onion."] * 2
    (call,) = provider.calls()
    said = json.dumps(call["body"])
    assert "cuts the onion" in said
    assert "COOKING:MAKE_SOUP" in said
    assert "Peel and cut ingredients: Cut" in said
    assert "is_cooking" in json.dumps(call["body"].get("output_config") or call["body"]["response_format"])


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"is_cooking": true, "instruction": "Cut the onion."} Let me know!', "ok"),
        ('[{"is_cooking": "yes", "instruction": "Cut the onion."}]', "ok"),
        ("{'is_cooking': False, 'instruction': ''}", "not_applicable"),
        ('{"is_cooking": false, "instruction": null}', "not_applicable"),
        ('{"is_cooking": "perhaps", "instruction": "Cut the onion."}', "unparsable"),
        ('{"is_cooking": true, "instruction": ""}', "empty"),
        ('{"is_cooking": true, "instruction": "Cut the onion.\\nThen fry it."}', "empty"),
        ('{"is_cooking": true, "instruction": "Add 2 cups of flour."}', "inconsistent"),
        ('{"is_cooking": true, "instruction": "Fry for 3 minutes."}', "inconsistent"),
        ('{"instruction": "Cut the onion."}', "unparsable"),
        ('{"is_cooking": true, "instruction": "' + "x" * 301 + '"}', "unparsable"),
        ("None", "unparsable"),
        ("I'm sorry, I can't assist with that.", "refused"),
    ],
)
def test_replies_are_read_tolerantly_and_never_mended(provider, text, status):
    provider.play({"text": text, "kind": "text", "times": 0})
    client = Client(OpenAIBackend("some-model", base_url=provider.url))
    made = INSTRUCTIONS.check(instruct_descriptions(described("cuts the onion"), recording(), client))
    assert made["status"][0] == status
    assert (made["instruction"][0] == "Cut the onion.") == (status == "ok")
    assert (made["reason"][0] is None) == (status == "ok")


def test_a_truncated_reply_is_an_outcome_of_its_own(provider):
    provider.play({"text": '{"is_cooking": true, "instr', "kind": "text", "stop_reason": "max_tokens", "times": 0})
    made = instruct_descriptions(described("cuts the onion"), recording(), Client(OpenAIBackend("some-model", base_url=provider.url)))
    assert made["status"].to_list() == ["truncated"]


def test_amounts_that_the_description_states_may_be_said_in_other_words():
    assert stated_amounts("boil for 90 seconds") == stated_amounts("Boil it for 1 minute 30 seconds.")
    assert stated_amounts("two tbsp of oil") == stated_amounts("Add 2 tablespoons of oil.")
    assert stated_amounts("cut it in 2 pieces") == frozenset()


def test_the_hashes_are_those_of_the_prompts_and_differ():
    assert instruct_hash() != propose_hash()
    assert len(instruct_hash()) == 12
    assert "$description" in INSTRUCT


def test_no_steps_make_no_rows():
    assert instruct_descriptions(IMPORTED_STEPS.empty(), recording(), OFFLINE).is_empty()
