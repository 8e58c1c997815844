"""Message batches of the Claude API: upload, look, read results. What was sent and what is missing is remembered in ``ml.llm.batches``."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from ml.errors import InputError
from ml.llm.backends.anthropic_backend import AnthropicBackend, answer_of
from ml.llm.backends.batching import BatchResult, BatchView
from ml.llm.backends.errors import lower, read_lost_connection, read_status_error
from ml.llm.requests import Request


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
        seen = self._client.messages.batches.retrieve(native_id)
        return self._view(seen.id, seen.processing_status, seen.request_counts.model_dump(), seen.created_at)

    def recent(self) -> list[BatchView]:
        page = self._client.messages.batches.list(limit=100)
        return [self._view(one.id, one.processing_status, one.request_counts.model_dump(), one.created_at) for one in page.data]

    def results(self, native_id: str) -> Iterator[BatchResult]:
        for line in self._client.messages.batches.results(native_id):
            result = line.result
            match result.type:
                case "succeeded":
                    yield BatchResult(line.custom_id, "succeeded", answer_of(result.message.model_dump(), {}), None)
                case "errored":
                    error = result.error.error
                    yield BatchResult(line.custom_id, "errored", None, f"{error.type}: {error.message}"[:300])
                case other:
                    yield BatchResult(line.custom_id, other, None, f"{other} before it was processed")

    @staticmethod
    def _view(native_id: str, status: str, counts: dict[str, int], created: datetime) -> BatchView:
        return BatchView(native_id, status == "ended", sum(counts.values()), created.timestamp())
