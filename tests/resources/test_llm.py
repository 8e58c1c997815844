"""Every setting of a language model reaches the calls: bodies at the played provider, limits, retries, budgets, prices."""

from pathlib import Path

import pytest

from ml.errors import InputError
from ml.llm.client import Client
from ml.llm.limits import Limits
from ml.llm.requests import Request
from ml.setting_sections.models import LLM
from ml.settings import load_settings
from ml.vocabulary import Status
from resources.llm import open_batches, open_client, reply_cache
from tests.ml.llm.provider import Provider

ASK = Request("row", "echo", {"x": 1}, "Be brief.", "question", max_tokens=64)


@pytest.fixture(autouse=True)
def _no_outer_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def claude(provider: Provider, **given: object) -> LLM:
    return LLM.model_validate({"backend": "anthropic", "model": "claude-haiku-4-5", "base_url": provider.url, **given})


def gpt(provider: Provider, **given: object) -> LLM:
    return LLM.model_validate({"backend": "openai", "model": "gpt-5-mini", "base_url": f"{provider.url}/v1", **given})


def client(chosen: LLM, monkeypatch: pytest.MonkeyPatch, **options: object) -> Client:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    return open_client(chosen, None, load_settings(), **options)


def body(provider: Provider, chosen: LLM, monkeypatch: pytest.MonkeyPatch) -> dict:
    assert client(chosen, monkeypatch).run([ASK])[0].status is Status.OK
    return provider.calls()[-1]["body"]


def test_what_shapes_a_reply_reaches_the_body(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    sent = body(provider, claude(provider), monkeypatch)
    assert (sent["max_tokens"], "temperature" in sent, "output_config" in sent) == (64, False, False)
    given = {"max_tokens": 999, "effort": "low", "send_temperature": True, "extra": {"metadata": {"user_id": "u"}}}
    sent = body(provider, claude(provider, **given), monkeypatch)
    assert (sent["max_tokens"], sent["temperature"], sent["output_config"], sent["metadata"]) == (
        999,
        0.0,
        {"effort": "low"},
        {"user_id": "u"},
    )
    sent = body(provider, gpt(provider), monkeypatch)
    assert (sent["max_tokens"], sent["temperature"], "reasoning_effort" in sent) == (64, 0.0, False)
    sent = body(provider, gpt(provider, effort="minimal", send_temperature=False, extra={"top_k": 5}), monkeypatch)
    assert (sent["reasoning_effort"], sent["top_k"], "temperature" in sent) == ("minimal", 5, False)


def test_a_reply_that_is_cut_is_asked_for_with_the_cap_of_the_settings(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    provider.play({"kind": "text", "text": "cu", "stop_reason": "max_tokens"})
    reply = client(claude(provider, truncated_cap=256), monkeypatch).run([ASK])[0]
    assert reply.status is Status.OK
    assert [call["body"]["max_tokens"] for call in provider.calls()] == [64, 256]


def test_pace_retries_and_budget_come_from_the_settings(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    given = {"max_in_flight": 3, "requests_per_minute": 90.0, "tokens_per_minute": 5000.0, "timeout_s": 7.0}
    made = client(claude(provider, **given, retry_attempts=2, retry_total_s=11.0, budget_usd=1.5, budget_calls=4), monkeypatch)
    assert made.limits == Limits(3, 90.0, 5000.0, 7.0)
    assert (made.retry.attempts, made.retry.total_s) == (2, 11.0)
    assert (made.budget.max_money_usd, made.budget.max_calls) == (1.5, 4)
    provider.play({"kind": "status", "status": 529, "times": 0})
    reply = client(claude(provider, retry_attempts=2), monkeypatch).run([ASK])[0]
    assert (reply.status, len(provider.calls())) == (Status.ERROR, 2)


def test_prices_of_the_settings_come_first(provider: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "interject.toml").write_text('[llm.prices."claude-haiku-4-5"]\ninput = 100.0\noutput = 0.0\n')
    made = client(claude(provider), monkeypatch)
    made.run([ASK])
    assert made.usage.money_usd == pytest.approx(10 * 100 / 1e6)
    (tmp_path / "interject.toml").write_text("[llm.prices.m]\ninput = -1.0\noutput = 0.0\n")
    with pytest.raises(InputError, match=r"llm.prices.m.input: Input should be greater than or equal to 0"):
        load_settings()
    (tmp_path / "interject.toml").write_text("[llm.prices.m]\ninput = 1.0\n")
    with pytest.raises(InputError, match=r"llm.prices.m.output: Field required"):
        load_settings()


def test_a_paid_backend_needs_its_key_except_to_estimate(tmp_path: Path):
    paid = LLM.model_validate({"backend": "anthropic", "model": "m"})
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY is not set"):
        open_client(paid, None, load_settings())
    with pytest.raises(InputError, match="MY_KEY is not set"):
        open_batches(LLM.model_validate({**paid.model_dump(), "api_key_variable": "MY_KEY"}), reply_cache(tmp_path), load_settings())
    assert open_client(paid, None, load_settings(), needs_key=False).model == "m"


def test_two_servers_that_serve_one_name_are_two_models(provider: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    cache = reply_cache(tmp_path)
    for host in ("127.0.0.1", "localhost"):
        chosen = gpt(provider, base_url=f"{provider.url}/v1".replace("127.0.0.1", host))
        assert open_client(chosen, cache, load_settings()).run([ASK])[0].status is Status.OK
    assert len(provider.calls()) == 2


def test_batches_need_a_provider():
    with pytest.raises(ValueError, match="`batch` needs a provider"):
        LLM(batch=True)
