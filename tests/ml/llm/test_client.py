"""The client against the played provider: order, cache, budget, outcomes. Section D rows are named."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from ml.errors import InputError, StopError
from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.backends.rules import RulesBackend
from ml.llm.budget import Budget
from ml.llm.cache import ReplyCache
from ml.llm.client import Client
from ml.llm.limits import Limits
from ml.llm.prices import Price
from ml.llm.requests import Request
from ml.llm.retries import RetryPolicy
from ml.llm.sending import Contact
from ml.vocabulary import Status
from tests.ml.llm.provider import Provider

MODEL = "claude-haiku-4-5"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
QUICK = RetryPolicy(first_s=0.02, cap_s=0.1, total_s=5.0)


def ask(prompt: str, **changes: object) -> Request:
    return replace(Request(f"row of {prompt}", "echo", {}, "Be brief.", prompt, max_tokens=64), **changes)


def claude(provider: Provider, model: str = MODEL, **options: object) -> AnthropicBackend:
    return AnthropicBackend(model, api_key="key", base_url=provider.url, **options)


def openai(provider: Provider, **options: object) -> OpenAIBackend:
    return OpenAIBackend("gpt-4o-mini", base_url=f"{provider.url}/v1", **options)


@pytest.fixture
def cache(tmp_path: Path) -> ReplyCache:
    return ReplyCache(tmp_path / "cache" / "replies.sqlite")


@pytest.fixture(params=["anthropic", "anthropic stream", "openai", "openai stream"])
def backend(request: pytest.FixtureRequest, provider: Provider) -> AnthropicBackend | OpenAIBackend:
    make = claude if request.param.startswith("anthropic") else openai
    return make(provider, stream=request.param.endswith("stream"))


def test_replies_keep_order_keys_and_bound_in_flight(provider: Provider, backend: AnthropicBackend | OpenAIBackend):
    provider.play(*[{"kind": "text", "when": f'"q{place}"', "delay_s": 0.05 * (place % 3)} for place in range(20)], delay_s=0.01)
    seen: list[tuple[int, int]] = []
    client = Client(backend, limits=Limits(in_flight=4))
    replies = client.run([ask(f"q{place}") for place in range(20)], progress=lambda done, total: seen.append((done, total)))
    assert [(reply.key, reply.text) for reply in replies] == [(f"row of q{place}", f"echo q{place}") for place in range(20)]
    assert provider.peak() <= 4
    assert seen == [(done, 20) for done in range(1, 21)]
    assert client.usage.calls == 20
    assert client.usage.input_tokens == 200
    assert client.usage.money_usd == pytest.approx(20 * replies[0].usage.money_usd)
    assert replies[0].usage.money_usd > 0


def test_a_rerun_pays_for_nothing_and_equal_questions_are_asked_once(provider: Provider, cache: ReplyCache):
    requests = [ask("one"), ask("two"), replace(ask("one"), key="another row", task="other", inputs={"x": 1})]
    first = Client(claude(provider), cache).run(requests)
    assert len(provider.calls()) == 2
    assert [reply.from_cache for reply in first] == [False, False, True]
    client = Client(claude(provider), cache)
    again = client.run(requests)
    assert len(provider.calls()) == 2
    assert [(reply.key, reply.text, reply.status) for reply in again] == [(reply.key, reply.text, reply.status) for reply in first]
    assert client.usage.calls == 0
    assert client.report()["cache_hits"] == 3
    assert client.report()["money_saved_usd"] == pytest.approx(3 * 3.5e-5)


def picture(side: int = 8, kind: str = "PNG", colour: str = "red") -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (side, side), colour).save(written, kind)
    return written.getvalue()


@pytest.mark.parametrize(
    "changed",
    [
        {"prompt": "other"},
        {"system": "other"},
        {"max_tokens": 1024},
        {"temperature": 0.5},
        {"schema": SCHEMA},
        {"images": (picture(),)},
    ],
)
def test_row_71_whatever_shapes_the_reply_asks_again(provider: Provider, cache: ReplyCache, changed: dict):
    Client(claude(provider), cache).run([ask("q")])
    Client(claude(provider), cache).run([replace(ask("q"), **changed)])
    assert len(provider.calls()) == 2


def test_row_71_another_model_schema_or_picture_asks_again(provider: Provider, cache: ReplyCache):
    Client(claude(provider), cache).run([ask("q", schema=SCHEMA, images=(picture(),))])
    Client(claude(provider, "claude-opus-5"), cache).run([ask("q", schema=SCHEMA, images=(picture(),))])
    Client(claude(provider, schema_by="tool"), cache).run([ask("q", schema=SCHEMA, images=(picture(),))])
    Client(claude(provider), cache).run([ask("q", schema={**SCHEMA, "title": "other"}, images=(picture(),))])
    Client(claude(provider), cache).run([ask("q", schema=SCHEMA, images=(picture(colour="blue"),))])
    assert len(provider.calls()) == 5


def test_row_56_truncation_is_an_outcome_and_is_asked_once_more_with_a_higher_cap(provider: Provider, cache: ReplyCache):
    provider.play({"kind": "text", "text": '{"mistakes":[{"a":', "stop_reason": "max_tokens", "times": 0})
    reply = Client(claude(provider), cache).run([ask("q")])[0]
    assert (reply.status, len(provider.calls())) == (Status.TRUNCATED, 1)
    reply = Client(claude(provider), cache, retry_failed=True, truncated_cap=256).run([ask("q")])[0]
    caps = [call["body"]["max_tokens"] for call in provider.calls()]
    assert (reply.status, caps) == (Status.TRUNCATED, [64, 256])
    prompts = {json.dumps(call["body"]["messages"]) for call in provider.calls()}
    assert len(prompts) == 1  # the cut text is never sent along
    provider.play()
    assert Client(claude(provider), cache, retry_failed=True, truncated_cap=256).run([ask("other")])[0].status is Status.OK


def test_row_57_refusals_and_empty_replies_are_recorded_and_not_retried(provider: Provider, cache: ReplyCache):
    provider.play(
        {"kind": "text", "when": "q1", "content": [], "stop_reason": "refusal"},
        {"kind": "text", "when": "q2", "content": [], "stop_reason": "end_turn"},
        {"kind": "text", "when": "q3", "text": "I'm sorry, I can't assist"},
    )
    requests = [ask("q1"), ask("q2"), ask("q3")]
    replies = Client(claude(provider), cache).run(requests)
    assert [reply.status for reply in replies] == [Status.REFUSED, Status.EMPTY, Status.REFUSED]
    assert len({reply.reason for reply in replies}) == 3
    assert len(provider.calls()) == 3
    assert [reply.status for reply in Client(claude(provider), cache).run(requests)] == [reply.status for reply in replies]
    assert len(provider.calls()) == 3  # paid failures are not paid for again ...
    assert all(reply.status is Status.OK for reply in Client(claude(provider), cache, retry_failed=True).run(requests))
    assert len(provider.calls()) == 6  # ... unless asked


def test_row_57_of_an_openai_server(provider: Provider):
    provider.play(
        {"kind": "text", "when": "q1", "stop_reason": "refusal"},
        {"kind": "text", "when": "q2", "text": ""},
        {"kind": "text", "when": "q3", "text": "", "refusal": "I will not."},
        {"kind": "text", "when": "q4", "text": "{", "stop_reason": "max_tokens"},
    )
    replies = Client(openai(provider)).run([ask(f"q{place}") for place in range(1, 5)])
    assert [reply.status for reply in replies] == [Status.REFUSED, Status.EMPTY, Status.REFUSED, Status.TRUNCATED]


def test_row_63_overload_in_a_stream_and_as_529_are_retried(provider: Provider, backend: AnthropicBackend | OpenAIBackend):
    provider.play({"kind": "stream_error"}, {"kind": "status", "status": 529})
    reply = Client(backend, retry=QUICK).run([ask("q")])[0]
    assert (reply.status, reply.text, reply.usage.retries, reply.usage.calls) == (Status.OK, "echo q", 2, 1)
    assert len(provider.calls()) == 3


@pytest.mark.parametrize("make", [claude, openai])
def test_row_63_after_partial_text_it_is_a_recorded_failure(provider: Provider, cache: ReplyCache, make):
    provider.play({"kind": "stream_error", "after_text": "Half a sen"})
    backend = make(provider, stream=True)
    reply = Client(backend, cache, retry=QUICK).run([ask("q")])[0]
    assert (reply.status, reply.text, len(provider.calls())) == (Status.ERROR, None, 1)
    assert reply.reason is not None
    assert "after 10 characters" in reply.reason
    assert Client(backend, cache).run([ask("q")])[0].status is Status.ERROR
    assert len(provider.calls()) == 1
    assert Client(backend, cache, retry_failed=True).run([ask("q")])[0].text == "echo q"


def test_retry_after_is_honoured_and_closes_the_door_for_all(provider: Provider):
    provider.play({"kind": "status", "status": 429, "headers": {"retry-after": "0.6"}})
    replies = Client(claude(provider), limits=Limits(in_flight=1), retry=QUICK).run([ask("q1"), ask("q2")])
    assert [reply.text for reply in replies] == ["echo q1", "echo q2"]
    times = [call["at_s"] for call in provider.calls()]
    assert times[1] - times[0] >= 0.6
    assert provider.calls()[1]["headers"]["x-stainless-retry-count"] == "0"  # the SDK itself retries nothing


def test_retries_end_with_the_total_time_or_the_attempts(provider: Provider, backend: AnthropicBackend | OpenAIBackend):
    provider.play({"kind": "status", "status": 503, "headers": {"retry-after": "30"}, "times": 0})
    began = time.monotonic()
    reply = Client(backend, retry=RetryPolicy(total_s=1.0)).run([ask("q")])[0]
    assert (reply.status, len(provider.calls())) == (Status.ERROR, 1)
    assert time.monotonic() - began < 20
    provider.play({"kind": "status", "status": 500, "times": 0})
    reply = Client(backend, retry=RetryPolicy(first_s=0.01, attempts=3)).run([ask("q")])[0]
    assert (reply.status, reply.usage.retries, len(provider.calls())) == (Status.ERROR, 2, 3)
    assert reply.reason is not None
    assert "after 3 attempts" in reply.reason


def test_a_wait_longer_than_the_total_time_stops_the_run(provider: Provider, backend: AnthropicBackend | OpenAIBackend):
    provider.play({"kind": "status", "status": 429, "headers": {"retry-after": "400"}, "times": 0})
    began = time.monotonic()
    with pytest.raises(StopError, match=r"the server asks to wait 400 s, longer than retry_total_s = 300 s .*Run again after that time"):
        Client(backend, limits=Limits(in_flight=1)).run([ask("q1"), ask("q2")])
    assert time.monotonic() - began < 20
    assert len(provider.calls()) == 1


def test_a_wait_that_is_too_long_for_one_call_holds_back_the_others(provider: Provider):
    provider.play({"kind": "status", "status": 429, "when": "q1", "headers": {"retry-after": "0.95"}, "times": 0})
    replies = Client(claude(provider), limits=Limits(in_flight=1), retry=RetryPolicy(total_s=1.0)).run([ask("q1"), ask("q2")])
    assert [reply.status for reply in replies] == [Status.ERROR, Status.OK]
    times = [call["at_s"] for call in provider.calls()]
    assert len(times) == 2
    assert times[1] - times[0] >= 0.95


def test_waiting_for_a_rate_is_no_time_of_the_call(provider: Provider):
    provider.play(*({"kind": "status", "status": 500, "when": f'"q{place}"'} for place in range(7)))
    limits = Limits(in_flight=16, requests_per_minute=60.0)  # six at once, then one a second
    replies = Client(claude(provider), limits=limits, retry=RetryPolicy(first_s=0.01, total_s=1.5)).run([ask(f"q{n}") for n in range(7)])
    assert [reply.text for reply in replies] == [f"echo q{n}" for n in range(7)]


def test_an_attempt_may_take_no_longer_than_the_total_time(provider: Provider, backend: AnthropicBackend | OpenAIBackend):
    provider.play({"kind": "hang", "times": 0})
    began = time.monotonic()
    reply = Client(backend, limits=Limits(timeout_s=60.0), retry=RetryPolicy(total_s=1.0)).run([ask("q")])[0]
    assert (reply.status, len(provider.calls())) == (Status.ERROR, 1)
    assert time.monotonic() - began < 30


def test_a_lost_connection_and_a_timeout_are_retried_and_count_as_maybe_paid(provider: Provider, backend: AnthropicBackend | OpenAIBackend):
    provider.play({"kind": "drop"}, {"kind": "hang"})
    client = Client(backend, limits=Limits(timeout_s=3.0), retry=QUICK)
    reply = client.run([ask("q")])[0]
    assert (reply.text, reply.usage.retries) == ("echo q", 2)
    assert client.budget.uncertain_usd > 0


def test_nobody_listening_is_an_error_that_cost_nothing():
    client = Client(AnthropicBackend(MODEL, api_key="k", base_url="http://127.0.0.1:9"), retry=RetryPolicy(first_s=0.01, attempts=2))
    reply = client.run([ask("q")])[0]
    assert (reply.status, reply.usage.calls, client.budget.uncertain_usd) == (Status.ERROR, 0, 0.0)


def test_a_server_that_nobody_reaches_stops_the_run_soon_and_names_the_address(backend: AnthropicBackend | OpenAIBackend):
    nowhere = type(backend)(MODEL, api_key="k", base_url="http://127.0.0.1:9")
    client = Client(nowhere, retry=RetryPolicy(first_s=0.05, total_s=0.6, attempts=1000))
    began = time.monotonic()
    with pytest.raises(InputError, match=r"no connection to http://127\.0\.0\.1:9: .*paid replies are kept"):
        client.run([ask(f"q{place}") for place in range(40)])
    assert time.monotonic() - began < 5


def test_a_server_is_waited_for_longer_once_it_was_heard():
    never, lost = Contact(lost_s=300.0), Contact(lost_s=300.0)
    lost.heard()
    assert never.missed() <= 20 < 299 < lost.missed() <= 300


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_every_call_would_meet_stops_the_run(provider: Provider, cache: ReplyCache, status: int):
    provider.play({"kind": "text"}, {"kind": "status", "status": status, "times": 0})
    with pytest.raises(InputError, match=str(status)):
        Client(claude(provider), cache, limits=Limits(in_flight=1)).run([ask(f"q{place}") for place in range(50)])
    assert len(provider.calls()) == 2
    assert cache.totals()["replies"] == 1


def test_one_bad_request_is_one_row(provider: Provider, cache: ReplyCache):
    provider.play({"kind": "status", "status": 400, "when": "q1", "times": 0})
    replies = Client(claude(provider), cache, retry=QUICK).run([ask("q0"), ask("q1"), ask("q2")])
    assert [reply.status for reply in replies] == [Status.OK, Status.ERROR, Status.OK]
    assert len(provider.calls()) == 3
    assert cache.totals()["replies"] == 2  # it was not paid for, so it is not stored


def test_the_call_budget_is_never_passed_and_fails_nothing_else(provider: Provider, cache: ReplyCache):
    client = Client(claude(provider), cache, budget=Budget(max_calls=3))
    replies = client.run([ask(f"q{place}") for place in range(10)])
    assert sorted(reply.status for reply in replies) == [Status.OK] * 3 + [Status.OVER_BUDGET] * 7
    assert len(provider.calls()) == 3
    later = Client(claude(provider), cache, budget=Budget(max_calls=7)).run([ask(f"q{place}") for place in range(10)])
    assert all(reply.status is Status.OK for reply in later)
    assert len(provider.calls()) == 10


def test_the_money_budget_holds_the_worst_case_before_each_call(provider: Provider):
    provider.play({"kind": "text", "times": 0, "usage": {"input_tokens": 10, "output_tokens": 64}})
    budget = Budget(max_money_usd=0.002)  # a call may cost some 0.00034, its cap of 64 tokens alone 0.00032
    client = Client(claude(provider), budget=budget)
    replies = client.run([ask(f"q{place}") for place in range(20)])
    paid = [reply for reply in replies if reply.status is Status.OK]
    assert 3 <= len(paid) < 8
    assert client.usage.money_usd <= 0.002
    assert all(reply.status is Status.OVER_BUDGET for reply in replies if reply not in paid)


def test_a_money_budget_needs_a_price(provider: Provider):
    with pytest.raises(InputError, match="price"):
        Client(claude(provider, "claude-unheard-of"), budget=Budget(max_money_usd=1.0))
    own = {"claude-unheard-of": Price(1, 1, 1, 1)}
    assert Client(claude(provider, "claude-unheard-of"), budget=Budget(max_money_usd=1.0), prices=own).run([ask("q")])[0].text == "echo q"
    client = Client(claude(provider, "claude-unheard-of"))
    client.run([ask("q")])
    assert client.report()["money_usd"] is None


def test_row_72_cached_tokens_count_with_their_own_price(provider: Provider):
    provider.play({"kind": "text", "usage": {"input_tokens": 3, "cache_read_input_tokens": 9246, "output_tokens": 0}})
    client = Client(claude(provider))
    used = client.run([ask("q")])[0].usage
    assert (used.input_tokens, used.cache_read_tokens, used.cache_write_tokens) == (3, 9246, 0)
    assert used.money_usd == pytest.approx((3 * 1.0 + 9246 * 0.1) / 1e6)
    assert client.report()["prefix_hit_rate"] == pytest.approx(9246 / 9249)
    provider.play({"kind": "text", "usage": {"prompt_tokens": 9249, "prompt_tokens_details": {"cached_tokens": 9246}}})
    used = Client(openai(provider)).run([ask("q")])[0].usage
    assert (used.input_tokens, used.cache_read_tokens) == (3, 9246)


def test_a_shared_long_prefix_is_marked_and_written_once(provider: Provider):
    provider.play(delay_s=0.1)
    long = "Rules of the kitchen. " * 900
    Client(claude(provider)).run([ask(f"q{place}", system=long) for place in range(6)])
    calls = provider.calls()
    assert all(call["body"]["system"][0]["cache_control"] == {"type": "ephemeral"} for call in calls)
    assert calls[1]["at_s"] - calls[0]["at_s"] >= 0.1  # the others wait until the first one has written it
    provider.play()
    Client(claude(provider)).run([ask("alone", system=long), ask("short one"), ask("short two")])
    assert all(isinstance(call["body"]["system"], str) for call in provider.calls())


def test_schemas_constrain_the_output(provider: Provider):
    Client(claude(provider)).run([ask("q", schema=SCHEMA)])
    Client(openai(provider)).run([ask("q", schema=SCHEMA)])
    provider.play_on(
        {"kind": "text", "content": [{"type": "tool_use", "id": "t", "name": "reply", "input": {"a": "½"}}], "stop_reason": "end_turn"}
    )
    reply = Client(claude(provider, schema_by="tool")).run([ask("q", schema=SCHEMA)])[0]
    by_format, by_openai, by_tool = [call["body"] for call in provider.calls()]
    assert by_format["output_config"]["format"] == {"type": "json_schema", "schema": SCHEMA}
    assert by_openai["response_format"]["json_schema"] == {"name": "reply", "schema": SCHEMA, "strict": True}
    assert by_tool["tool_choice"] == {"type": "tool", "name": "reply"}
    assert reply.text == '{"a": "½"}'


def test_row_65_frames_are_resized_and_too_many_never_sent(provider: Provider):
    big = picture(2600, "JPEG")
    reply = Client(claude(provider)).run([ask("q", images=(big,) * 21)])[0]
    assert reply.status is Status.OK
    blocks = provider.calls()[0]["body"]["messages"][0]["content"]
    assert [block["type"] for block in blocks] == ["image"] * 21 + ["text"]
    provider.play({"kind": "status", "status": 413, "times": 0})
    reply = Client(claude(provider), retry=QUICK).run([ask("q", images=(big,) * 101)])[0]
    assert (reply.status, provider.calls()) == (Status.ERROR, [])
    for status in (400, 413):
        provider.play({"kind": "status", "status": status, "times": 0, "headers": {"x-should-retry": "true"}})
        reply = Client(claude(provider), retry=QUICK).run([ask("q", images=(picture(),))])[0]
        assert (reply.status, len(provider.calls())) == (Status.ERROR, 1)


def test_row_66_the_media_type_is_that_of_the_bytes(provider: Provider):
    Client(claude(provider)).run([ask("q", images=(picture(kind="PNG"), picture(kind="WEBP")))])
    Client(openai(provider)).run([ask("q", images=(picture(kind="JPEG"),))])
    anthropic_call, openai_call = provider.calls()
    sources = [block["source"]["media_type"] for block in anthropic_call["body"]["messages"][0]["content"][:2]]
    assert sources == ["image/png", "image/webp"]
    assert openai_call["body"]["messages"][1]["content"][0]["image_url"]["url"].startswith("data:image/jpeg;base64,")


def test_rates_from_headers_hold_calls_back(provider: Provider):
    limited = {
        "anthropic-ratelimit-requests-limit": "2",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "1",
    }
    provider.play({"kind": "text", "headers": limited})
    Client(claude(provider), limits=Limits(in_flight=1)).run([ask("q0"), ask("q1")])
    first, second = provider.calls()
    assert second["at_s"] - first["at_s"] >= 0.45  # two a second: the next is due after half of one


def test_it_runs_where_a_loop_already_runs(provider: Provider):
    async def notebook() -> str | None:
        return Client(claude(provider)).run([ask("q")])[0].text

    assert asyncio.run(notebook()) == "echo q"


def test_rules_answer_offline_and_name_an_unknown_task():
    client = Client(RulesBackend({"double": lambda inputs: str(inputs["x"] * 2), "silent": lambda inputs: " "}))
    replies = client.run([Request("a", "double", {"x": 2}), Request("b", "silent", {})])
    assert [(reply.text, reply.status) for reply in replies] == [("4", Status.OK), (None, Status.EMPTY)]
    assert client.usage.calls == 0
    with pytest.raises(InputError, match="triple"):
        client.run([Request("a", "triple", {})])


WORKER = """
import sys
from pathlib import Path
from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.cache import ReplyCache
from ml.llm.client import Client
from ml.llm.limits import Limits
from ml.llm.requests import Request
requests = [Request(f"row {n}", "echo", {}, "", f"q{n}.", max_tokens=64) for n in range(60)]
backend = AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=sys.argv[1])
client = Client(backend, ReplyCache(Path(sys.argv[2])), limits=Limits(in_flight=4))
replies = client.run(requests, progress=lambda done, total: print(done, flush=True))
print("texts", [reply.text for reply in replies] == [f"echo q{n}." for n in range(60)], client.usage.calls, flush=True)
"""


def test_killed_in_the_middle_a_rerun_repeats_no_paid_call(provider: Provider, tmp_path: Path):
    provider.play(delay_s=0.05)
    command = [sys.executable, "-c", WORKER, provider.url, str(tmp_path / "replies.sqlite")]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 20:
                break
        os.kill(process.pid, signal.SIGKILL)
    asked = [call["body"]["messages"][0]["content"] for call in provider.calls()]
    assert 20 <= len(asked) < 60
    stored = int(ReplyCache(tmp_path / "replies.sqlite").totals()["replies"])
    assert stored >= 20
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=root, check=True, timeout=300)
    assert done.stdout.strip().splitlines()[-1] == f"texts True {60 - stored}"
    # only the four in flight at the kill, whose replies never came, may be asked twice
    assert len(provider.calls()) - len(asked) == 60 - stored <= 60 - len(asked) + 4
