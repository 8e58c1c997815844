"""What all scorer options share: the hash that every result carries, and setting them by name. The options stand with their scorers."""

import hashlib
import json
import types
from collections.abc import Iterable
from dataclasses import asdict, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ml.errors import InputError

SCORER_VERSION = 5  # raise it when a scorer's rule changes, so that old results are not taken for new ones
LARGEST = 1e7  # four months in seconds; no option means anything above it
T = TypeVar("T")
_NONE = ("none", "null")


def options_hash(*options: Any) -> str:
    """12 hex digits over class names and values of the option sets and the scorer version."""
    plain = [{"class": type(o).__name__, "values": asdict(o)} for o in options if is_dataclass(o) and not isinstance(o, type)]
    if len(plain) != len(options):
        raise TypeError("options_hash takes dataclass instances")
    text = json.dumps([SCORER_VERSION, plain], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def flat(options: Any, prefix: str = "") -> dict[str, Any]:
    """Every option by its dotted name, e.g. ``soft.sigma``."""
    found: dict[str, Any] = {}
    for one in fields(options):
        value = getattr(options, one.name)
        if is_dataclass(value) and not isinstance(value, type):
            found |= flat(value, f"{prefix}{one.name}.")
        else:
            found[f"{prefix}{one.name}"] = value
    return found


def allowed_values(options: Any, name: str) -> str:
    """What an option takes, in words: the named alternatives, or the kind of value."""
    return _words(_hint(options, name))


def with_options(options: T, settings: Iterable[str]) -> T:
    """Options with some set by ``name=value``. The name is dotted, or its last part where no other option has it.

    Raises ``InputError`` that names what is allowed.
    """
    for setting in settings:
        given, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"{setting!r} sets no option", field="option", remedy="Write name=value")
        name = _resolve(options, given.strip())
        options = _set(options, name.split("."), _parse(text.strip(), _hint(options, name), name))
    return options


def _resolve(options: Any, given: str) -> str:
    known = list(flat(options))
    if given in known:
        return given
    ends = [name for name in known if name.rsplit(".", 1)[-1] == given]
    if len(ends) == 1:
        return ends[0]
    problem = f"no option {given!r}" if not ends else f"{given!r} could be {' or '.join(ends)}"
    raise InputError(problem, field="option", remedy=f"Options: {', '.join(known)}")


def _hint(options: Any, name: str) -> Any:
    first, _, rest = name.partition(".")
    if rest:
        return _hint(getattr(options, first), rest)
    return get_type_hints(type(options))[first]


def _set(options: Any, path: list[str], value: object) -> Any:
    first, *rest = path
    return replace(options, **{first: _set(getattr(options, first), rest, value) if rest else value})


def _parse(text: str, hint: Any, name: str) -> object:
    for kind in _kinds(hint):
        if kind is type(None):
            if text.lower() in _NONE:
                return None
            continue
        try:
            return _one(text, kind)
        except ValueError:
            continue
    raise InputError(f"{text!r} does not fit", field=name, remedy=f"Allowed: {_words(hint)}")


def _kinds(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _one(text: str, kind: Any) -> object:
    if get_origin(kind) is tuple:
        return tuple(_one(part.strip(), get_args(kind)[0]) for part in text.split(",") if part.strip())
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(text) if text in set(kind) else kind[text.upper()] if text.upper() in kind.__members__ else kind(text)
    if kind is bool:
        if text.lower() in ("true", "yes", "1"):
            return True
        if text.lower() in ("false", "no", "0"):
            return False
        raise ValueError(text)
    if kind is str:
        return text
    if kind in (int, float) and "_" not in text and 0 <= (number := kind(text)) <= LARGEST:
        return number
    raise ValueError(text)


def _words(hint: Any) -> str:
    words = []
    for kind in _kinds(hint):
        if kind is type(None):
            words.append("none")
        elif get_origin(kind) is tuple:
            words.append(f"{_words(get_args(kind)[0])}, separated by commas")
        elif isinstance(kind, type) and issubclass(kind, StrEnum):
            words += [str(member) for member in kind]
        elif kind is bool:
            words += ["true", "false"]
        else:
            words.append({int: "a whole number from 0 to 1e7", float: "a number from 0 to 1e7", str: "a text"}.get(kind, str(kind)))
    return ", ".join(words)
