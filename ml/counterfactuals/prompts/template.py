"""How a prompt is held and filled in. The texts are in one module per mistake type beside this one."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template

from ml.errors import InputError
from ml.vocabulary import Direction


@dataclass(frozen=True)
class Prompts:
    """All prompt texts of one mistake type, with ``$name`` for inputs. ``change`` is empty where extraction proposes the change."""

    system: str
    extract: str
    change: Mapping[Direction, str]
    instruct: str
    feedback: Mapping[Direction, str]
    timestamp: Mapping[Direction, str]


def fill(template: str, inputs: Mapping[str, object]) -> str:
    """The template with its inputs; an input that is absent or None reads "not stated". Raises ``InputError`` for a bad template."""

    class _Named(dict[str, str]):
        def __missing__(self, key: str) -> str:
            return "not stated"

    values = _Named({name: _shown(name, value) for name, value in inputs.items() if value is not None})
    try:
        return Template(template).substitute(values)
    except ValueError as error:
        raise InputError(f"the prompt template is broken: {error}", field="prompt", remedy="Write $$ for a dollar sign") from error


@lru_cache
def fill_hash() -> str:
    """12 hex digits over this module: how inputs are shown is a part of every prompt."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]


def _shown(name: str, value: object) -> str:
    if name == "narrations" and isinstance(value, Sequence):
        return "\n".join(f"{row['start_s']:g} s to {row['end_s']:g} s: {row['text']}" for row in value)
    if name == "options" and isinstance(value, Sequence):
        return ", ".join(f"{float(option):g}" for option in value)
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
