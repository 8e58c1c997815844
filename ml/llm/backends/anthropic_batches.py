"""Message batches of the Claude API: upload, look, read results. What was sent and what is missing is remembered in ``ml.llm.batches``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from ml.errors import InputError
from ml.llm.backends.anthropic_backend import AnthropicBackend, answer_of
from ml.llm.backends.batch_reading import failed, fetch, results_of
from ml.llm.backends.batching import LOOK_S, BatchResult, BatchView
from ml.llm.backends.errors import lower, read_lost_connection, read_status_error
from ml.llm.backends.shapes import count, items, mapping, odd_shape, parsed
from ml.llm.requests import Request

_PATH = "/v1/messages/batches"


class AnthropicBatches:
    """The batch side of an ``AnthropicBackend``. This provider keeps no label with a batch."""

    most_requests = 10_000  # the provider takes 100,000; smaller batches end sooner and lose less when one expires
    most_bytes = 200_000_000  # the provider takes 256 MB

    def __init__(self, backend: AnthropicBackend, *, timeout_s: float = 300.0) -> None:
        import anthropic

        self.backend = backend
        self._client = anthropic.Anthropic(
            api_key=backend.api_key, base_url=backend.base_url, max_retries=4, timeout=timeout_s, open_telemetry=False
        )
        self._looking = self._client.with_options(max_retries=0, timeout=LOOK_S)

    def size(self, request: Request) -> int:
        return len(json.dumps(self.backend.body(request), ensure_ascii=False).encode())

    def upload(self, items: Sequence[tuple[str, Request]], label: str) -> str:
        import anthropic

        try:
            # retries off: a lost response to a taken upload would make a second batch, paid twice
            made = self._client.with_options(max_retries=0).messages.batches.create(
                requests=[{"custom_id": custom_id, "params": self.backend.body(request)} for custom_id, request in items]  # type: ignore[typeddict-item]
            )
        except anthropic.APIStatusError as error:
            told = read_status_error(error.status_code, lower(error.response.headers), error.body, str(error))
            raise InputError(f"the provider refused the batch: {told.reason}", record=self.backend.model) from error
        except anthropic.APIConnectionError as error:
            lost = read_lost_connection(error, timed_out=isinstance(error, anthropic.APITimeoutError))
            if not lost.maybe_paid:
                raise InputError(f"the batch was not sent: {lost.reason}", record=self.backend.model) from error
            raise lost from error
        return made.id

    def look(self, native_id: str) -> BatchView:
        return _view(mapping(parsed(fetch(self._looking, f"{_PATH}/{quote(native_id, safe='')}")), "the batch"))

    def recent(self) -> list[BatchView]:
        page = mapping(parsed(fetch(self._looking, f"{_PATH}?limit=100")), "the list of batches")
        return [_view(mapping(one, "a batch")) for one in items(page.get("data"), "the list of batches")]

    def results(self, native_id: str) -> Iterator[BatchResult]:
        yield from results_of(fetch(self._client, f"{_PATH}/{quote(native_id, safe='')}/results"), _result)


def _view(seen: Mapping[str, Any]) -> BatchView:
    counts = seen.get("request_counts")
    total = sum(count(one) for one in counts.values()) if isinstance(counts, Mapping) else 0
    return BatchView(str(seen.get("id")), seen.get("processing_status") == "ended", total, _time(seen.get("created_at")))


def _time(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _result(custom_id: str, line: Mapping[str, Any]) -> BatchResult:
    result = mapping(line.get("result"), "the result")
    match result.get("type"):
        case "succeeded" if result.get("message") is None:
            raise odd_shape("there is no message")
        case "succeeded":
            return BatchResult(custom_id, "succeeded", answer_of(result["message"], {}), None)
        case "canceled" | "expired" as outcome:
            return BatchResult(custom_id, outcome, None, f"{outcome} before it was processed")
        case "errored":
            error = result.get("error")
            inner = error.get("error", error) if isinstance(error, Mapping) else error
            if isinstance(inner, Mapping):
                return failed(custom_id, inner.get("type"), inner.get("message"))
            return failed(custom_id, "error", inner)
        case other:
            raise odd_shape(f"the result's type is {str(other)[:100]}")
