"""Batch files of the OpenAI interface: upload a file, start a batch, look, read the result files. Bookkeeping is ``ml.llm.batches``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ml.errors import InputError
from ml.llm.backends.batching import BatchResult, BatchView
from ml.llm.backends.errors import details, lower, read_lost_connection, read_status_error
from ml.llm.backends.openai_backend import OpenAIBackend, answer_of
from ml.llm.calls import CallError
from ml.llm.requests import Request

if TYPE_CHECKING:
    from openai.types import Batch

ENDPOINT: Final = "/v1/chat/completions"
LABEL = "interject_batch"
_ENDED = {"completed", "failed", "expired", "cancelled"}


class OpenAIBatches:
    """The batch side of an ``OpenAIBackend``, for servers that have ``/files`` and ``/batches``. A batch carries our label."""

    most_requests = 10_000  # the provider takes 50,000; smaller batches end sooner and lose less when one expires
    most_bytes = 150_000_000  # the provider takes 200 MB

    def __init__(self, backend: OpenAIBackend, *, timeout_s: float = 300.0) -> None:
        self.backend = backend
        self._client = backend.blocking_client(timeout_s=timeout_s, max_retries=4)

    def size(self, request: Request) -> int:
        return len(self._line("r" * 50, request))

    def upload(self, items: Sequence[tuple[str, Request]], label: str) -> str:
        import openai

        lines = b"".join(self._line(custom_id, request) for custom_id, request in items)
        try:
            file = self._client.files.create(file=(f"{label}.jsonl", lines), purpose="batch")  # a file twice costs nothing: may be retried
        except openai.OpenAIError as error:
            raise InputError(f"the batch file was not taken: {_said(error)}", record=self.backend.model) from error
        try:
            # retries off: a lost response to a taken batch would make a second one, paid twice
            made = self._client.with_options(max_retries=0).batches.create(
                input_file_id=file.id, endpoint=ENDPOINT, completion_window="24h", metadata={LABEL: label}
            )
        except openai.APIStatusError as error:
            raise InputError(f"the provider refused the batch: {_said(error)}", record=self.backend.model) from error
        except openai.APIConnectionError as error:
            lost = read_lost_connection(error, timed_out=isinstance(error, openai.APITimeoutError))
            if not lost.maybe_paid:
                raise InputError(f"the batch was not sent: {lost.reason}", record=self.backend.model) from error
            raise lost from error
        return made.id

    def look(self, native_id: str) -> BatchView:
        return _view(self._client.batches.retrieve(native_id))

    def recent(self) -> list[BatchView]:
        return [_view(one) for one in self._client.batches.list(limit=100).data]

    def results(self, native_id: str) -> Iterator[BatchResult]:
        seen = self._client.batches.retrieve(native_id)
        for file_id in (seen.output_file_id, seen.error_file_id):
            if file_id is None:
                continue
            for line in self._client.files.content(file_id).iter_lines():
                if line.strip():
                    yield _result(json.loads(line))

    def _line(self, custom_id: str, request: Request) -> bytes:
        row = {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": self.backend.wire(request)}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _view(seen: "Batch") -> BatchView:
    total = seen.request_counts.total if seen.request_counts is not None else 0
    told = [error.message for error in (seen.errors.data or []) if error.message] if seen.errors is not None else []
    return BatchView(
        seen.id, seen.status in _ENDED, total, float(seen.created_at), (seen.metadata or {}).get(LABEL), told[0][:300] if told else None
    )


def _result(line: Mapping[str, Any]) -> BatchResult:
    custom_id, response, error = str(line["custom_id"]), line.get("response") or {}, line.get("error")
    if error:
        expired = error.get("code") == "batch_expired"
        return BatchResult(custom_id, "expired" if expired else "errored", None, f"{error.get('code')}: {error.get('message')}"[:300])
    status = response.get("status_code")
    if status != 200:
        kind, message = details(response.get("body"))
        named = "invalid_request_error" if status in (400, 413, 422) else kind
        return BatchResult(custom_id, "errored", None, f"{named}: HTTP {status} {message}"[:300])
    try:
        return BatchResult(custom_id, "succeeded", answer_of(response.get("body"), {}), None)
    except CallError as error:
        return BatchResult(custom_id, "errored", None, error.reason)


def _said(error: Exception) -> str:
    import openai

    if isinstance(error, openai.APIStatusError):
        return read_status_error(error.status_code, lower(error.response.headers), error.body, str(error)).reason
    return str(error)
