"""Provider batches: rows 68 and 69 of the field cases, restart, half price."""

from dataclasses import replace
from pathlib import Path

import pytest

from ml.errors import InputError
from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.anthropic_batches import AnthropicBatches
from ml.llm.batch_book import custom_id
from ml.llm.batches import Batches
from ml.llm.budget import Budget
from ml.llm.cache import ReplyCache, cache_key
from ml.llm.calls import CallError
from ml.llm.client import Client
from ml.llm.requests import Request
from ml.vocabulary import Status
from tests.ml.llm.provider import Provider


def ask(name: str) -> Request:
    return Request(
        f"captaincook4d/recording {name}/a window path of eighty characters with spaces in it", "echo", {}, "", f"<{name}>", max_tokens=64
    )


@pytest.fixture
def cache(tmp_path: Path) -> ReplyCache:
    return ReplyCache(tmp_path / "replies.sqlite")


def claude(provider: Provider) -> AnthropicBackend:
    return AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=provider.url)


def batches(provider: Provider, cache: ReplyCache, **options: object) -> Batches:
    return Batches(AnthropicBatches(claude(provider)), cache, **options)


def uploads(provider: Provider) -> list[list[str]]:
    posts = [call["body"]["requests"] for call in provider.calls() if call["path"] == "POST /v1/messages/batches"]
    return [[item["params"]["messages"][0]["content"] for item in items] for items in posts]


def test_row_68_long_ids_shuffled_results_join_by_id_at_half_price(provider: Provider, cache: ReplyCache):
    requests = [ask(f"r{place}") for place in range(12)]
    assert batches(provider, cache).submit(requests).sent == 12
    ids = [item["custom_id"] for item in provider.calls()[0]["body"]["requests"]]
    assert all(len(one) <= 64 for one in ids)
    assert len(set(ids)) == 12
    later = batches(provider, cache)  # a new object, as after a restart
    (collected,) = later.collect()
    assert (collected.counts, collected.commonest_reason, collected.failed) == ({"succeeded": 12}, None, 0)
    replies = later.replies(requests)
    assert [(reply.key, reply.text) for reply in replies] == [(request.key, f"echo {request.prompt}") for request in requests]
    assert collected.usage.money_usd == pytest.approx(12 * 0.5 * (10 * 1.0 + 5 * 5.0) / 1e6)
    assert later.usage == collected.usage
    live = Client(claude(provider), cache).run(requests)  # the same cache serves the client
    assert all(reply.from_cache for reply in live)


def test_row_68_two_equal_keys_are_refused_before_upload(provider: Provider, cache: ReplyCache):
    with pytest.raises(InputError, match="twice"):
        batches(provider, cache).submit([ask("r"), replace(ask("r"), prompt="other")])
    assert provider.calls() == []


def test_one_question_under_two_keys_is_sent_once(provider: Provider, cache: ReplyCache):
    requests = [ask("r"), replace(ask("r"), key="other row")]
    work = batches(provider, cache)
    work.submit(requests)
    assert uploads(provider) == [["<r>"]]
    work.collect()
    assert [reply.text for reply in work.replies(requests)] == ["echo <r>", "echo <r>"]


def test_row_69_nothing_succeeded_shows_the_reason(provider: Provider, cache: ReplyCache):
    failing = {"kind": "errored", "error_type": "overloaded_error", "message": "Overloaded", "times": 9}
    provider.play(failing, {"kind": "expired"})
    work = batches(provider, cache)
    requests = [ask(f"r{place}") for place in range(10)]
    work.submit(requests)
    (collected,) = work.collect()
    assert collected.counts == {"errored": 9, "expired": 1}
    assert collected.commonest_reason == "overloaded_error: Overloaded"
    assert {reply.status for reply in work.replies(requests)} == {Status.ERROR}
    assert cache.totals()["replies"] == 0


def test_row_69_only_the_missing_ids_are_sent_again(provider: Provider, cache: ReplyCache):
    bad = [{"kind": "errored", "when": f"<r{place}>"} for place in (0, 1, 2)] + [
        {"kind": "expired", "when": f"<r{place}>"} for place in (3, 4)
    ]
    provider.play(*bad)
    requests = [ask(f"r{place}") for place in range(10)]
    work = batches(provider, cache)
    first = work.run(requests)
    assert {reply.status for reply in first} == {Status.IN_BATCH}
    (collected,) = work.collect()
    assert collected.counts == {"succeeded": 5, "errored": 3, "expired": 2}
    assert work.submit(requests).cached == 5
    assert uploads(provider)[1] == ["<r0>", "<r1>", "<r2>", "<r3>", "<r4>"]
    assert work.submit(requests).waiting == 5  # on their way: not sent a third time
    assert len(uploads(provider)) == 2
    work.collect()
    assert [reply.text for reply in work.run(requests)] == [f"echo <r{place}>" for place in range(10)]


def test_what_the_provider_calls_invalid_is_not_sent_unchanged(provider: Provider, cache: ReplyCache):
    provider.play({"kind": "errored", "error_type": "invalid_request_error", "message": "image too large"})
    work = batches(provider, cache)
    work.submit([ask("r")])
    work.collect()
    submission = work.submit([ask("r")])
    assert submission.sent == 0
    assert "image too large" in next(iter(submission.left_out))
    assert batches(provider, cache, retry_failed=True).submit([ask("r")]).sent == 1


def test_a_batch_that_has_not_ended_is_only_looked_at(provider: Provider, cache: ReplyCache):
    provider.play(polls_until_ended=3)
    work = batches(provider, cache)
    work.submit([ask("r")])
    assert [one.has_ended for one in work.look()] == [False]
    assert work.collect() == []
    assert len(work.collect()) == 1
    assert work.collect() == []


def test_many_requests_go_in_several_batches(provider: Provider, cache: ReplyCache):
    work = batches(provider, cache, most_requests=4)
    work.submit([ask(f"r{place}") for place in range(10)])
    assert [len(one) for one in uploads(provider)] == [4, 4, 2]
    assert sum(one.counts["succeeded"] for one in work.collect()) == 10


def test_the_budget_holds_at_half_price(provider: Provider, cache: ReplyCache):
    submission = batches(provider, cache, budget=Budget(max_calls=3)).submit([ask(f"r{place}") for place in range(5)])
    assert submission.sent == 3
    assert sum(submission.left_out.values()) == 2


def test_an_upload_whose_answer_was_lost_is_found_again_and_not_sent_twice(provider: Provider, cache: ReplyCache):
    provider.play(drop_upload=True)
    with pytest.raises(CallError):
        batches(provider, cache).submit([ask("lost one"), ask("lost two")])
    later = batches(provider, cache)
    assert later.submit([ask("lost one"), ask("lost two")]).waiting == 2
    (collected,) = later.collect()
    assert collected.counts == {"succeeded": 2}
    assert len(uploads(provider)) == 1


def test_a_refused_upload_leaves_nothing_behind(provider: Provider, cache: ReplyCache):
    key = cache_key(ask("r"), claude(provider))
    assert custom_id(key) == f"r-{key[:48]}"
    work = Batches(AnthropicBatches(AnthropicBackend("claude-haiku-4-5", api_key="k", base_url="http://127.0.0.1:9")), cache)
    with pytest.raises(InputError, match="not sent"):
        work.submit([ask("r")])
    assert batches(provider, cache).submit([ask("r")]).sent == 1
