"""Text around a reply's value is counted and shown (field case 47)."""

import pytest

from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.anthropic_batches import AnthropicBatches
from ml.llm.batches import Batches
from ml.llm.cache import ReplyCache
from ml.llm.client import Client
from ml.llm.ignored import beside_value
from ml.llm.requests import Request
from tests.ml.llm.provider import Provider

SCHEMA = {"type": "object", "properties": {"ok": {"type": "number"}}}


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ('{"ok":1}\nLet me know if you need more.', "Let me know if you need more."),
        ('Here it is:\n```json\n{"ok": 1}\n```', "Here it is: ```json"),
        ('```json\n{"ok": 1}\n```', ""),
        ('{"ok": 1}', ""),
        ("no value at all", ""),
        ('{"ok": ', ""),
    ],
)
def test_what_stands_beside_a_value(text: str, beside: str):
    assert beside_value(text) == beside


def test_row_47_ignored_text_is_told_with_what_was_spent(provider: Provider, tmp_path):
    chatty = {"kind": "text", "text": '{"ok":1}\nLet me know if you need more.'}
    provider.play({**chatty, "times": 2}, {"kind": "text", "text": '{"ok":1}', "times": 0})
    requests = [Request(f"row {n}", "echo", {}, "", f"q{n}", schema=SCHEMA) for n in range(4)]
    backend = AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=provider.url)
    cache = ReplyCache(tmp_path / "replies.sqlite")
    client = Client(backend, cache)
    client.run(requests)
    told = client.report()
    assert (told["replies_with_ignored_text"], told["ignored_text"]) == (2, "Let me know if you need more.")
    batches = Batches(AnthropicBatches(backend), cache)
    batches.run(requests)
    assert batches.report()["replies_with_ignored_text"] == 2
    plain = Client(backend)
    plain.run(requests)
    assert "ignored_text" not in plain.report()
