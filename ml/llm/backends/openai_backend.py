"""Any OpenAI-compatible server (OpenAI, vLLM, llama.cpp, Gemini's endpoint) through the official SDK. Retries and pacing are the client's.

The same division of labour as ``ml.llm.backends.anthropic_backend``: the SDK's own retries are off, short replies come whole, long ones
stream. These servers cache prompts by themselves, so nothing is marked.
"""

import asyncio
import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ml.errors import InputError
from ml.llm.backends.errors import lower, read_lost_connection, read_status_error
from ml.llm.backends.shapes import count, items, mapping, odd_shape, parsed, words
from ml.llm.calls import Answer, CallError
from ml.llm.images import OPENAI_LIMITS, ImageLimits, media_type
from ml.llm.requests import Request, Usage
from ml.vocabulary import Status

if TYPE_CHECKING:
    import openai

_STREAM_FROM_TOKENS = 4096


class OpenAIBackend:
    """Models over ``/chat/completions``.

    ``base_url`` None is OpenAI itself; with one and no key, the word "none" is sent, as local servers ask for none. ``provider`` names the
    server in the cache key, so that one model name on two servers is two models. ``max_tokens_field``: OpenAI wants
    ``max_completion_tokens``, others ``max_tokens``; None decides by ``base_url``. ``extra`` goes into the body and into the cache key.
    """

    min_prefix_tokens: int | None = None

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        provider: str = "openai",
        max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None,
        stream: bool | None = None,
        send_temperature: bool = True,
        extra: Mapping[str, object] | None = None,
        image_limits: ImageLimits = OPENAI_LIMITS,
    ) -> None:
        import openai  # a second of start-up, paid here so that no run's first calls wait for it

        self.model, self.provider, self.image_limits = model, provider, image_limits
        self.parameters: Mapping[str, object] = {"send_temperature": send_temperature, "extra": dict(extra or {})}
        self._api_key = api_key if api_key is not None or base_url is None else "none"
        self._base_url, self._stream, self._send_temperature, self._extra = base_url, stream, send_temperature, dict(extra or {})
        self._max_tokens_field = max_tokens_field or ("max_completion_tokens" if base_url is None else "max_tokens")
        self._client: openai.AsyncOpenAI | None = None

    async def open(self) -> None:
        import openai

        try:
            self._client = openai.AsyncOpenAI(api_key=self._api_key, base_url=self._base_url, max_retries=0)
        except openai.OpenAIError as error:
            raise _no_key(error) from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def body(self, request: Request) -> dict[str, Any]:
        """The wire form of ``/chat/completions``."""
        content: str | list[dict[str, Any]] = request.prompt
        if request.images:
            content = [_image_part(image) for image in request.images] + [{"type": "text", "text": request.prompt}]
        messages = [{"role": "system", "content": request.system}] if request.system else []
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [*messages, {"role": "user", "content": content}],
            self._max_tokens_field: request.max_tokens,
        }
        if self._send_temperature:
            body["temperature"] = request.temperature
        if request.schema is not None:
            named = {"name": "reply", "schema": dict(request.schema), "strict": is_strict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def wire(self, request: Request) -> dict[str, Any]:
        """The whole body with the backend's ``extra``; batches send it."""
        return {**self.body(request), **self._extra}

    def blocking_client(self, *, timeout_s: float, max_retries: int) -> "openai.OpenAI":
        """The SDK's blocking client for the same server and key. Raises InputError where there is no key."""
        import openai

        try:
            return openai.OpenAI(api_key=self._api_key, base_url=self._base_url, max_retries=max_retries, timeout=timeout_s)
        except openai.OpenAIError as error:
            raise _no_key(error) from error

    async def call(self, request: Request, *, cache_prefix: bool, timeout_s: float) -> Answer:
        import httpx2
        import openai

        stream = self._stream if self._stream is not None else request.max_tokens > _STREAM_FROM_TOKENS
        told = _Told()
        headers: dict[str, str] = {}
        try:
            async with asyncio.timeout(timeout_s):
                if not stream:
                    # `create` checks every key of the body against its types, a third of the processor time of a call
                    response: httpx2.Response = await self._open().post(
                        "/chat/completions", cast_to=httpx2.Response, body=self.wire(request), options={"timeout": timeout_s}
                    )
                    return answer_of(parsed(response.content), lower(response.headers))
                create: Any = self._open().chat.completions.with_raw_response.create
                options = {"include_usage": True}
                raw = await create(
                    **self.body(request), extra_body=self._extra or None, timeout=timeout_s, stream=True, stream_options=options
                )
                headers = lower(raw.headers)
                async for chunk in raw.parse():
                    told.hear(chunk)
            if told.finish_reason is None:
                raise httpx2.RemoteProtocolError("the stream ended before the reply did")
        except openai.APIStatusError as error:
            failure = read_status_error(error.status_code, lower(error.response.headers), error.body, str(error))
            return told.lost(failure, self.model, headers)
        except (openai.APITimeoutError, TimeoutError) as error:
            return told.lost(read_lost_connection(error, timed_out=True), self.model, headers)
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            return told.lost(read_lost_connection(error, timed_out=False), self.model, headers)
        except openai.APIError as error:  # an error object inside a 200 stream
            return told.lost(read_status_error(200, headers, error.body, str(error)), self.model, headers)
        except (AttributeError, TypeError, ValueError, RecursionError) as error:  # the SDK builds objects of whatever a stream holds
            return told.lost(odd_shape(str(error)[:200]), self.model, headers)
        return answer_of(told.completion(), headers)

    async def count_tokens(self, request: Request) -> int:
        raise InputError("this server has no endpoint that counts tokens", record=self.model, remedy="Use the estimate by length")

    def _open(self) -> "openai.AsyncOpenAI":
        if self._client is None:
            raise RuntimeError("the backend is used before open()")
        return self._client


class _Told:
    """What a stream has said so far."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.refusals: list[str] = []
        self.usage: Any = {}
        self.model = ""
        self.finish_reason: str | None = None

    def hear(self, chunk: Any) -> None:
        self.model = chunk.model or self.model
        if chunk.usage is not None:
            self.usage = chunk.usage.model_dump() if hasattr(chunk.usage, "model_dump") else chunk.usage
        for choice in chunk.choices or []:
            self.pieces.append(words(choice.delta.content, "the text"))
            self.refusals.append(words(choice.delta.refusal, "the refusal"))
            self.finish_reason = choice.finish_reason or self.finish_reason

    def completion(self) -> dict[str, Any]:
        said = {"content": "".join(self.pieces), "refusal": "".join(self.refusals) or None}
        return {"choices": [{"message": said, "finish_reason": self.finish_reason}], "usage": self.usage, "model": self.model}

    def lost(self, failure: CallError, model: str, headers: Mapping[str, str]) -> Answer:
        """A recorded failure where text had come; else the error goes on."""
        text = "".join(self.pieces)
        if not text:
            raise failure
        reason = f"{failure.reason}, after {len(text)} characters of text"
        return Answer(Status.ERROR, None, reason, usage_of(self.usage), self.model or model, {**headers, **failure.headers})


def usage_of(usage: object) -> Usage:
    """Tokens of a completion's usage: its prompt tokens include cached ones, which are taken out here. What is no number counts 0."""
    told = usage if isinstance(usage, Mapping) else {}
    details = inner if isinstance(inner := told.get("prompt_tokens_details"), Mapping) else {}
    read, written = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
    return Usage(
        input_tokens=max(0, count(told.get("prompt_tokens")) - read - written),
        output_tokens=count(told.get("completion_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def answer_of(response: object, headers: Mapping[str, str]) -> Answer:
    """The outcome of a whole completion. Raises CallError for an error that came with status 200, and for any other shape."""
    completion = mapping(response, "the completion")
    usage, model = usage_of(completion.get("usage")), str(completion.get("model") or "")
    choices = items(completion.get("choices"), "choices")
    if not choices and completion.get("error"):
        raise read_status_error(200, headers, completion, str(completion["error"]))
    if not choices:
        return Answer(Status.EMPTY, None, "no choice in the completion", usage, model, headers)
    choice = mapping(choices[0], "the choice")
    said, stop = mapping(choice.get("message"), "the message"), choice.get("finish_reason")
    text, refusal = words(said.get("content"), "the text"), words(said.get("refusal"), "the refusal")
    if refusal:
        return Answer(Status.REFUSED, None, f"refusal: {refusal[:200]}", usage, model, headers)
    match stop:
        case "content_filter":
            return Answer(Status.REFUSED, text or None, "stop reason content_filter", usage, model, headers)
        case "length":
            return Answer(Status.TRUNCATED, text or None, "stop reason length", usage, model, headers)
        case _ if not text.strip():
            return Answer(Status.EMPTY, None, f"no text, stop reason {stop}", usage, model, headers)
        case _:
            return Answer(Status.OK, text, None, usage, model, headers)


def _no_key(error: Exception) -> InputError:
    return InputError(f"the SDK found no key ({error})", field="llm.api_key", remedy="Set OPENAI_API_KEY")


def is_strict(schema: Mapping[str, object]) -> bool:
    """Whether OpenAI would take the schema as strict: every object is closed and requires all of its properties."""
    if schema.get("type") == "object":
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or schema.get("additionalProperties") is not False:
            return False
        required = schema.get("required")
        if not isinstance(required, list | tuple) or set(required) != set(properties):
            return False
    inner: list[object] = []
    for word in ("properties", "$defs"):
        inner.extend(part.values() if isinstance(part := schema.get(word), Mapping) else ())
    for word in ("anyOf", "oneOf", "allOf"):
        inner.extend(part if isinstance(part := schema.get(word), list) else ())
    inner.append(schema.get("items"))
    return all(is_strict(part) for part in inner if isinstance(part, Mapping))


def _image_part(data: bytes) -> dict[str, Any]:
    kind = media_type(data)
    if kind is None:
        raise CallError("the bytes are no picture", retryable=False)
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"}}
