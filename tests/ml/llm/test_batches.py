"""Provider batches: rows 68 and 69 of the field cases, restart, half price."""

from dataclasses import replace
from pathlib import Path

import pytest

from ml.errors import InputError
from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.anthropic_batches import AnthropicBatches
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.backends.openai_batches import OpenAIBatches
from ml.llm.batch_book import MOST_TRIES, custom_id
from ml.llm.batches import Batches
from ml.llm.budget import Budget
from ml.llm.cache import ReplyCache, cache_key
from ml.llm.calls import CallError
from ml.llm.client import Client
from ml.llm.prices import price_of
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


class Side:
    """The same batches at either provider."""

    def __init__(self, name: str, provider: Provider) -> None:
        self.name, self.provider = name, provider

    def backend(self, url: str | None = None) -> AnthropicBackend | OpenAIBackend:
        at = url or self.provider.url
        if self.name == "anthropic":
            return AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=at)
        return OpenAIBackend("gpt-4o-mini", base_url=f"{at}/v1")

    def batches(self, cache: ReplyCache, url: str | None = None, **options: object) -> Batches:
        backend = self.backend(url)
        return Batches(AnthropicBatches(backend) if isinstance(backend, AnthropicBackend) else OpenAIBatches(backend), cache, **options)

    def sent(self) -> list[list[dict]]:
        if self.name == "anthropic":
            return [call["body"]["requests"] for call in self.provider.calls() if call["path"] == "POST /v1/messages/batches"]
        return [call["body"] for call in self.provider.calls() if call["path"] == "POST /v1/files"]

    def uploads(self) -> list[list[str]]:
        body = "params" if self.name == "anthropic" else "body"
        return [[item[body]["messages"][-1]["content"] for item in items] for items in self.sent()]


@pytest.fixture(params=["anthropic", "openai"])
def side(request: pytest.FixtureRequest, provider: Provider) -> Side:
    return Side(request.param, provider)


def test_row_68_long_ids_shuffled_results_join_by_id_at_half_price(side: Side, provider: Provider, cache: ReplyCache):
    requests = [ask(f"r{place}") for place in range(12)]
    assert side.batches(cache).submit(requests).sent == 12
    ids = [item["custom_id"] for item in side.sent()[0]]
    assert all(len(one) <= 64 for one in ids)
    assert len(set(ids)) == 12
    later = side.batches(cache)  # a new object, as after a restart
    (collected,) = later.collect()
    assert (collected.counts, collected.commonest_reason, collected.failed) == ({"succeeded": 12}, None, 0)
    replies = later.replies(requests)
    assert [(reply.key, reply.text) for reply in replies] == [(request.key, f"echo {request.prompt}") for request in requests]
    price = price_of(side.backend().model)
    assert collected.usage.money_usd == pytest.approx(12 * 0.5 * (10 * price.input + 5 * price.output) / 1e6)
    assert later.usage == collected.usage
    live = Client(side.backend(), cache).run(requests)  # the same cache serves the client
    assert all(reply.from_cache for reply in live)


def test_row_68_two_equal_keys_are_refused_before_upload(side: Side, provider: Provider, cache: ReplyCache):
    with pytest.raises(InputError, match="twice"):
        side.batches(cache).submit([ask("r"), replace(ask("r"), prompt="other")])
    assert provider.calls() == []


def test_one_question_under_two_keys_is_sent_once(side: Side, provider: Provider, cache: ReplyCache):
    requests = [ask("r"), replace(ask("r"), key="other row")]
    work = side.batches(cache)
    work.submit(requests)
    assert side.uploads() == [["<r>"]]
    work.collect()
    assert [reply.text for reply in work.replies(requests)] == ["echo <r>", "echo <r>"]


def test_row_69_nothing_succeeded_shows_the_reason(side: Side, provider: Provider, cache: ReplyCache):
    failing = {"kind": "errored", "error_type": "overloaded_error", "message": "Overloaded", "times": 9}
    provider.play(failing, {"kind": "expired"})
    work = side.batches(cache)
    requests = [ask(f"r{place}") for place in range(10)]
    work.submit(requests)
    (collected,) = work.collect()
    assert collected.counts == {"errored": 9, "expired": 1}
    assert collected.commonest_reason.startswith("overloaded_error")
    assert "Overloaded" in collected.commonest_reason
    assert {reply.status for reply in work.replies(requests)} == {Status.ERROR}
    assert cache.totals()["replies"] == 0


def test_row_69_only_the_missing_ids_are_sent_again(side: Side, provider: Provider, cache: ReplyCache):
    bad = [{"kind": "errored", "when": f"<r{place}>"} for place in (0, 1, 2)] + [
        {"kind": "expired", "when": f"<r{place}>"} for place in (3, 4)
    ]
    provider.play(*bad)
    requests = [ask(f"r{place}") for place in range(10)]
    work = side.batches(cache)
    first = work.run(requests)
    assert {reply.status for reply in first} == {Status.IN_BATCH}
    (collected,) = work.collect()
    assert collected.counts == {"succeeded": 5, "errored": 3, "expired": 2}
    assert work.submit(requests).cached == 5
    assert side.uploads()[1] == ["<r0>", "<r1>", "<r2>", "<r3>", "<r4>"]
    assert work.submit(requests).waiting == 5  # on their way: not sent a third time
    assert len(side.uploads()) == 2
    work.collect()
    assert [reply.text for reply in work.run(requests)] == [f"echo <r{place}>" for place in range(10)]


def test_what_the_provider_calls_invalid_is_not_sent_unchanged(side: Side, provider: Provider, cache: ReplyCache):
    provider.play({"kind": "errored", "error_type": "invalid_request_error", "message": "image too large"})
    work = side.batches(cache)
    work.submit([ask("r")])
    work.collect()
    submission = work.submit([ask("r")])
    assert submission.sent == 0
    assert "image too large" in next(iter(submission.left_out))
    assert side.batches(cache, retry_failed=True).submit([ask("r")]).sent == 1


def test_a_batch_that_has_not_ended_is_only_looked_at(side: Side, provider: Provider, cache: ReplyCache):
    provider.play(polls_until_ended=3)
    work = side.batches(cache)
    work.submit([ask("r")])
    assert [one.has_ended for one in work.look()] == [False]
    assert work.collect() == []
    assert len(work.collect()) == 1
    assert work.collect() == []


def test_many_requests_go_in_several_batches(side: Side, provider: Provider, cache: ReplyCache):
    work = side.batches(cache, most_requests=4)
    work.submit([ask(f"r{place}") for place in range(10)])
    assert [len(one) for one in side.uploads()] == [4, 4, 2]
    assert sum(one.counts["succeeded"] for one in work.collect()) == 10


def test_the_budget_holds_at_half_price(side: Side, provider: Provider, cache: ReplyCache):
    submission = side.batches(cache, budget=Budget(max_calls=3)).submit([ask(f"r{place}") for place in range(5)])
    assert submission.sent == 3
    assert sum(submission.left_out.values()) == 2


def test_an_upload_whose_answer_was_lost_is_found_again_and_not_sent_twice(side: Side, provider: Provider, cache: ReplyCache):
    provider.play(drop_upload=True)
    with pytest.raises(CallError):
        side.batches(cache).submit([ask("lost one"), ask("lost two")])
    later = side.batches(cache)
    assert later.submit([ask("lost one"), ask("lost two")]).waiting == 2
    (collected,) = later.collect()
    assert collected.counts == {"succeeded": 2}
    assert len(side.uploads()) == 1


def test_a_refused_upload_leaves_nothing_behind(side: Side, provider: Provider, cache: ReplyCache):
    key = cache_key(ask("r"), side.backend())
    assert custom_id(key) == f"r-{key[:48]}"
    work = side.batches(cache, url="http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"not sent|not taken"):
        work.submit([ask("r")])
    assert side.batches(cache).submit([ask("r")]).sent == 1


def test_an_unreadable_reply_is_asked_again_in_the_next_batch_and_no_more(side: Side, provider: Provider, cache: ReplyCache):
    provider.play({"kind": "text", "text": "no form", "when": "<r>"}, {"kind": "text", "text": "no form", "when": "<r>"})
    request = replace(ask("r"), check=lambda text: None if text == "good" else "it has no form")
    work = side.batches(cache)
    assert work.run([request])[0].status is Status.IN_BATCH
    work.collect()
    assert work.run([request])[0].status is Status.IN_BATCH
    work.collect()
    reply = work.run([request])[0]
    assert (reply.status, reply.text) == (Status.OK, "no form")
    (first,), (second,) = side.uploads()
    assert first == "<r>"
    assert second.startswith("<r>")
    assert "it has no form" in second


def test_what_a_batch_cost_is_told_once(side: Side, provider: Provider, cache: ReplyCache):
    requests = [ask("a"), ask("b")]
    side.batches(cache).run(requests)
    side.batches(cache).collect()  # the sensor
    first = side.batches(cache)
    first.run(requests[:1])
    first.run(requests)
    assert first.report()["calls"] == 2
    assert first.report()["money_usd"] == pytest.approx(first.usage.money_usd)
    first.settle()
    second = side.batches(cache)
    second.run(requests)
    assert (second.report()["calls"], second.report()["cache_hits"]) == (0, 2)


def test_a_request_that_fails_in_three_batches_is_given_up(side: Side, provider: Provider, cache: ReplyCache):
    provider.play({"kind": "expired", "times": 0})
    work = side.batches(cache)
    for _ in range(MOST_TRIES):
        assert work.run([ask("r")])[0].status is Status.IN_BATCH
        work.collect()
    reply = work.run([ask("r")])[0]
    assert reply.status is Status.ERROR
    assert "expired" in reply.reason
    assert len(side.uploads()) == MOST_TRIES


def test_over_budget_is_the_rows_outcome(side: Side, provider: Provider, cache: ReplyCache):
    replies = side.batches(cache, budget=Budget(max_calls=1)).run([ask("a"), ask("b")])
    assert sorted(reply.status for reply in replies) == [Status.IN_BATCH, Status.OVER_BUDGET]


def test_a_batch_that_failed_as_a_whole_says_why(provider: Provider, cache: ReplyCache):
    provider.play(batch_problem="line 1 has no model")
    side = Side("openai", provider)
    work = side.batches(cache)
    work.submit([ask("r")])
    (collected,) = work.collect()
    assert (collected.counts, collected.commonest_reason) == ({"missing": 1}, "line 1 has no model")
