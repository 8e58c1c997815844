"""Servers that answer with something else: each is a row with a reason, nothing else fails, and no figure becomes nonsense."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.cache import ReplyCache
from ml.llm.calls import Answer
from ml.llm.client import Client
from ml.llm.limits import Limits
from ml.llm.requests import Request
from ml.llm.retries import RetryPolicy
from ml.vocabulary import Status


class OddServer(ThreadingHTTPServer):
    """Gives every request the same body, of which ``cut`` bytes are announced and never sent."""

    body = b""
    kind = "application/json"
    cut = 0
    hits = 0

    def plays(self, body: object, kind: str = "application/json", cut: int = 0) -> None:
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.kind, self.cut, self.hits = kind, cut, 0


class _Handler(BaseHTTPRequestHandler):
    server: OddServer

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.hits += 1
        self.send_response(200)
        self.send_header("content-type", self.server.kind)
        self.send_header("content-length", str(len(self.server.body) + self.server.cut))
        self.end_headers()
        self.wfile.write(self.server.body)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[OddServer]:
    with OddServer(("127.0.0.1", 0), _Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask(server: OddServer, provider: str, tmp_path: Any, *, stream: bool = False) -> tuple[Any, dict[str, Any]]:
    """The reply as it came, the same when the cache is asked again, and the report."""
    url = f"http://127.0.0.1:{server.server_port}"
    backend = (
        OpenAIBackend("m", base_url=f"{url}/v1", stream=stream)
        if provider == "openai"
        else AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=url, stream=stream)
    )
    retry = RetryPolicy(first_s=0.01, cap_s=0.02, total_s=5.0, attempts=3)
    client = Client(backend, ReplyCache(tmp_path / "replies.sqlite"), limits=Limits(timeout_s=5.0), retry=retry)
    (reply,) = client.run([Request("row", "task", {}, "system", "prompt", max_tokens=50)])
    report = client.report()
    (stored,) = client.look_up([Request("row", "task", {}, "system", "prompt", max_tokens=50)])
    assert stored is None or (stored.status, stored.text) == (reply.status, reply.text)
    assert all(value >= 0 for value in report.values() if isinstance(value, int | float))
    return reply, report


def whole(provider: str, said: object, **more: object) -> dict[str, object]:
    if provider == "openai":
        return {"choices": [{"message": {"content": said}, "finish_reason": "stop"}], "model": "m", **more}
    return {
        "type": "message",
        "content": said if isinstance(said, list) else [{"type": "text", "text": said}],
        "stop_reason": "end_turn",
    } | more


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>Bad gateway</html>", "no JSON"),
        (b"", "no JSON"),
        (b'{"a": "\xe9"}', "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"usage": {"prompt_tokens": ' + b"9" * 5000 + b"}}", "no JSON"),
        ([], "is a list"),
        ("text", "is a str"),
        (3, "is a int"),
        ({"choices": "x", "content": "x"}, "is a str"),
        ({"choices": ["x"], "content": ["x"]}, "is a str"),
        ({"choices": [{"message": "hi"}], "content": [{"type": "text", "text": {"a": 1}}]}, "is a"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "later"}}, "later"),
    ],
)
def test_another_shape_is_tried_again_and_then_a_row(server, provider, tmp_path, body, reason):
    server.plays(body)
    reply, report = ask(server, provider, tmp_path)
    assert (reply.status, reply.text) == (Status.ERROR, None)
    assert reason in reply.reason
    assert "after 3 attempts" in reply.reason
    assert server.hits == 3
    assert report["outcome_error"] == 1


def test_a_body_that_breaks_off_is_tried_again(server, provider, tmp_path):
    server.plays(b'{"choices": [', cut=500)
    reply, _ = ask(server, provider, tmp_path)
    assert reply.status is Status.ERROR
    assert "connection lost: peer closed connection" in reply.reason
    assert server.hits == 3


@pytest.mark.parametrize("body", [{}, None, {"choices": [], "content": []}, {"choices": [{}], "content": None}])
def test_nothing_said_is_empty(server, provider, tmp_path, body):
    server.plays(body)
    reply, _ = ask(server, provider, tmp_path)
    assert (reply.status, reply.text) == (Status.EMPTY, None)
    assert server.hits == 1


@pytest.mark.parametrize(
    "usage",
    [None, [], "x", {"prompt_tokens": "5", "input_tokens": "x"}, {"completion_tokens": -9, "output_tokens": -9}, {"prompt_tokens": 10**30}],
)
def test_senseless_usage_counts_nothing_and_loses_no_reply(server, provider, tmp_path, usage):
    server.plays(whole(provider, "hi", usage=usage))
    reply, report = ask(server, provider, tmp_path)
    assert (reply.status, reply.text) == (Status.OK, "hi")
    assert report["input_tokens"] == report["output_tokens"] == 0


def test_half_a_character_pair_is_stored_as_the_replacement_character(server, provider, tmp_path):
    server.plays(whole(provider, "salt \ud83c\udf73 and a half \ud83c."))
    reply, _ = ask(server, provider, tmp_path)
    assert reply.text == "salt 🍳 and a half \ufffd."


def test_a_text_in_parts_is_one_text(server, tmp_path):
    server.plays(whole("openai", [{"type": "text", "text": "stir "}, {"type": "image"}, {"type": "text", "text": "well"}]))
    assert ask(server, "openai", tmp_path)[0].text == "stir well"


@pytest.mark.parametrize(
    "events", ["data: null\n\n", "data: []\n\n", "data: {bad\n\n", "event: message_start\ndata: null\n\n", "data: [DONE]\n\n"]
)
def test_odd_streams_are_tried_again_and_then_a_row(server, provider, tmp_path, events):
    server.plays(events.encode(), kind="text/event-stream")
    reply, _ = ask(server, provider, tmp_path, stream=True)
    assert reply.status is Status.ERROR
    assert server.hits == 3


def test_a_server_that_never_answered_names_the_refusal(tmp_path):
    with OddServer(("127.0.0.1", 0), _Handler) as gone:
        pass
    reply, _ = ask(gone, "openai", tmp_path)
    assert re.search(r"no connection to http://127\.0\.0\.1:\d+: \[Errno 111\]", reply.reason)


def test_a_pair_of_halves_is_the_character():
    assert Answer(Status.OK, "\ud83c\udf73").text == "🍳"
    assert Answer(Status.OK, "plain", "½").reason == "½"
