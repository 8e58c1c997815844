"""A chat-completions server on this machine that reads the pictures it is sent: its reply lists the number that each one tells."""

import base64
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from PIL import Image

from tests.ml.video.films import number_of

Answer = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


def pictures(body: dict[str, Any]) -> list[np.ndarray]:
    """The pictures of a request, in order; fails on anything but base64 JPEG."""
    found = []
    for part in body["messages"][-1]["content"]:
        if part["type"] == "image_url":
            head, _, data = part["image_url"]["url"].partition(",")
            assert head == "data:image/jpeg;base64"
            found.append(np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))))
    return found


def numbers(body: dict[str, Any]) -> str:
    return " ".join(str(number_of(picture)) for picture in pictures(body))


def completion(body: dict[str, Any], text: str | None, finish: str = "stop") -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


@contextmanager
def chat_server(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Base URL of a running server and the list of request bodies it has got. ``answer``: body to HTTP status and reply."""
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            bodies.append(body)
            status, reply = answer(body)
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
