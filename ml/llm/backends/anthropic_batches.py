"""Message batches of the Claude API: upload, look, read results. What was sent and what is missing is remembered in ``ml.llm.batches``."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ml.errors import InputError
from ml.llm.backends.anthropic_backend import AnthropicBackend, answer_of
from ml.llm.backends.errors import lower, read_lost_connection, read_status_error
from ml.llm.calls import Answer
from ml.llm.requests import Request

MOST_REQUESTS = 10_000  # the provider takes 100,000; smaller batches end sooner and lose less when one expires
MOST_BYTES = 200_000_000  # the provider takes 256 MB


@dataclass(frozen=True)
class BatchView:
    """How a batch stands at the provider. ``total`` requests; ``created_at`` in seconds since 1970."""

    native_id: str
    has_ended: bool
    total: int
    created_at: float


@dataclass(frozen=True)
class BatchResult:
    """One line of results: an answer, or why there is none (``outcome`` errored, expired or canceled)."""

    custom_id: str
    outcome: str
    answer: Answer | None
    reason: str | None


class AnthropicBatches:
    """The batch side of an ``AnthropicBackend``: the same model, parameters and wire form, so the same cache keys."""

    def __init__(self, backend: AnthropicBackend, *, timeout_s: float = 300.0) -> None:
        import anthropic

        self.backend = backend
        self._client = anthropic.Anthropic(
            api_key=backend.api_key, base_url=backend.base_url, max_retries=4, timeout=timeout_s, open_telemetry=False
        )

    def size(self, request: Request) -> int:
        """Bytes of the request on the wire, for cutting into batches."""
        return len(json.dumps(self.backend.body(request), ensure_ascii=False).encode())

    def upload(self, items: Sequence[tuple[str, Request]]) -> str:
        """The provider's id of a new batch. Raises InputError where it refuses, CallError where it is unknown whether it took it."""
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
        """The newest hundred batches of the workspace, whoever made them."""
        page = self._client.messages.batches.list(limit=100)
        return [self._view(one.id, one.processing_status, one.request_counts.model_dump(), one.created_at) for one in page.data]

    def results(self, native_id: str) -> Iterator[BatchResult]:
        """Results in the provider's order, which is any."""
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
