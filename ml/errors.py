"""Errors that a user can act on. Anything else is a bug and may raise what it likes."""

from pathlib import Path


class InputError(ValueError):
    """Bad input from outside, told in one sentence: where it stands, what is wrong, what to do.

    ``file`` and ``record`` and ``field`` locate the value; ``remedy`` says how to mend it.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: Path | str | None = None,
        record: str | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.problem, self.file, self.record, self.field, self.remedy = problem, file, record, field, remedy
        place = ", ".join(f"{name} {value}" for name, value in (("file", file), ("record", record), ("field", field)) if value is not None)
        message = f"{place}: {problem}" if place else problem
        super().__init__(f"{message}. {remedy}" if remedy else message)


class StopError(InputError):
    """An ``InputError`` that every further item would meet alike (a refused key, no credit): going on is of no use."""
