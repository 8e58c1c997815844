"""Whether a command can write where it was told to: asked before any work, so that none is lost."""

import tempfile
from pathlib import Path
from typing import NoReturn

from ml.errors import InputError


def writable_folder(folder: Path, option: str) -> Path:
    """``folder``, which may not exist yet. Raises ``InputError`` naming ``option`` where nothing can be written there; makes nothing."""
    try:
        base = folder
        while not base.exists():
            base = base.parent
        if not base.is_dir():
            _refuse(base, "a file stands where a folder belongs", option)
        with tempfile.TemporaryFile(dir=base):
            return folder
    except OSError as error:
        _refuse(folder, f"nothing can be written there: {(error.strerror or str(error)).lower()}", option)


def writable_file(path: Path, option: str) -> Path:
    """``path``, which may be there already as a plain file. Raises ``InputError`` naming ``option`` where it cannot be written."""
    try:
        if path.is_dir():
            _refuse(path, "this is a folder, not a file", option)
        if path.exists() and not path.is_file():
            _refuse(path, "this is no plain file", option)
    except OSError as error:
        _refuse(path, (error.strerror or str(error)).lower(), option)
    writable_folder(path.parent, option)
    return path


def _refuse(path: Path, problem: str, option: str) -> NoReturn:
    raise InputError(problem, file=path, field=option, remedy=f"Name another place with {option}")
