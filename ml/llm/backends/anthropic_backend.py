"""Claude through the official SDK: one request to its wire form, one response to an answer. Retries and pacing are the client's.

The SDK's own retries are off, so that every attempt is counted, paced and budgeted. Short replies are asked for without a stream and read
from the raw body, since the SDK's processor time (about 1.8 ms a call) is what bounds the rate. Long ones stream, so that a stalled server
shows and an overload inside the stream is told from a cut reply.
"""

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ml.errors import InputError
from ml.llm.backends.errors import lower, read_lost_connection, read_status_error
from ml.llm.backends.shapes import count, items, mapping, odd_shape, parsed, words
from ml.llm.calls import Answer, CallError
from ml.llm.images import ANTHROPIC_LIMITS, ImageLimits, media_type
from ml.llm.requests import Request, Usage
from ml.vocabulary import Status

if TYPE_CHECKING:
    import anthropic

# Published minima of the prompt cache; a shorter prefix is accepted and silently not cached.
_MIN_PREFIX_TOKENS = {"claude-opus-4-1": 1024, "claude-sonnet-4": 1024, "claude-sonnet-4-5": 1024}
_SAFE_MIN_PREFIX_TOKENS = 4096
_STREAM_FROM_TOKENS = 4096
_TOOL = "reply"


class AnthropicBackend:
    """Claude models over ``/v1/messages``.

    ``schema_by``: ``format`` constrains the output (``output_config``), ``tool`` forces a tool call, for models without the former.
    ``stream``: None decides by ``max_tokens``. ``send_temperature``: the SDK has no temperature any more because newer models refuse it;
    older ones still take it from the body. ``effort`` and ``extra`` go into the body and into the cache key.
    """

    provider = "anthropic"

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        schema_by: Literal["format", "tool"] = "format",
        stream: bool | None = None,
        send_temperature: bool = False,
        effort: str | None = None,
        extra: Mapping[str, object] | None = None,
        min_prefix_tokens: int | None = None,
        image_limits: ImageLimits = ANTHROPIC_LIMITS,
    ) -> None:
        import anthropic  # a second of start-up, paid here so that no run's first calls wait for it

        self.model = model
        self.image_limits = image_limits
        self.min_prefix_tokens: int | None = (
            min_prefix_tokens if min_prefix_tokens is not None else _MIN_PREFIX_TOKENS.get(model, _SAFE_MIN_PREFIX_TOKENS)
        )
        self.parameters: Mapping[str, object] = {
            "schema_by": schema_by,
            "send_temperature": send_temperature,
            "effort": effort,
            "extra": dict(extra or {}),
        }
        self.api_key, self.base_url, self._stream = api_key, base_url, stream
        self._schema_by, self._send_temperature, self._effort, self._extra = schema_by, send_temperature, effort, dict(extra or {})
        self._client: anthropic.AsyncAnthropic | None = None

    async def open(self) -> None:
        import anthropic

        self._client = anthropic.AsyncAnthropic(api_key=self.api_key, base_url=self.base_url, max_retries=0, open_telemetry=False)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def body(self, request: Request, *, cache_prefix: bool = False) -> dict[str, Any]:
        """The wire form of ``/v1/messages``; batches send it too."""
        content: str | list[dict[str, Any]] = request.prompt
        if request.images:
            content = [_image_block(image) for image in request.images] + [{"type": "text", "text": request.prompt}]
        body: dict[str, Any] = {"model": self.model, "max_tokens": request.max_tokens, "messages": [{"role": "user", "content": content}]}
        if request.system:
            block: dict[str, Any] = {"type": "text", "text": request.system}
            body["system"] = [{**block, "cache_control": {"type": "ephemeral"}}] if cache_prefix else request.system
        if self._effort is not None:
            body["output_config"] = {"effort": self._effort}
        if request.schema is not None:
            if self._schema_by == "format":
                body["output_config"] = {
                    **body.get("output_config", {}),
                    "format": {"type": "json_schema", "schema": _strict(request.schema)},
                }
            else:
                body["tools"] = [{"name": _TOOL, "description": "Give the reply.", "input_schema": dict(request.schema)}]
                body["tool_choice"] = {"type": "tool", "name": _TOOL}
        if self._send_temperature:
            body["temperature"] = request.temperature
        return {**body, **self._extra}

    async def call(self, request: Request, *, cache_prefix: bool, timeout_s: float) -> Answer:
        stream = self._stream if self._stream is not None else request.max_tokens > _STREAM_FROM_TOKENS
        body = self.body(request, cache_prefix=cache_prefix)
        send = self._streamed if stream else self._whole
        return await send(body, timeout_s)

    async def _whole(self, body: dict[str, Any], timeout_s: float) -> Answer:
        import anthropic
        import httpx2

        known, rest = _known(body)
        try:
            async with asyncio.timeout(timeout_s):
                raw = await self._open().messages.with_raw_response.create(**known, extra_body=rest, timeout=timeout_s)
                response = raw.http_response
                return answer_of(parsed(response.content), lower(response.headers))
        except anthropic.APIStatusError as error:
            raise read_status_error(error.status_code, lower(error.response.headers), error.body, str(error)) from error
        except (anthropic.APITimeoutError, TimeoutError) as error:
            raise read_lost_connection(error, timed_out=True) from error
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            raise read_lost_connection(error, timed_out=False) from error
        except (anthropic.AnthropicError, TypeError) as error:
            raise _no_key(error) from error

    async def _streamed(self, body: dict[str, Any], timeout_s: float) -> Answer:
        import anthropic
        import httpx2

        known, rest = _known(body)
        told = _Told()
        headers: dict[str, str] = {}
        try:
            async with asyncio.timeout(timeout_s):
                raw = await self._open().messages.with_raw_response.create(**known, extra_body=rest, timeout=timeout_s, stream=True)
                headers = lower(raw.headers)
                async with await raw.parse() as events:
                    async for event in events:
                        told.hear(event)
            if told.stop_reason is None:
                raise httpx2.RemoteProtocolError("the stream ended before the reply did")
        except anthropic.APIStatusError as error:
            failure = read_status_error(error.status_code, lower(error.response.headers), error.body, str(error))
            return told.lost(failure, self.model, headers)
        except (anthropic.APITimeoutError, TimeoutError) as error:
            return told.lost(read_lost_connection(error, timed_out=True), self.model, headers)
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            return told.lost(read_lost_connection(error, timed_out=False), self.model, headers)
        except (anthropic.AnthropicError, TypeError, AttributeError, ValueError, RecursionError) as error:
            if headers:  # it was sent, and the SDK builds objects of whatever a stream holds
                return told.lost(odd_shape(str(error)[:200]), self.model, headers)
            raise _no_key(error) from error
        return answer_of(told.message(), headers)

    async def count_tokens(self, request: Request) -> int:
        body = self.body(request)
        body.pop("max_tokens")
        body.pop("temperature", None)
        counted = await self._open().messages.count_tokens(**body)
        return counted.input_tokens

    def _open(self) -> "anthropic.AsyncAnthropic":
        if self._client is None:
            raise RuntimeError("the backend is used before open()")
        return self._client


class _Told:
    """What a stream has said so far. The SDK's accumulator copies the whole message on each event; this keeps pieces."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.kinds: list[str] = []
        self.usage: dict[str, Any] = {}
        self.model = ""
        self.stop_reason: str | None = None
        self.stop_details: object = None

    def hear(self, event: Any) -> None:
        match event.type:
            case "message_start":
                self.model = event.message.model
                self.usage = event.message.usage.model_dump()
            case "content_block_start":
                self.kinds.append(event.content_block.type)
            case "content_block_delta" if event.delta.type == "text_delta":
                self.pieces.append(words(event.delta.text, "the text"))
            case "content_block_delta" if event.delta.type == "input_json_delta":
                self.pieces.append(words(event.delta.partial_json, "the text"))
            case "message_delta":
                self.stop_reason = event.delta.stop_reason
                self.stop_details = getattr(event.delta, "stop_details", None)
                self.usage |= {name: value for name, value in event.usage.model_dump().items() if value is not None}

    def message(self) -> dict[str, Any]:
        text = "".join(self.pieces)
        blocks = [{"type": "text", "text": text}] if text else []
        return {"content": blocks, "stop_reason": self.stop_reason, "usage": self.usage, "model": self.model}

    def lost(self, failure: CallError, model: str, headers: Mapping[str, str]) -> Answer:
        """A recorded failure where text had come, since asking again would pay twice and could double it; else the error goes on."""
        if not self.pieces:
            raise failure
        text = "".join(self.pieces)
        reason = f"{failure.reason}, after {len(text)} characters of text"
        return Answer(Status.ERROR, None, reason, usage_of(self.usage), self.model or model, {**headers, **failure.headers})


def usage_of(usage: object) -> Usage:
    """Tokens of an Anthropic usage object: its input tokens leave cached ones out already. What is no number counts 0."""
    told = usage if isinstance(usage, Mapping) else {}
    return Usage(
        input_tokens=count(told.get("input_tokens")),
        output_tokens=count(told.get("output_tokens")),
        cache_read_tokens=count(told.get("cache_read_input_tokens")),
        cache_write_tokens=count(told.get("cache_creation_input_tokens")),
    )


def answer_of(response: object, headers: Mapping[str, str]) -> Answer:
    """The outcome of a whole message. Raises CallError for an error that came with status 200, and for any other shape."""
    message = mapping(response, "the message")
    usage, model = usage_of(message.get("usage")), str(message.get("model") or "")
    if message.get("type") == "error":
        raise read_status_error(200, headers, message, str(message.get("error")))
    blocks = [mapping(block, "a content block") for block in items(message.get("content"), "content")]
    tool = next((block.get("input") for block in blocks if block.get("type") == "tool_use"), None)
    text = "".join(words(block.get("text"), "the text") for block in blocks if block.get("type") == "text")
    if tool is not None:
        text = json.dumps(tool, ensure_ascii=False)
    match message.get("stop_reason"):
        case "refusal":
            told = message.get("stop_details") or {}
            category = told.get("category") if isinstance(told, Mapping) else None
            return Answer(Status.REFUSED, text or None, f"stop reason refusal{f' ({category})' if category else ''}", usage, model, headers)
        case "max_tokens" | "model_context_window_exceeded" as stop:
            return Answer(Status.TRUNCATED, text or None, f"stop reason {stop}", usage, model, headers)
        case stop if not text.strip():
            return Answer(Status.EMPTY, None, f"no text, stop reason {stop}", usage, model, headers)
        case _:
            return Answer(Status.OK, text, None, usage, model, headers)


def _known(body: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The SDK's named parameters, and what must go through ``extra_body``."""
    named = {"model", "max_tokens", "messages", "system", "output_config", "tools", "tool_choice", "thinking", "metadata", "service_tier"}
    rest = {name: value for name, value in body.items() if name not in named}
    return {name: value for name, value in body.items() if name in named}, rest or None


def _image_block(data: bytes) -> dict[str, Any]:
    kind = media_type(data)
    if kind is None:
        raise CallError("the bytes are no picture", retryable=False)
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode("ascii")}}


def _strict(schema: Mapping[str, object]) -> dict[str, Any]:
    import anthropic

    try:
        return anthropic.transform_schema(dict(schema))
    except ValueError as error:
        raise InputError(f"the schema cannot constrain a reply ({error})", field="schema") from error


def _no_key(error: Exception) -> CallError:
    return CallError(f"the SDK could not send: {str(error)[:300]}", retryable=False, fatal=True)
