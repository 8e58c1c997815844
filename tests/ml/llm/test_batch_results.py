"""Batches at a provider that forgot one, answers with something else, or writes bad lines: what can be read is kept, the rest is told."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.anthropic_batches import AnthropicBatches
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.backends.openai_batches import OpenAIBatches
from ml.llm.batches import Batches
from ml.llm.cache import ReplyCache
from ml.llm.requests import Request
from ml.vocabulary import Status

GONE = {"type": "error", "error": {"type": "not_found_error", "message": "No such batch"}}


class BatchServer(ThreadingHTTPServer):
    """Takes batches and calls them b0, b1 and so on. ``answers`` has a status and a body for what a path holds, first match first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, tuple[int, object]] = {}
        self.uploads: list[list[str]] = []

    def view(self, number: str) -> dict[str, Any]:
        return {
            "id": number, "status": "completed", "processing_status": "ended", "created_at": 1, "output_file_id": f"out-{number}",
        }  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    server: BatchServer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/files"):
            self.server.uploads.append([json.loads(line)["custom_id"] for line in raw.split(b"\n") if line.startswith(b'{"custom_id"')])
            self._send(200, {"id": "file"})
            return
        if "messages" in self.path:
            self.server.uploads.append([one["custom_id"] for one in json.loads(raw)["requests"]])
        self._send(200, self.server.view(f"b{len(self.server.uploads) - 1}"))

    def do_GET(self) -> None:
        for part, (status, body) in self.server.answers.items():
            if part in self.path:
                self._send(status, body)
                return
        if self.path.endswith(("/results", "/content")):
            number = int("".join(letter for letter in self.path if letter.isdigit())[1:])  # after that of /v1
            lines = [json.dumps(good(self.path, one)) for one in self.server.uploads[number]]
            self._send(200, "\n".join(lines).encode())
        else:
            self._send(200, self.server.view(self.path.rpartition("/")[2]))

    def _send(self, status: int, body: object) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def good(path: str, custom_id: str, text: str = "hi") -> dict[str, Any]:
    """A line of results as the provider of that path writes it."""
    if "messages" in path:
        return {"custom_id": custom_id, "result": {"type": "succeeded", "message": {"content": [{"type": "text", "text": text}]}}}
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    return {"custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None}


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture(params=["openai", "anthropic"])
def open_work(request: pytest.FixtureRequest, server: BatchServer, tmp_path: Path) -> Callable[[], Batches]:
    """New batches on the same cache, as after a restart."""
    url, cache = f"http://127.0.0.1:{server.server_port}", ReplyCache(tmp_path / "replies.sqlite")
    if request.param == "openai":
        return lambda: Batches(OpenAIBatches(OpenAIBackend("gpt-4o-mini", base_url=f"{url}/v1")), cache)
    return lambda: Batches(AnthropicBatches(AnthropicBackend("claude-haiku-4-5", api_key="k", base_url=url)), cache)


def ask(name: str) -> Request:
    return Request(name, "echo", {}, "", f"<{name}>", max_tokens=64)


def collect_lines(work: Batches, server: BatchServer, write: Callable[[list[str]], bytes]) -> tuple[dict[str, int], list[Any], str | None]:
    """Counts, replies and the commonest reason of a batch of three whose results are what ``write`` makes of the ids."""
    requests = [ask(name) for name in "abc"]
    work.run(requests)
    server.answers = dict.fromkeys(("/results", "/content"), (200, write(server.uploads[0])))
    (collected,) = work.collect()
    assert work.open_batches() == []
    return dict(collected.counts), work.replies(requests), collected.commonest_reason


@pytest.mark.parametrize("bad", [b"<html>oops</html>", b"[1]", b"\xff\xfe", b'"text"', b'{"custom_id": null}', b"{}", b"[" * 100_000])
def test_a_line_without_an_id_is_left_out_and_its_request_is_missing(open_work, server, bad):
    work = open_work()
    path = "messages" if isinstance(work.backend, AnthropicBackend) else ""
    counts, replies, _ = collect_lines(
        work, server, lambda ids: bad + b"\n" + b"\n".join(json.dumps(good(path, one)).encode() for one in ids[1:])
    )
    assert counts == {"succeeded": 2, "missing": 1}
    assert [reply.text for reply in replies] == [None, "hi", "hi"]
    assert work.submit([ask(name) for name in "abc"]).sent == 1


def test_half_a_line_at_the_end_is_one_missing(open_work, server):
    work = open_work()
    path = "messages" if isinstance(work.backend, AnthropicBackend) else ""
    counts, _, _ = collect_lines(work, server, lambda ids: b"\n".join(json.dumps(good(path, one)).encode() for one in ids)[:-30])
    assert counts == {"succeeded": 2, "missing": 1}


@pytest.mark.parametrize(
    ("openai_says", "anthropic_says", "reason"),
    [
        ({"error": "boom"}, {"result": {"type": "errored", "error": "boom"}}, "boom"),
        ({"response": "boom"}, {"result": "boom"}, "is a str"),
        ({"response": {"status_code": 200, "body": None}}, {"result": {"type": "succeeded", "message": None}}, "there is no"),
        ({"response": None}, {"result": None}, "None"),
        (
            {"response": {"status_code": 200, "body": {"choices": 5}}},
            {"result": {"type": "succeeded", "message": {"content": 5}}},
            "is a int",
        ),
        (
            {"error": {"code": "x", "message": "\ud83c"}},
            {"result": {"type": "errored", "error": {"type": "x", "message": "\ud83c"}}},
            "x: \ufffd",
        ),
        ({"response": {"status_code": "x", "body": ["y"]}}, {"result": {"type": ["x"]}}, "x"),
    ],
)
def test_a_bad_line_with_an_id_is_errored_with_a_reason(open_work, server, openai_says, anthropic_says, reason):
    work = open_work()
    anthropic = isinstance(work.backend, AnthropicBackend)
    path, bad = ("messages", anthropic_says) if anthropic else ("", openai_says)

    def write(ids: list[str]) -> bytes:
        lines = [{"custom_id": ids[0], **bad}, *(good(path, one) for one in ids[1:])]
        return "\n".join(json.dumps(line) for line in lines).encode()

    counts, replies, told = collect_lines(work, server, write)
    assert counts == {"errored": 1, "succeeded": 2}
    assert reason in told
    assert [reply.status for reply in replies] == [Status.ERROR, Status.OK, Status.OK]


def test_unicode_line_ends_inside_a_reply_cut_nothing(open_work, server):
    text, work = "a\u2028b\x85c", open_work()
    path = "messages" if isinstance(work.backend, AnthropicBackend) else ""
    write = lambda ids: "\n".join(json.dumps(good(path, one, text), ensure_ascii=False) for one in ids).encode()  # noqa: E731
    counts, replies, _ = collect_lines(work, server, write)
    assert counts == {"succeeded": 3}
    assert [reply.text for reply in replies] == [text] * 3


def test_a_batch_that_the_provider_does_not_know_has_ended_and_is_sent_again(open_work, server):
    requests = [ask("lost"), ask("fine")]
    for request in requests:
        open_work().run([request])
    server.answers = {"batches/b0": (404, GONE)}
    work = open_work()
    lost, fine = work.collect()
    assert (lost.counts, fine.counts) == ({"missing": 1}, {"succeeded": 1})
    assert lost.commonest_reason == "the provider does not know it: No such batch"
    assert [reply.status for reply in work.run(requests)] == [Status.IN_BATCH, Status.OK]
    assert [len(one) for one in server.uploads] == [1, 1, 1]
    assert [one.counts for one in work.collect()] == [{"succeeded": 1}]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"error": {"message": "bad key", "type": "authentication_error"}}),
        (500, {"error": {"message": "down", "type": "api_error"}}),
        (404, b"<html>no such page</html>"),
        (404, {"error": {"message": "Invalid URL (GET /v1/batches)", "type": "invalid_request_error"}}),
        (200, b"<html>sign in</html>"),
        (200, []),
        (200, b"\xff"),
    ],
)
def test_a_batch_that_nobody_can_tell_of_stays_open_and_the_others_are_collected(open_work, server, status, body):
    for name in ("odd", "fine"):
        open_work().run([ask(name)])
    server.answers = {"batches/b0": (status, body)}
    work = open_work()
    assert [one.counts for one in work.collect()] == [{"succeeded": 1}]
    assert len(work.open_batches()) == len(work.problems) == 1
    server.answers = {}
    assert [one.counts for one in work.collect()] == [{"succeeded": 1}]
    assert work.problems == {}


def test_results_that_the_provider_no_longer_has_are_missing(open_work, server):
    work = open_work()
    work.run([ask("a")])
    server.answers = dict.fromkeys(("/results", "/content"), (404, GONE))
    (collected,) = work.collect()
    assert collected.counts == {"missing": 1}
    assert "does not have the results" in collected.commonest_reason


@pytest.mark.parametrize(
    "odd",
    [
        {"created_at": None, "request_counts": None},
        {"created_at": "yesterday", "request_counts": [3], "metadata": ["x"]},
        {"metadata": "x", "errors": "bad"},
        {"errors": {"data": "bad"}, "metadata": {"interject_batch": 3}},
        {"errors": ["bad", 5], "request_counts": {"total": "many", "succeeded": "many"}},
    ],
)
def test_odd_fields_of_a_batch_cost_nothing(open_work, server, odd):
    work = open_work()
    work.run([ask("a")])
    server.answers = {"/content": (200, b""), "/results": (200, b""), "batches/b0": (200, {**server.view("b0"), **odd})}
    (collected,) = work.collect()
    assert collected.counts == {"missing": 1}
    assert collected.commonest_reason in ("bad", "no result came for it")


def test_what_came_before_the_connection_broke_is_kept(server, tmp_path):
    work = Batches(
        OpenAIBatches(OpenAIBackend("gpt-4o-mini", base_url=f"http://127.0.0.1:{server.server_port}/v1")), ReplyCache(tmp_path / "r")
    )
    work.run([ask("a"), ask("b")])
    view = {**server.view("b0"), "error_file_id": "lost"}
    first = json.dumps(good("", server.uploads[0][0])).encode()
    server.answers = {"out-b0": (200, first), "/files/lost": (403, {"error": {"message": "no"}}), "batches/b0": (200, view)}
    assert work.collect() == []
    assert len(work.problems) == len(work.open_batches()) == 1
    assert [reply.status for reply in work.replies([ask("a"), ask("b")])] == [Status.OK, Status.IN_BATCH]
