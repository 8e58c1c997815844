"""Pacing on a clock of the test's own."""

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.llm.limits import Limits, Observed, Pacer, Ticket, read_headers, read_reset


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("1s", 1), ("6m0s", 360), ("20ms", 0.02), ("1h2m3.5s", 3723.5), ("12", 12), ("2026-01-01T00:00:30Z", 30), ("soon", None), ("", None)],
)
def test_resets_in_every_form(value: str, seconds: float | None):
    assert read_reset(value, datetime(2026, 1, 1, tzinfo=UTC)) == (None if seconds is None else pytest.approx(seconds))


def test_both_families_of_headers_are_read():
    anthropic = {
        "anthropic-ratelimit-input-tokens-limit": "1000",
        "anthropic-ratelimit-input-tokens-remaining": "250",
        "anthropic-ratelimit-input-tokens-reset": "9s",
    }
    assert read_headers(anthropic) == {"input-tokens": Observed(1000, 250, 9.0)}
    openai = {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1s"}
    assert read_headers(openai) == {"requests": Observed(60, 59, 1.0)}
    assert read_headers({"x-ratelimit-limit-requests": "sixty", "x-ratelimit-remaining-requests": "59"}) == {}


def test_an_emptied_rate_holds_back_until_it_refills():
    clock = Clock()
    pacer = Pacer(Limits(), clock)
    assert pacer.wait_s(10, 10) == 0
    pacer.observe(
        {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "60s"}, Ticket()
    )
    assert pacer.wait_s(10, 10) == pytest.approx(1.0)
    clock.now_s += 1.0
    assert pacer.wait_s(10, 10) == 0


def test_requests_that_left_after_the_one_answered_are_taken_off():
    clock = Clock()
    pacer = Pacer(Limits(), clock)
    seen = {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "2", "x-ratelimit-reset-requests": "58s"}
    pacer.observe(seen, Ticket())
    first = asyncio.run(pacer.enter(1, 1))
    asyncio.run(pacer.enter(1, 1))
    pacer.observe({**seen, "x-ratelimit-remaining-requests": "1"}, first)  # the provider had not seen the second one
    assert pacer.wait_s(1, 1) == pytest.approx(1.0, rel=0.1)


def test_a_need_above_the_whole_limit_waits_for_a_full_bucket_and_no_longer():
    clock = Clock()
    pacer = Pacer(Limits(), clock)
    pacer.observe({"x-ratelimit-limit-tokens": "600", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "60s"}, Ticket())
    assert pacer.wait_s(10_000, 0) == pytest.approx(60.0)
    clock.now_s += 60.0
    assert pacer.wait_s(10_000, 0) == 0


def test_retry_after_closes_the_door_for_all():
    clock = Clock()
    pacer = Pacer(Limits(), clock)
    pacer.close_for(3.0)
    pacer.close_for(1.0)
    assert pacer.wait_s(1, 1) == pytest.approx(3.0)


def test_the_users_own_rate_holds_whatever_headers_say():
    clock = Clock()
    pacer = Pacer(Limits(requests_per_minute=60), clock)
    for _ in range(6):
        asyncio.run(pacer.enter(1, 1))
    pacer.observe({"x-ratelimit-limit-requests": "10000", "x-ratelimit-remaining-requests": "9999"}, Ticket())
    assert pacer.wait_s(1, 1) == pytest.approx(1.0)


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 400)), min_size=1, max_size=40))
def test_no_minute_ever_takes_more_than_limit_and_burst(steps: list[tuple[float, int]]):
    clock = Clock()
    pacer = Pacer(Limits(tokens_per_minute=6000), clock)
    began = clock.now_s
    taken = 0
    for pause, tokens in steps:
        clock.now_s += pause
        clock.now_s += pacer.wait_s(tokens, 0)
        asyncio.run(pacer.enter(tokens, 0))
        taken += tokens
        assert taken <= 600 + 100 * (clock.now_s - began) + 1e-6
