"""Kinds of values that several sections take: names, devices, addresses, picture sizes. What a key means stands in its section."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_ASSET_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value) or ".." in value:
        raise ValueError("a name is made of plain letters, digits, `_`, `-` and single dots, and begins with a letter, digit or `_`")
    return value


def _asset_name(value: str) -> str:
    if not _ASSET_NAME.fullmatch(value):
        raise ValueError("a source's name is made of plain letters, digits and `_`, and begins with a letter")
    return value


def _device(value: str) -> str:
    if not _DEVICE.fullmatch(value):
        raise ValueError("a device is auto, cpu, mps, cuda or cuda:<number>")
    return value


def _address(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", value):
        raise ValueError("an address begins with http:// or https:// and names a server")
    return value


def _folder(value: object) -> object:
    if isinstance(value, str | Path) and (not str(value).strip() or "\0" in str(value)):
        raise ValueError("a folder is named by a text that is not empty")
    return value


Name = Annotated[str, AfterValidator(_name)]
"""Becomes a file name, a partition key and a part of other names."""
AssetName = Annotated[str, AfterValidator(_asset_name)]
"""Becomes the name of an asset, and what stands before ``/`` in recording ids."""
Device = Annotated[str, AfterValidator(_device)]
Address = Annotated[str, AfterValidator(_address)]
Side = Annotated[int, Field(ge=2, le=16384)]
"""Width or height of a picture."""
Seed = Annotated[int, Field(ge=0, lt=2**32)]
DataFolder = Annotated[Path, BeforeValidator(_folder), AfterValidator(Path.expanduser)]
