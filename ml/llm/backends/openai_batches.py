"""Batch files of the OpenAI interface: upload a file, start a batch, look, read the result files. Bookkeeping is ``ml.llm.batches``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from ml.errors import InputError
from ml.llm.backends.batch_reading import failed, fetch, results_of
from ml.llm.backends.batching import LOOK_S, BatchResult, BatchView, GoneError
from ml.llm.backends.errors import details, lower, read_lost_connection, read_status_error
from ml.llm.backends.openai_backend import OpenAIBackend, answer_of
from ml.llm.backends.shapes import count, items, mapping, odd_shape, parsed
from ml.llm.requests import Request

ENDPOINT: Final = "/v1/chat/completions"
LABEL = "interject_batch"
_ENDED = ("completed", "failed", "expired", "cancelled")
_INVALID = (400, 413, 422)


class OpenAIBatches:
    """The batch side of an ``OpenAIBackend``, for servers that have ``/files`` and ``/batches``. A batch carries our label."""

    most_requests = 10_000  # the provider takes 50,000; smaller batches end sooner and lose less when one expires
    most_bytes = 150_000_000  # the provider takes 200 MB

    def __init__(self, backend: OpenAIBackend, *, timeout_s: float = 300.0) -> None:
        self.backend = backend
        self._client = backend.blocking_client(timeout_s=timeout_s, max_retries=4)
        self._looking = self._client.with_options(max_retries=0, timeout=LOOK_S)

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
        return _view(self._seen(native_id))

    def recent(self) -> list[BatchView]:
        page = mapping(parsed(fetch(self._looking, "/batches?limit=100")), "the list of batches")
        return [_view(mapping(one, "a batch")) for one in items(page.get("data"), "the list of batches")]

    def results(self, native_id: str) -> Iterator[BatchResult]:
        seen = self._seen(native_id)
        gone: GoneError | None = None
        for name in ("output_file_id", "error_file_id"):
            file_id = seen.get(name)
            if file_id is None:
                continue
            try:
                content = fetch(self._client, f"/files/{quote(str(file_id), safe='')}/content")
            except GoneError as error:
                gone = error
                continue
            yield from results_of(content, _result)
        if gone is not None:
            raise gone

    def _seen(self, native_id: str) -> Mapping[str, Any]:
        return mapping(parsed(fetch(self._looking, f"/batches/{quote(native_id, safe='')}")), "the batch")

    def _line(self, custom_id: str, request: Request) -> bytes:
        row = {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": self.backend.wire(request)}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _view(seen: Mapping[str, Any]) -> BatchView:
    metadata, counts, created = seen.get("metadata"), seen.get("request_counts"), seen.get("created_at")
    label = metadata.get(LABEL) if isinstance(metadata, Mapping) else None
    return BatchView(
        str(seen.get("id")),
        seen.get("status") in _ENDED,
        count(counts.get("total")) if isinstance(counts, Mapping) else 0,
        float(created) if isinstance(created, int | float) else 0.0,
        label if isinstance(label, str) else None,
        _problem(seen.get("errors")),
    )


def _problem(errors: object) -> str | None:
    """The first message of a batch's errors, in whatever shape."""
    listed = errors.get("data") if isinstance(errors, Mapping) else errors
    for one in listed if isinstance(listed, list) else [listed]:
        said = one.get("message") if isinstance(one, Mapping) else one
        if said:
            return str(said)[:300]
    return None


def _result(custom_id: str, line: Mapping[str, Any]) -> BatchResult:
    error = line.get("error")
    if isinstance(error, Mapping) and error:
        if error.get("code") == "batch_expired":
            return BatchResult(custom_id, "expired", None, f"batch_expired: {error.get('message')}"[:300])
        return failed(custom_id, error.get("code"), error.get("message"))
    if error:
        return failed(custom_id, "error", error)
    response = mapping(line.get("response"), "the response")
    status, body = response.get("status_code"), response.get("body")
    if status != 200:
        kind, message = details(body)
        return failed(custom_id, "invalid_request_error" if status in _INVALID else kind, f"HTTP {status} {message}")
    if body is None:
        raise odd_shape("there is no completion")
    return BatchResult(custom_id, "succeeded", answer_of(body, {}), None)


def _said(error: Exception) -> str:
    import openai

    if isinstance(error, openai.APIStatusError):
        return read_status_error(error.status_code, lower(error.response.headers), error.body, str(error)).reason
    return str(error)
