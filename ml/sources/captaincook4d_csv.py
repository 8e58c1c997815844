"""The CSV twin of CaptainCook4D's error annotations, in which eight columns share one name. The importer reads the JSON; this reader is for
those who hold only the CSV, and for comparing the two."""

from dataclasses import dataclass
from pathlib import Path

from ml.errors import InputError
from ml.sources.reading import TimeUnit, read_csv, to_seconds

TEXT_COLUMN = "error_description"
_NONE = "None"  # how the file writes an empty cell


@dataclass(frozen=True)
class ErrorRow:
    """A row of error_annotations.csv. ``errors`` pairs each tag that is set with its text, None where the file has none. A step without
    times, ``-1.0`` in the JSON, is ``None`` in the CSV too."""

    recording_id: str
    step_id: str
    start_s: float | None
    end_s: float | None
    description: str
    has_errors: bool
    errors: tuple[tuple[str, str | None], ...]


def read_error_annotations_csv(path: Path) -> list[ErrorRow]:
    """Rows of the file, in order. A text column belongs to the tag column on its left, whatever else is called the same.

    Raises ``InputError`` for a missing column, a text column without tag, and cells that are no number or flag.
    """
    table = read_csv(path)
    pairs = [(index - 1, index) for index, name in enumerate(table.header) if name == TEXT_COLUMN]
    if any(tag < 0 or table.header[tag] == TEXT_COLUMN for tag, _ in pairs):
        raise InputError("a text column follows no tag column", file=path, field=TEXT_COLUMN)
    names = ("recording_id", "step_id", "start_time", "end_time", "description", "has_errors")
    recording, step, start, end, description, has_errors = (table.index(name) for name in names)
    rows = []
    for number, row in enumerate(table.rows, start=2):
        try:
            rows.append(
                ErrorRow(
                    row[recording],
                    row[step],
                    _number(row[start]),
                    _number(row[end]),
                    row[description],
                    _flag(row[has_errors]),
                    tuple((table.header[tag], None if row[text] == _NONE else row[text]) for tag, text in pairs if _flag(row[tag])),
                )
            )
        except ValueError as error:
            raise InputError(str(error), file=path, record=f"row {number}") from None
    return rows


def _number(cell: str) -> float | None:
    return None if cell == _NONE else to_seconds(cell, TimeUnit.SECONDS)


def _flag(cell: str) -> bool:
    match cell.strip().casefold():
        case "1" | "true":
            return True
        case "0" | "false":
            return False
    raise ValueError(f"{cell!r} is no flag")
