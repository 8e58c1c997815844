"""Tables on disk: one Parquet file per partition, written whole or not at all. No Dagster, no domain logic.

A file carries in its Parquet metadata the fingerprint of what it was made from, so that a rerun can skip it, and a hash of its rows, so
that what depends on them can tell when they changed: models do not answer alike twice.
"""

import hashlib
import os
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ml.errors import InputError
from ml.tables.catalogue import TABLES
from ml.tables.schema import Partitioning, Table

FINGERPRINT_KEY = "interject.fingerprint"
CONTENT_KEY = "interject.content"
PARTITION_KEY = "interject.partition"
WHOLE_TABLE = "all"
_SAFE = re.compile(r"[A-Za-z0-9_.-]")
_SEPARATOR, _ESCAPE, _SHORTENED = "~", "+", "="
_LONGEST = 190  # leaves room for suffixes and temporary names


def encode_key(identifier: str) -> str:
    """Identifier as a partition key, and as a file name by ``file_stem``: ``/`` becomes ``~``, any byte outside ``[A-Za-z0-9_.-]`` ``+xx``.

    Reversible (``decode_key``). A leading dot and a second of two dots are written as hex too: a key is no hidden file, and no range to
    Dagster, which reads three dots as one.
    """
    plain = "".join(
        _SEPARATOR if c == "/" else c if _SAFE.fullmatch(c) else "".join(f"{_ESCAPE}{byte:02x}" for byte in c.encode()) for c in identifier
    )
    plain = plain.replace("..", f".{_ESCAPE}2e")
    return f"{_ESCAPE}2e{plain[1:]}" if plain.startswith(".") else plain


def file_stem(identifier: str) -> str:
    """``encode_key`` as a file name without suffix. Of a long one only the beginning stays, with a hash: file systems allow 255 bytes."""
    key = encode_key(identifier)
    return key if len(key) <= _LONGEST else f"{key[: _LONGEST - 25]}{_SHORTENED}{hashlib.sha256(identifier.encode()).hexdigest()[:24]}"


def decode_key(key: str) -> str:
    """Inverse of ``encode_key``."""
    first, *rest = key.replace(_SEPARATOR, "/").split(_ESCAPE)
    return (first.encode() + b"".join(bytes.fromhex(part[:2]) + part[2:].encode() for part in rest)).decode()


def fingerprint(*parts: object) -> str:
    """Short hash of the text forms of ``parts``."""
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()[:24]


def table(name: str) -> Table:
    try:
        return TABLES[name]
    except KeyError:
        raise InputError(f"there is no table {name!r}", remedy=f"Tables: {', '.join(sorted(TABLES))}") from None


@dataclass(frozen=True)
class TableStore:
    """All tables below one folder: ``<root>/<table>/<partition key>.parquet``."""

    root: Path

    def path(self, name: str, partition: str = WHOLE_TABLE) -> Path:
        declared = table(name)
        if (declared.partitioning is Partitioning.SINGLE) != (partition == WHOLE_TABLE):
            raise InputError(f"table is cut by {declared.partitioning}, partition {partition!r} does not fit", file=name)
        return self.root / name / f"{file_stem(partition)}.parquet"

    def write(self, name: str, frame: pl.DataFrame, partition: str = WHOLE_TABLE, *, made_from: str = "") -> Path:
        """Check ``frame`` against the declared schema and put it in place in one rename; ``made_from`` is its fingerprint."""
        checked = table(name).check(frame)
        path = self.path(name, partition)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
        try:
            content = hashlib.sha256(checked.write_ndjson().encode()).hexdigest()[:24]
            told = {FINGERPRINT_KEY: made_from, CONTENT_KEY: content, PARTITION_KEY: partition}
            checked.write_parquet(temporary, compression="zstd", metadata=told)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        return path

    def made_from(self, name: str, partition: str = WHOLE_TABLE) -> str | None:
        """Fingerprint that the partition was made from; None where the file is absent or not a whole Parquet file."""
        found = self._told(name, partition)
        return None if found is None else found.get(FINGERPRINT_KEY.encode(), b"").decode()

    def version(self, name: str, partition: str = WHOLE_TABLE) -> str | None:
        """What the partition was made from and what came out; None where it is absent."""
        found = self._told(name, partition)
        return None if found is None else "+".join(found.get(key.encode(), b"").decode() for key in (FINGERPRINT_KEY, CONTENT_KEY))

    def _told(self, name: str, partition: str) -> dict[bytes, bytes] | None:
        return _told(self.path(name, partition))

    def rows(self, name: str, partition: str = WHOLE_TABLE) -> int:
        """Number of rows, from the file's footer; 0 where it is absent."""
        path = self.path(name, partition)
        return pq.read_metadata(path).num_rows if path.exists() else 0

    def has(self, name: str, partition: str = WHOLE_TABLE) -> bool:
        return self.made_from(name, partition) is not None

    def partitions(self, name: str) -> list[str]:
        """Identifiers of the partitions on disk, sorted."""
        paths = (path for path in (self.root / table(name).name).glob("*.parquet") if not path.name.startswith("."))
        return sorted(found for path in paths if (found := _partition_of(path)) is not None)

    def read(self, name: str, partition: str = WHOLE_TABLE) -> pl.DataFrame:
        """One partition; an absent one is an empty frame with the declared columns."""
        path = self.path(name, partition)
        try:
            return pl.read_parquet(path).select(table(name).polars_schema.names()) if path.exists() else table(name).empty()
        except pl.exceptions.PolarsError as error:
            problem = f"not a whole table of this version: {str(error).splitlines()[0]}"
            raise InputError(problem, file=path, remedy="Delete the file and materialize it again") from error

    def scan(self, name: str, partitions: Iterable[str] | None = None) -> pl.LazyFrame:
        """The table, or the named partitions of it that exist, as one lazy scan; an empty typed frame when there is none."""
        declared = table(name)
        folder = self.root / name
        chosen = None if partitions is None else [self.path(name, p) for p in partitions]
        paths = (
            sorted(p for p in folder.glob("*.parquet") if not p.name.startswith("."))
            if chosen is None
            else [p for p in chosen if p.exists()]
        )
        if not paths:
            return declared.empty().lazy()
        return pl.scan_parquet(paths, schema=declared.polars_schema, extra_columns="ignore").select(declared.polars_schema.names())

    def drop(self, name: str, partition: str) -> None:
        self.path(name, partition).unlink(missing_ok=True)


def _told(path: Path) -> dict[bytes, bytes] | None:
    """Metadata of a Parquet file; None where it is absent or not whole."""
    try:
        return pq.read_metadata(path).metadata or {}
    except (FileNotFoundError, pa.ArrowInvalid):
        return None
    except OSError as error:
        if error.errno is None:  # Arrow's own: the footer cannot be read
            return None
        raise


def _partition_of(path: Path) -> str | None:
    """Identifier of the partition that a file holds; None for one that is not whole and whose name was shortened."""
    if _SHORTENED not in path.stem:
        return decode_key(path.stem)
    told = (_told(path) or {}).get(PARTITION_KEY.encode())
    return None if told is None else told.decode()
