"""Reading annotation files: text, JSON, CSV, numbers and times, each refused with file, record and field. No dataset's layout here."""

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NoReturn

from ml.errors import InputError

_GZIP = b"\x1f\x8b"
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
_UTF8_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe\x00\x00": "UTF-32", b"\x00\x00\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def file_sha256(path: Path) -> str:
    return hashlib.sha256(_read_bytes(path)).hexdigest()


def exists(path: Path) -> bool:
    """Whether there is a file or folder; False for a name that none can have, such as one of 300 letters."""
    try:
        return path.exists()
    except OSError:
        return False


def is_plain_file(path: Path) -> bool:
    """Whether this is a file, no folder, pipe or device."""
    return exists(path) and path.is_file()


def _read_bytes(path: Path) -> bytes:
    """Content of a file; ``InputError`` where it is absent, a folder, or may not be read."""
    if exists(path) and not path.is_dir() and not path.is_file():
        raise InputError("this is no plain file", file=path)  # reading a pipe would wait for whoever writes into it
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", file=path, remedy="Check the folder of the annotations in the settings") from None
    except IsADirectoryError:
        raise InputError("this is a folder, not a file", file=path) from None
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=path) from None


def stated_licence(folder: Path, known: Mapping[str, str], *, default: str) -> str:
    """First line of ``folder``'s LICENSE, or what ``known`` says of that line; ``default`` where there is no such file.

    A folder in a dataset's layout that holds other data (the sample kitchen's) so keeps its own licence.
    """
    path = folder / "LICENSE"
    if not path.is_file():
        return default
    line = next((line.strip() for line in read_text(path).splitlines() if line.strip()), "")
    return known.get(line, line) or default


def read_text(path: Path) -> str:
    """Text of a UTF-8 file, with or without a byte order mark.

    Raises ``InputError`` for an absent file and, with the byte position, for any other encoding: nothing is replaced.
    """
    raw = _read_bytes(path)
    if raw.startswith(_GZIP):
        raise InputError("the file is compressed with gzip", file=path, remedy="Unpack it")
    for bom, encoding in _OTHER_BOMS.items():
        if raw.startswith(bom):
            raise InputError(f"the file is {encoding}, at byte 0", file=path, remedy="Save it as UTF-8")
    body = raw.removeprefix(_UTF8_BOM)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        position = error.start + len(raw) - len(body)
        line = body[: error.start].count(b"\n") + 1
        raise InputError(
            f"byte {position} (0x{raw[position]:02x}, line {line}) is not UTF-8", file=path, remedy="Save the file as UTF-8"
        ) from None


def read_json(path: Path) -> Any:
    """Value of a JSON file, see ``parse_json``."""
    return parse_json(read_text(path), path)


def read_json_lines(path: Path) -> Iterator[tuple[Any, str]]:
    """Value of each line of a JSON Lines file that is not blank, with words that locate it (``line 3``)."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):  # other line ends may stand inside a text
        if line.strip():
            yield parse_json(line, path, f"line {number}"), f"line {number}"


def _place_of(constant: str, text: str, with_line: bool) -> str:
    """Where the first value of that name stands; JSON's reader does not tell. Names in keys and texts are passed over."""
    value = re.search(rf"(?<=[:\[,\s]){re.escape(constant)}(?=[\s,\]}}]|$)", text)
    if value is None:
        return ""
    line, column = text.count("\n", 0, value.start()) + 1, value.start() - text.rfind("\n", 0, value.start())
    return f" at line {line}, column {column}" if with_line else f" at column {column}"


def parse_json(text: str, path: Path, record: str | None = None) -> Any:
    """Value of a JSON text that stands in ``path``.

    What would lose data in silence or break later is refused with ``InputError``: a key that stands twice in one object, NaN and
    Infinity, half of a character pair, numbers of thousands of digits, thousands of brackets in each other.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            doubled = next(name for name in names if names.count(name) > 1)
            raise InputError(f"key {doubled!r} stands twice in one object", file=path, record=record, remedy="Keep one of the two")
        return value

    def refuse(constant: str) -> NoReturn:
        told = f"{constant} is not a JSON number{_place_of(constant, text, record is None)}"
        raise InputError(told, file=path, record=record, remedy="Write null where there is no value")

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if record is None else f"column {error.colno}"
        raise InputError(f"not valid JSON: {error.msg} at {place}", file=path, record=record) from None
    except RecursionError:
        raise InputError("brackets are nested too deeply", file=path, record=record) from None
    except InputError:
        raise
    except ValueError:
        raise InputError("a number has thousands of digits", file=path, record=record) from None
    if _HALF_PAIR.search(text) and (place_of_half := _half_pair(value)) is not None:
        told = f"a text holds half of a character pair at {place_of_half or 'its top'}"
        raise InputError(told, file=path, record=record, remedy="Write the character whole, or leave it out")
    return value


def _half_pair(value: Any, place: str = "") -> str | None:
    """Where a text stands that UTF-8 cannot hold."""
    match value:
        case str():
            return place if any("\ud800" <= c <= "\udfff" for c in value) else None
        case dict():
            keys = (f"{place}.{key!a}" for key in value if _half_pair(key) is not None)
            return next(keys, None) or _first_half_pair((f"{place}.{key}", item) for key, item in value.items())
        case list():
            return _first_half_pair((f"{place}[{index}]", item) for index, item in enumerate(value))
    return None


def _first_half_pair(items: Iterable[tuple[str, Any]]) -> str | None:
    return next((found for place, item in items if (found := _half_pair(item, place.removeprefix("."))) is not None), None)


def read_json_list(path: Path) -> list[Any]:
    """Value of a JSON file that holds one list."""
    items = read_json(path)
    if not isinstance(items, list):
        raise InputError(f"a list is expected, not a {type(items).__name__}", file=path)
    return items


@dataclass(frozen=True)
class CsvTable:
    """A CSV file by position: header names may repeat, so cells are reached by column index. Every row is as wide as the header."""

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def index(self, name: str) -> int:
        """Position of the one column called ``name``."""
        if (count := self.header.count(name)) != 1:
            raise InputError(
                f"there are {count} columns {name!r}", file=self.path, remedy=f"Columns found: {', '.join(dict.fromkeys(self.header))}"
            )
        return self.header.index(name)

    def named(self) -> Iterator[tuple[dict[str, str], str]]:
        """Cells of each row by column name, with words that locate the row. Raises ``InputError`` where two columns share a name."""
        if len(set(self.header)) < len(self.header):
            doubled = next(name for name in self.header if self.header.count(name) > 1)
            raise InputError(f"two columns are called {doubled!r}", file=self.path, record="line 1", remedy="Rename or drop one")
        for number, row in enumerate(self.rows, start=2):
            yield dict(zip(self.header, row, strict=True)), f"row {number}"


def read_csv(path: Path, *, header: bool = True, delimiter: str = ",") -> CsvTable:
    """Rows of a CSV file as text. With ``header=False`` the columns are called ``0``, ``1``, ..."""
    try:
        lines = [row for row in csv.reader(io.StringIO(read_text(path), newline=""), delimiter=delimiter, strict=True) if row]
    except csv.Error as error:
        raise InputError(f"not valid CSV: {error}", file=path) from None
    if header and not lines:
        raise InputError("the file is empty", file=path, remedy="It should begin with a header row")
    names = tuple(lines.pop(0)) if header else tuple(str(i) for i in range(len(lines[0]) if lines else 0))
    for number, row in enumerate(lines, start=2 if header else 1):
        if len(row) != len(names):
            raise InputError(f"{len(row)} cells where {len(names)} belong", file=path, record=f"row {number}")
    return CsvTable(path, names, tuple(tuple(row) for row in lines))


class TimeUnit(StrEnum):
    """How a source writes times. An importer names its unit; it is never guessed from the size of a number."""

    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    NANOSECONDS = "nanoseconds"
    TICKS = "ticks"  # of 100 ns
    CLOCK = "clock"  # HH:MM:SS or HH:MM:SS.xx
    FRAMES = "frames"  # 0-based, at a documented rate


LATEST_S: Final = 1e7
"""Four months: a later time is not in seconds."""
_PER_SECOND = {TimeUnit.SECONDS: 1, TimeUnit.MILLISECONDS: 1_000, TimeUnit.NANOSECONDS: 1_000_000_000, TimeUnit.TICKS: 10_000_000}
_CLOCK = re.compile(r"(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")


def to_seconds(value: object, unit: TimeUnit, *, rate: Fraction | None = None) -> float:
    """Seconds of a time in ``unit``; ``rate`` is frames per second and belongs to ``FRAMES`` alone.

    Raises ``ValueError`` for a value that is no time in that unit (``Record.time`` turns it into an ``InputError``).
    """
    if (unit is TimeUnit.FRAMES) != (rate is not None):
        raise TypeError("a frame rate belongs to the unit frames, and only to it")
    if unit is TimeUnit.CLOCK:
        found = _CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None:
            raise ValueError(f"{value!r} is not a time HH:MM:SS")
        return on_recording(float(found[1]) * 3600 + int(found[2]) * 60 + float(found[3]))
    if rate is not None:
        number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError(f"{value!r} is not a frame number")
        try:
            return on_recording(float(number / rate))
        except OverflowError:
            raise ValueError("a frame number of hundreds of digits is out of range") from None
    return on_recording(to_number(value) / _PER_SECOND[unit])


def on_recording(seconds: float) -> float:
    """``seconds`` as given. Raises ``ValueError`` where it can be no time or length of a recording."""
    if not abs(seconds) <= LATEST_S:
        raise ValueError(f"{seconds:g} is no time in seconds on a recording")
    return seconds


def to_number(value: object) -> float:
    """Finite float of a JSON number or of a CSV cell; ``ValueError`` for anything else, booleans included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a number")
    try:
        if isinstance(value, str) and "_" in value:  # which Python would pass over
            raise ValueError
        number = float(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a number") from None
    except OverflowError:
        raise ValueError("a number of hundreds of digits is out of range") from None
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return number


@dataclass(frozen=True)
class Record:
    """One object of a JSON file, with the place where it stands. Unknown keys are left alone; a wrong value is an ``InputError``."""

    value: Mapping[str, Any]
    file: Path
    record: str

    @classmethod
    def of(cls, value: object, file: Path, record: str) -> "Record":
        if not isinstance(value, Mapping):
            raise InputError(f"an object belongs here, not {_kind(value)}", file=file, record=record)
        return cls(value, file, record)

    def has(self, field: str) -> bool:
        return self.value.get(field) is not None

    def fail(self, field: str, problem: str, remedy: str | None = None) -> NoReturn:
        raise InputError(problem, file=self.file, record=self.record, field=field, remedy=remedy)

    def _get(self, field: str) -> Any:
        if field not in self.value:
            self.fail(field, "the field is missing", f"Fields found: {', '.join(sorted(map(str, self.value))) or 'none'}")
        return self.value[field]

    def text(self, field: str) -> str:
        """A text that is not blank, outer spaces removed."""
        value = self._get(field)
        if not isinstance(value, str) or not value.strip():
            self.fail(field, f"a text belongs here, not {value!r}")
        return str(value).strip()

    def optional_text(self, field: str) -> str | None:
        """The text, or None where the field is absent, null or blank."""
        value = self.value.get(field)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        return self.text(field)

    def identifier(self, field: str) -> str:
        """A text or a whole number, as text."""
        value = self._get(field)
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else self.text(field)

    def number(self, field: str) -> float:
        try:
            value = self._get(field)
            if isinstance(value, str):
                raise ValueError(f"{value!r} is a text, not a number")
            return to_number(value)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            self.fail(field, str(error))

    def time(self, field: str, unit: TimeUnit, *, rate: Fraction | None = None) -> float:
        value = self._get(field)
        if unit not in (TimeUnit.CLOCK, TimeUnit.FRAMES) and isinstance(value, str):
            self.fail(field, f"{value!r} is a text, not a number of {unit}")
        try:
            return to_seconds(value, unit, rate=rate)
        except ValueError as error:
            self.fail(field, str(error), f"Times here are in {unit}")

    def flag(self, field: str, default: bool | None = None) -> bool:
        """A boolean; the spellings 0, 1, "0", "1", "true" and "false" count as well. ``default`` stands for an absent or null field."""
        value = self.value.get(field)
        if value is None and default is not None:
            return default
        match str(self._get(field)).casefold():
            case "true" | "1":
                return True
            case "false" | "0":
                return False
        self.fail(field, f"true or false belongs here, not {value!r}")

    def items(self, field: str) -> Iterator["Record"]:
        """Objects of a list; an absent or null field is an empty list."""
        value = self.value.get(field)
        if value is None:
            return
        if not isinstance(value, list):
            self.fail(field, f"a list belongs here, not {_kind(value)}")
        for index, item in enumerate(value):
            yield Record.of(item, self.file, f"{self.record}, {field}[{index}]")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), f"a {type(value).__name__}")


def records(value: object, file: Path, name: str) -> Iterator[Record]:
    """Objects of a top-level list."""
    if not isinstance(value, list):
        raise InputError(f"a list of {name}s belongs here, not {_kind(value)}", file=file)
    for index, item in enumerate(value):
        yield Record.of(item, file, f"{name} {index}")


def keyed_records(value: object, file: Path, name: str) -> Iterator[tuple[str, Record]]:
    """Key and object of a top-level object of objects."""
    if not isinstance(value, Mapping):
        raise InputError(f"an object keyed by {name} belongs here, not {_kind(value)}", file=file)
    for key, item in value.items():
        yield str(key), Record.of(item, file, f"{name} {key}")
