"""What all scorer options share: a hash that every result carries. Options themselves stand with their scorers."""

import hashlib
import json
from dataclasses import asdict, is_dataclass
from typing import Any

SCORER_VERSION = 1  # raise it when a scorer's rule changes, so that old results are not taken for new ones


def options_hash(*options: Any) -> str:
    """12 hex digits over class names and values of the option sets and the scorer version."""
    plain = [{"class": type(o).__name__, "values": asdict(o)} for o in options if is_dataclass(o) and not isinstance(o, type)]
    if len(plain) != len(options):
        raise TypeError("options_hash takes dataclass instances")
    text = json.dumps([SCORER_VERSION, plain], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
