"""The files of a checkpoint folder as one whole: a seal, written last, names what they were made from and how they looked.

A tuning breaks the old seal before it replaces the first file. So a kill between adapter, head and thresholds leaves a folder that nobody
takes for a checkpoint.
"""

import json
import os
from pathlib import Path
from typing import Any

from ml.errors import InputError
from ml.sources.reading import file_sha256

ADAPTER_FILE = "adapter_model.safetensors"
ADAPTER_CONFIG_FILE = "adapter_config.json"
HEAD_FILE = "speak_head.safetensors"
THRESHOLDS_FILE = "thresholds.json"
SEAL_FILE = "made_from.json"
_REMEDY = "Materialize checkpoint again"


def break_seal(folder: Path) -> None:
    (folder / SEAL_FILE).unlink(missing_ok=True)


def seal(folder: Path, made_from: str) -> None:
    """The files are whole and belong together. ``made_from`` is the fingerprint of what they were tuned on."""
    files = {name: file_sha256(folder / name) for name in (ADAPTER_FILE, ADAPTER_CONFIG_FILE, HEAD_FILE, THRESHOLDS_FILE)}
    temporary = folder / f".{SEAL_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps({"made_from": made_from, "files": files}, indent=2) + "\n", encoding="utf-8")
    os.replace(temporary, folder / SEAL_FILE)


def sealed_with(folder: Path) -> str | None:
    """What the checkpoint was made from; None where there is no seal, or a file of it is gone. Contents are not looked at."""
    found = _read(folder)
    return None if found is None or any(not (folder / name).exists() for name in found["files"]) else str(found["made_from"])


def sealed_files(folder: Path) -> dict[str, str]:
    """SHA-256 of each file as it was sealed; empty where there is no seal."""
    found = _read(folder)
    return {} if found is None else {str(name): str(sha256) for name, sha256 in sorted(found["files"].items())}


def check_seal(folder: Path) -> None:
    """Raise ``InputError`` unless the folder holds a whole checkpoint whose files are those that were sealed."""
    found = _read(folder)
    if found is None:
        problem = "there is no checkpoint" if not (folder / ADAPTER_FILE).exists() else "the checkpoint is not whole: its tuning was killed"
        raise InputError(problem, file=folder, remedy=_REMEDY)
    for name, sha256 in found["files"].items():
        if not (folder / name).exists():
            raise InputError(f"{name} is missing", file=folder, remedy=_REMEDY)
        if file_sha256(folder / name) != sha256:
            raise InputError("the file is not the one that the tuning wrote", file=folder / name, remedy=_REMEDY)


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / SEAL_FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("files"), dict) and "made_from" in found else None
