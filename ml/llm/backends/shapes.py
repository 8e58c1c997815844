"""Reading a server's response without trust in its shape: what does not fit is a failed call, never an exception of another kind."""

import json
from collections.abc import Mapping
from typing import Any

from ml.llm.calls import CallError

_MOST_TOKENS = 10**9  # of one call; more is nonsense


def parsed(content: bytes) -> Any:
    """The JSON value of a response's body. Raises CallError where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, numbers of thousands of digits, thousands of brackets
        raise CallError(f"the response is no JSON: {str(error)[:200]}", retryable=True, maybe_paid=True) from error


def odd_shape(what: str) -> CallError:
    """The failure of a response that came and cannot be read; it may be billed, and the next one may be whole."""
    return CallError(f"the response has another shape: {what}", retryable=True, maybe_paid=True)


def mapping(value: object, name: str) -> Mapping[str, Any]:
    """An object; nothing and null are an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise odd_shape(f"{name} is a {type(value).__name__}")
    return value


def items(value: object, name: str) -> list[Any]:
    """A list; nothing and null are an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise odd_shape(f"{name} is a {type(value).__name__}")
    return value


def words(value: object, name: str) -> str:
    """A text, or the texts of a list of parts; nothing and null are an empty one."""
    match value:
        case None:
            return ""
        case str():
            return value
        case list():
            parts = [mapping(part, f"a part of {name}") for part in value]
            return "".join(words(part.get("text"), name) for part in parts if part.get("type", "text") in ("text", "output_text"))
    raise odd_shape(f"{name} is a {type(value).__name__}")


def count(value: object) -> int:
    """A number of tokens; 0 where a server tells nonsense."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else 0
