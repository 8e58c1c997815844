"""Prices, budgets, retries' waits, estimates, token counts: small rules, each with its figures."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.errors import InputError
from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.backends.rules import RulesBackend
from ml.llm.budget import Budget
from ml.llm.cache import ReplyCache
from ml.llm.client import Client
from ml.llm.estimate import Estimate, estimate
from ml.llm.limits import Limits
from ml.llm.outcomes import is_refusal
from ml.llm.prices import PRICES, Price, own_prices, price_of
from ml.llm.requests import Request, Usage
from ml.llm.retries import RetryPolicy, retry_after_s
from ml.llm.tokens import text_tokens
from ml.setting_sections.models import ModelPrice
from tests.ml.llm.provider import Provider


def test_the_four_kinds_of_tokens_have_their_own_price():
    price = Price(1.0, 10.0, 0.1, 1.25)
    assert price.money(Usage(1_000_000, 100_000, 2_000_000, 400_000)) == pytest.approx(1 + 1 + 0.2 + 0.5)
    assert price.money(Usage(1_000_000), share=0.5) == pytest.approx(0.5)
    assert price.worst(1_000_000, 1_000) == pytest.approx(1.25 + 0.01)


def test_a_long_prompt_costs_its_multiple():
    price = Price(1.0, 1.0, 1.0, 1.0, long_from=100, long_times=5.0)
    assert price.money(Usage(60, 0, 41, 0)) == pytest.approx(5 * price.money(Usage(100, 0, 0, 0)) * 101 / 100)


def test_models_are_found_with_and_without_a_date_and_own_prices_come_first():
    assert price_of("claude-haiku-4-5-20251001") == PRICES["claude-haiku-4-5"]
    assert price_of("gpt-4o-2024-08-06") == PRICES["gpt-4o"]
    assert price_of("gpt-4o-audio") is None
    own = own_prices({"gpt-4o": ModelPrice(input=7, output=8), "mine": ModelPrice(input=7, output=8, cache_read=0, cache_write=9)})
    assert price_of("gpt-4o", own) == Price(7, 8, 7, 7)
    assert price_of("mine", own) == Price(7, 8, 0, 9)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.sampled_from(("paid", "lost", "flying"))), max_size=40))
def test_a_budget_is_never_passed(calls: list[tuple[float, float, str]]):
    budget = Budget(max_money_usd=3.0)
    possible = 0.0
    for worst, share, end in calls:
        hold = budget.hold(worst)
        if isinstance(hold, str):
            assert possible + worst > 3.0
            continue
        match end:
            case "paid":
                budget.settle(hold, worst * share)
                possible += worst * share
            case "lost":
                budget.settle_uncertain(hold)
                possible += worst
            case _:
                possible += worst
        assert possible <= 3.0 + 1e-9


def test_threads_share_a_budget():
    budget = Budget(max_calls=500)
    let: list[bool] = []

    def spend() -> None:
        for _ in range(200):
            let.append(not isinstance(budget.hold(0.0), str))

    threads = [Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(let) == 500


@given(st.integers(1, 9), st.floats(0, 100))
def test_waits_grow_to_the_cap_and_never_undercut_the_server(attempt: int, asked_s: float):
    policy = RetryPolicy(first_s=0.5, cap_s=8.0, total_s=1e6, attempts=10)
    backoff = min(8.0, 0.5 * 2 ** (attempt - 1))
    free = policy.wait_s(attempt, None, 0.0)
    told = policy.wait_s(attempt, asked_s, 0.0)
    assert free is not None
    assert told is not None
    assert backoff / 2 <= free <= backoff
    assert told >= asked_s


def test_retries_end():
    assert RetryPolicy(attempts=3).wait_s(3, None, 0.0) is None
    assert RetryPolicy(total_s=10).wait_s(1, 11.0, 0.0) is None
    assert RetryPolicy(total_s=10).wait_s(1, None, 9.99) is None
    assert RetryPolicy(total_s=10, first_s=0.1).wait_s(1, None, 9.0) is None  # what is left would cut off a paid call
    assert RetryPolicy(total_s=10, first_s=0.1).wait_s(1, None, 8.8) is not None


def test_retry_after_in_every_form():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert retry_after_s({"retry-after": "2"}) == 2.0
    assert retry_after_s({"retry-after-ms": "250", "retry-after": "2"}) == 0.25
    assert retry_after_s({"retry-after": format_datetime(now + timedelta(seconds=30), usegmt=True)}, now) == 30.0
    assert retry_after_s({"retry-after": format_datetime(now - timedelta(seconds=30), usegmt=True)}, now) == 0.0
    assert retry_after_s({"retry-after": "later"}) is None
    assert retry_after_s({}) is None
    assert retry_after_s({"retry-after": "604800"}) == 604_800.0  # a week is an answer too: the run stops
    assert retry_after_s({"retry-after": "nan"}) is None


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, I can't assist",
        "I’m sorry, but I can’t help with that.",
        "I cannot assist with this request.",
        "Unfortunately, I am unable to help with this.",
        "I'm not able to identify the person in this image.",
        "I'm sorry.",
        "As an AI, I can't comply.",
    ],
)
def test_refusals_in_words(text: str):
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "You can't help the sauce by stirring faster.",
        "I can't see the flour; add 3 tablespoons.",
        "Sorry, that should be 2 cups.",
        "The person cannot reach the pan.",
        'I\'m sorry, I can\'t assist, but: {"answer": "yes"}',
        "Use 2 cups, I am sorry to say.",
        "No",
    ],
)
def test_texts_that_only_sound_like_refusals(text: str):
    assert not is_refusal(text)


def ask(place: int, system: str = "") -> Request:
    return Request(f"{place}", "echo", {}, system, f"question number {place}", max_tokens=100)


def test_an_estimate_spends_nothing_and_knows_what_is_paid(provider: Provider, tmp_path: Path):
    cache = ReplyCache(tmp_path / "r.sqlite")
    backend = AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=provider.url)
    client = Client(backend, cache, limits=Limits(in_flight=10))
    requests = [ask(place) for place in range(40)]
    before = estimate(requests, client, latency_s=2.0)
    assert (before.calls, before.cached, before.output_tokens, before.seconds) == (40, 0, 4000, 8.0)
    assert before.money_usd == pytest.approx((before.input_tokens * 1.0 + 4000 * 5.0) / 1e6)
    assert provider.calls() == []
    client.run(requests[:30])
    after = estimate(requests, client)
    assert (after.calls, after.cached) == (10, 30)
    assert after.output_tokens == 50  # as long as the stored replies, five tokens each
    assert after.money_worst_usd == pytest.approx((after.input_tokens * 1.0 + 1000 * 5.0) / 1e6)
    half = estimate(requests, client, is_batch=True)
    assert half.money_worst_usd == pytest.approx(after.money_worst_usd / 2)


def test_an_estimate_may_ask_the_provider_for_counts(provider: Provider):
    client = Client(AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=provider.url))
    assert estimate([ask(1), ask(2)], client, count="provider").input_tokens == 2 * len("question number 1")
    with pytest.raises(InputError, match="counts tokens"):
        estimate([ask(1)], Client(OpenAIBackend("gpt-4o", base_url=provider.url)), count="provider")


def test_estimates_without_a_price_or_a_provider():
    assert estimate([ask(1)], Client(OpenAIBackend("my-own", base_url="http://127.0.0.1:9"))).money_usd is None
    assert estimate([ask(1)], Client(RulesBackend({}))) == Estimate(0, 0, 0, 0, 0.0, 0.0, 0.0)


def test_a_shared_prefix_makes_the_estimate_cheaper(provider: Provider):
    client = Client(AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=provider.url))
    long = "Rules of the kitchen. " * 900
    shared = estimate([ask(place, long) for place in range(10)], client).money_usd
    alone = estimate([ask(0, long)], client).money_usd
    assert shared is not None
    assert alone is not None
    assert shared < 4 * alone


def test_text_outside_ascii_counts_a_token_a_character():
    assert text_tokens("a" * 40) == 10
    assert text_tokens("玉ねぎを切る") == 6
    assert text_tokens("") == 0
