"""What is asked after a reply of no use, against the played provider: once more, never thrice, and found again by a rerun."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.cache import ReplyCache
from ml.llm.client import Client
from ml.llm.replies import read_dict
from ml.llm.requests import Request
from ml.vocabulary import Status
from tests.ml.llm.provider import Provider

BAD = '{"n": "told the "chef", wait"}'
GOOD = '{"n": "told the chef, wait"}'


def unreadable(text: str) -> str | None:
    return read_dict(text).reason


ASK = Request("row", "echo", {}, "", "question", max_tokens=64, check=unreadable)


@pytest.fixture
def cache(tmp_path: Path) -> ReplyCache:
    return ReplyCache(tmp_path / "replies.sqlite")


def client(provider: Provider, cache: ReplyCache | None, **options: object) -> Client:
    return Client(AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=provider.url), cache, **options)


def prompts(provider: Provider) -> list[str]:
    return [call["body"]["messages"][0]["content"] for call in provider.calls()]


def test_row_50_bad_quotes_are_asked_about_once_more(provider: Provider, cache: ReplyCache):
    provider.play({"kind": "text", "text": BAD}, {"kind": "text", "text": GOOD})
    asking = client(provider, cache)
    (reply,) = asking.run([ASK])
    assert (reply.status, reply.text) == (Status.OK, GOOD)
    first, second = prompts(provider)
    assert first == "question"
    assert second.startswith("question\n\nYour last reply to this could not be read")
    assert asking.usage.calls == reply.usage.calls == 2
    (again,) = client(provider, cache).run([ASK])
    assert (again.text, again.from_cache) == (GOOD, True)
    assert len(provider.calls()) == 2


def test_row_50_a_second_bad_reply_stays_as_it_is_and_is_never_shortened(provider: Provider, cache: ReplyCache):
    provider.play({"kind": "text", "text": BAD, "times": 0})
    (reply,) = client(provider, cache).run([ASK])
    assert reply.text == BAD
    assert read_dict(reply).status is Status.UNPARSABLE
    assert len(provider.calls()) == 2
    client(provider, cache).run([ASK])
    assert len(provider.calls()) == 2  # a failed reply is not paid for again without being asked
    (asked,) = client(provider, cache, retry_failed=True).run([ASK])
    assert asked.text == BAD
    assert len(provider.calls()) == 3  # the last question, not the whole chain


def test_what_was_cut_off_before_a_kill_is_gone_on_with(provider: Provider, cache: ReplyCache):
    provider.play({"kind": "text", "text": BAD})
    client(provider, cache).run([replace(ASK, check=None)])  # the first reply is stored, the process ends before it asks again
    provider.play({"kind": "text", "text": GOOD})
    (reply,) = client(provider, cache).run([ASK])
    assert reply.text == GOOD
    assert len(provider.calls()) == 1


def test_a_longer_reply_after_a_cut_one_is_found_by_a_rerun(provider: Provider, cache: ReplyCache):
    cut = {"kind": "text", "text": '{"n": "to', "stop_reason": "max_tokens"}
    provider.play(cut, {"kind": "text", "text": GOOD})
    (reply,) = client(provider, cache, truncated_cap=256).run([ASK])
    assert (reply.status, reply.text) == (Status.OK, GOOD)
    assert [call["body"]["max_tokens"] for call in provider.calls()] == [64, 256]
    assert len({json.dumps(call["body"]["messages"]) for call in provider.calls()}) == 1  # the cut text is never sent along
    (again,) = client(provider, cache, truncated_cap=256).run([ASK])
    assert (again.text, again.from_cache) == (GOOD, True)
    assert len(provider.calls()) == 2


def test_refusals_are_not_asked_again(provider: Provider, cache: ReplyCache):
    provider.play({"kind": "text", "text": "I'm sorry, I can't assist with that.", "times": 0})
    assert client(provider, cache).run([ASK])[0].status is Status.REFUSED
    assert len(provider.calls()) == 1


def test_a_cap_of_the_settings_comes_before_the_requests_own(provider: Provider, cache: ReplyCache):
    client(provider, cache, max_tokens=999).run([replace(ASK, check=None)])
    assert provider.calls()[0]["body"]["max_tokens"] == 999
    assert client(provider, cache, max_tokens=999).look_up([replace(ASK, check=None)])[0] is not None
    assert client(provider, cache).look_up([replace(ASK, check=None)]) == [None]
