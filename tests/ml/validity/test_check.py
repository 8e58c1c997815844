import json

import polars as pl
import pytest

from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.backends.rules import RulesBackend
from ml.llm.cache import ReplyCache
from ml.llm.client import Client
from ml.llm.requests import Reply
from ml.tables.declarations.pairs import VALIDITY_CHECK
from ml.validity.check import check_pairs, read_verdicts
from ml.validity.rules import OPEN, check_validity, rules
from ml.vocabulary import MistakeType, Status
from tests.ml.comist.made import counterfactual, counterfactuals, timestamps
from tests.ml.counterfactuals.conftest import make_narrations

GOOD = '{"different": true, "feasible": false, "of_type": true, "why": "There is no oven."}'


def offline() -> Client:
    return Client(RulesBackend(rules()))


def by_rule(kind: MistakeType, original: str, changed: str) -> dict:
    return json.loads(check_validity({"mistake_type": kind, "instruction": original, "counterfactual_instruction": changed}))


@pytest.mark.parametrize(
    ("kind", "original", "changed", "different", "of_type"),
    [
        ("measurement", "Add 3 cups of rice", "Add 2 cups of rice", True, True),
        ("measurement", "Crack 2 eggs into the bowl", "Crack 3 eggs into the bowl", True, True),
        ("measurement", "Boil for 3 minutes", "Boil for 5 minutes", True, False),
        ("measurement", "Add a pinch of salt", "Add a handful of salt", True, None),
        ("measurement", "Add 3 tsp of salt", "Add 1 tbsp of salt", False, None),
        ("timing", "Boil for 60 seconds", "Boil for 1 minute", False, None),
        ("timing", "Boil for 3 minutes", "Boil for 5 minutes", True, True),
        ("timing", "Fry on low heat", "Fry on high heat", True, False),
        ("temperature", "Fry on low heat", "Fry on high heat", True, True),
        ("temperature", "Bake at 350 F", "Bake at 400 F", True, True),
        ("temperature", "Turn the dial to 4", "Turn the dial to 6", True, None),
        ("technique", "Slice the onion", "Grate the onion", True, None),
        ("technique", "Cook the rice for 3 minutes", "Cook the rice for 5 minutes", True, False),
        ("technique", "Cut the onion 2 cm thick", "Cut the onion 1 cm thick", True, None),
        ("preparation", "Melt the butter for 30 seconds in the microwave", "Melt the butter for 2 minutes in a pan", True, None),
    ],
)
def test_rules_answer_what_amounts_and_levels_settle(kind, original, changed, different, of_type):
    got = by_rule(MistakeType(kind), original, changed)
    assert (got["different"], got["of_type"], got["feasible"]) == (different, of_type, None)
    assert got["why"].endswith(OPEN)


def pairs() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    frame = counterfactuals(
        counterfactual("a", "test/1", "Slice the onion", "Grate the onion"),
        counterfactual("b", "test/1", "Slice the onion", "Grate the onion"),
        counterfactual("c", "test/1", "Slice the onion", "Chop the onion"),
        counterfactual("d", "test/1", "Slice the onion", None, status=Status.REFUSED, reason="refused"),
    )
    due = timestamps(frame.head(2)).vstack(timestamps(frame[2:3], t_s=None, status=Status.NEVER_APPARENT, reason="None"))
    return frame, due, make_narrations("The person takes a knife.", "The person slices an onion.", None, "Later.", recording_id="test/1")


def test_only_dated_pairs_are_checked_and_equal_questions_are_asked_once(provider, tmp_path):
    provider.play({"kind": "text", "text": GOOD, "times": 0})
    client = Client(AnthropicBackend("m", api_key="k", base_url=provider.url), ReplyCache(tmp_path / "r.sqlite"))
    out = check_pairs(*pairs(), client)
    assert out["pair_id"].to_list() == ["a", "b"]
    assert out.select("different", "feasible", "of_type", "why", "status").unique().rows() == [
        (True, False, True, "There is no oven.", "ok")
    ]
    [call] = provider.calls()
    prompt = json.dumps(call["body"])
    for shown in ("Slice the onion", "Grate the onion", "5 s to 15 s: The person slices an onion.", "technique", "the way in which"):
        assert shown in prompt
    assert "Later." in prompt  # window 15-25 s overlaps the clip 10-40 s
    assert "takes a knife" not in prompt  # window 0-10 s ends where the clip begins
    assert "schema" in json.dumps(call["body"]["output_config"])
    assert check_pairs(*pairs(), client).equals(out)
    assert len(provider.calls()) == 1


def test_an_unreadable_reply_is_asked_for_once_more(provider):
    provider.play({"kind": "text", "text": "It is fine, I think."}, {"kind": "text", "text": GOOD, "times": 0})
    out = check_pairs(*pairs(), Client(AnthropicBackend("m", api_key="k", base_url=provider.url)))
    assert out["feasible"].to_list() == [False, False]
    assert len(provider.calls()) == 2
    assert "could not be read" in json.dumps(provider.calls()[1]["body"])


def test_the_openai_backend_is_asked_under_the_same_schema(provider):
    provider.play({"kind": "text", "text": GOOD, "times": 0})
    out = check_pairs(*pairs(), Client(OpenAIBackend("m", api_key="k", base_url=f"{provider.url}/v1")))
    assert out["feasible"].to_list() == [False, False]
    assert provider.calls()[0]["body"]["response_format"]["json_schema"]["strict"] is True


def test_offline_rows_say_what_stayed_open():
    out = check_pairs(*pairs(), offline())
    assert out.select("different", "feasible", "of_type").unique().rows() == [(True, None, None)]
    assert set(out["why"]) == {OPEN}
    assert set(out["status"]) == {"ok"}
    assert check_pairs(*(frame.clear() for frame in pairs()), offline()).equals(VALIDITY_CHECK.empty())


@pytest.mark.parametrize(
    ("text", "status", "verdicts"),
    [
        (GOOD, "ok", (True, False, True)),
        ("{'different': 'yes', 'feasible': None, 'of_type': 'No', 'why': ''} I hope this helps.", "ok", (True, None, False)),
        ('{"different": true, "of_type": true}', "unparsable", None),
        ('{"different": "partly", "feasible": true, "of_type": true}', "unparsable", None),
        ("None", "unparsable", None),
        ("I'm sorry, I can't assist with that.", "refused", None),
    ],
)
def test_replies(text, status, verdicts):
    got = read_verdicts(Reply("k", Status.OK, text, None))
    assert got["status"] == status
    assert tuple(got.get(name) for name in ("different", "feasible", "of_type")) == (verdicts or (None, None, None))
    assert (got["reason"] is None) == (status == "ok")


def test_a_cut_reply_is_no_verdict():
    assert read_verdicts(Reply("k", Status.TRUNCATED, '{"different": true', "cut"))["status"] is Status.TRUNCATED
