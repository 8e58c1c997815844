"""What a provider's error means: try again, give up on this request, or stop. Both SDKs raise the same shapes."""

from collections.abc import Mapping
from typing import Any

from ml.llm.calls import CallError
from ml.llm.retries import retry_after_s

_RETRYABLE_STATUS = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_RETRYABLE_KIND = {
    "overloaded_error",
    "rate_limit_error",
    "api_error",
    "timeout_error",
    "server_error",
    "overloaded",
    "internal_server_error",
}
_FATAL_STATUS = {401: "the key was refused", 402: "no credit is left", 403: "the key may not do this", 404: "no such model or address"}
_FATAL_KIND = {"insufficient_quota", "billing_error", "authentication_error", "permission_error", "model_not_found"}
_LONGEST = 300


def details(body: object) -> tuple[str | None, str | None]:
    """Kind and message of an error body: ``{"error": {"type" or "code", "message"}}``, with or without the outer layer."""
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(inner, Mapping):
        return None, None
    code, kind, message = inner.get("code"), inner.get("type"), inner.get("message")
    named = code if isinstance(code, str) and code in _FATAL_KIND else kind if isinstance(kind, str) else code
    return str(named) if named is not None else None, str(message)[:_LONGEST] if message is not None else None


def read_status_error(status: int, headers: Mapping[str, str], body: object, fallback: str) -> CallError:
    """An error response, or an error event inside a 200 stream. ``x-should-retry`` is the server's own word and comes first."""
    kind, message = details(body)
    said = message or fallback[:_LONGEST]
    reason = f"HTTP {status} {kind or ''}: {said}" if status >= 400 else f"{kind or 'error'} inside the stream: {said}"
    reason = " ".join(reason.split())
    fatal = status in _FATAL_STATUS or kind in _FATAL_KIND or "credit balance" in said.lower()
    retryable = not fatal and (status in _RETRYABLE_STATUS or (status < 400 and kind in _RETRYABLE_KIND))
    match headers.get("x-should-retry"):
        case "false":
            retryable = False
        case "true":
            retryable = not fatal and status not in (400, 413, 422)  # the same pictures will not fit the next time either
    if fatal and status in _FATAL_STATUS:
        reason = f"{_FATAL_STATUS[status]} ({reason})"
    return CallError(
        reason,
        retryable=retryable,
        fatal=fatal,
        rate_limited=status == 429 or kind == "rate_limit_error",
        retry_after_s=retry_after_s(headers),
        headers=headers,
    )


def read_lost_connection(error: BaseException, *, timed_out: bool) -> CallError:
    """No response, or one that broke off. What never connected is surely not billed; anything else may be."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    chain = [one for one in chain if not isinstance(one, RuntimeError | LookupError)]  # of libraries that look for their event loop
    kinds = {type(one).__name__ for one in chain}
    unreachable = bool(kinds & {"ConnectError", "ConnectTimeout"})
    what = f"no connection{_address(error)}" if unreachable else "timed out" if timed_out else "connection lost"
    inner = next((str(one) for one in reversed(chain) if str(one)), type(error).__name__)
    maybe_paid = not unreachable and "PoolTimeout" not in kinds
    return CallError(f"{what}: {inner[:_LONGEST]}", retryable=True, maybe_paid=maybe_paid, unreachable=unreachable)


def _address(error: BaseException) -> str:
    """Scheme, host and port that the SDK's error tells; never the path or a query, which may hold a key."""
    url = getattr(getattr(error, "request", None), "url", None)
    if url is None:
        return ""
    return f" to {url.scheme}://{url.host}" + (f":{url.port}" if url.port is not None else "")


def lower(headers: Any) -> dict[str, str]:
    """Header names in lower case."""
    return {name.lower(): value for name, value in headers.items()}
