"""Reading what a provider tells of its batches without trust in its shape. A bad line costs one result, a bad response one look."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ml.llm.backends.batching import BatchResult, GoneError
from ml.llm.backends.errors import details, lower, read_lost_connection, read_status_error
from ml.llm.backends.shapes import mapping, parsed
from ml.llm.calls import CallError

if TYPE_CHECKING:
    import anthropic
    import openai

_GONE = (404, 410)
_LONGEST = 300


def fetch(client: "anthropic.Anthropic | openai.OpenAI", path: str) -> bytes:
    """The body at a path of the provider. Raises GoneError where the provider says that it has no such thing, else CallError."""
    import anthropic
    import httpx2
    import openai

    try:
        response: httpx2.Response = client.get(path, cast_to=httpx2.Response)
    except (anthropic.APIStatusError, openai.APIStatusError) as error:
        failure = read_status_error(error.status_code, lower(error.response.headers), error.body, str(error))
        _, said = details(error.body)
        # a wrong address answers 404 as well, with a page or with "Invalid URL": what is behind another address is not lost
        if error.status_code in _GONE and said is not None and not said.startswith("Invalid URL"):
            raise GoneError(said, retryable=False) from error
        raise failure from error
    except (anthropic.APIConnectionError, openai.APIConnectionError) as error:
        timed_out = isinstance(error, anthropic.APITimeoutError | openai.APITimeoutError)
        raise read_lost_connection(error, timed_out=timed_out) from error
    return response.content


def results_of(content: bytes, read: Callable[[str, Mapping[str, Any]], BatchResult]) -> Iterator[BatchResult]:
    """One result a line. A line without an id, or that is no JSON object, is left out: its request counts as missing.

    Lines end at ``\\n`` alone: JSON may hold U+2028 and U+0085 as they are, where ``str.splitlines`` would cut.
    """
    for raw in content.split(b"\n"):
        if not raw.strip():
            continue
        try:
            line = mapping(parsed(raw), "a line of results")
        except CallError:
            continue
        custom_id = line.get("custom_id")
        if not isinstance(custom_id, str):
            continue
        try:
            result = read(custom_id, line)
        except CallError as error:
            result = BatchResult(custom_id, "errored", None, error.reason)
        yield result


def failed(custom_id: str, kind: object, message: object) -> BatchResult:
    """A request that the provider reports as failed."""
    return BatchResult(custom_id, "errored", None, f"{kind}: {message}"[:_LONGEST])
