"""What a table is: named columns with dtypes, a key, and how it is cut into files. No table is declared here."""

from dataclasses import dataclass, field
from enum import StrEnum

import polars as pl

from ml.errors import InputError


class Partitioning(StrEnum):
    """What one Parquet file of a table holds."""

    SINGLE = "single"
    SOURCE = "source"
    RECORDING = "recording"
    MIX = "mix"
    EXPERIMENT = "experiment"
    PROTOCOL = "protocol"


@dataclass(frozen=True)
class Column:
    name: str
    dtype: pl.DataType
    doc: str
    nullable: bool = False
    allowed: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Table:
    """A declared table. ``key`` columns together are unique and never null."""

    name: str
    doc: str
    partitioning: Partitioning
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    polars_schema: pl.Schema = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "polars_schema", pl.Schema({c.name: c.dtype for c in self.columns}))

    def empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.polars_schema)

    def rows(self, rows: list[dict[str, object]]) -> pl.DataFrame:
        """Frame from dicts under the declared schema: nothing is guessed from the first rows.

        Raises ``InputError`` for an unknown column or a value of another type (integers become floats where a float is declared).
        """
        names = set(self.polars_schema.names())
        for index, row in enumerate(rows):
            if unknown := row.keys() - names:
                raise InputError(
                    f"unknown column {sorted(unknown)[0]!r}", file=self.name, record=f"row {index}", remedy=f"Use one of {sorted(names)}"
                )
        return pl.DataFrame([self._series(column, rows) for column in self.columns])

    def _series(self, column: Column, rows: list[dict[str, object]]) -> pl.Series:
        # column by column: polars parses "200" to a number when it builds a frame from rows, even with strict=True
        values = [row.get(column.name) for row in rows]
        try:
            return pl.Series(column.name, values, dtype=column.dtype, strict=True)
        except (TypeError, pl.exceptions.PolarsError) as error:
            for index, value in enumerate(values):
                try:
                    pl.Series([value], dtype=column.dtype, strict=True)
                except (TypeError, pl.exceptions.PolarsError):
                    kind = type(value).__name__
                    raise InputError(
                        f"{value!r} is a {kind}, not a {column.dtype}", file=self.name, record=f"row {index}", field=column.name
                    ) from error
            raise InputError(str(error), file=self.name, field=column.name) from error

    def check(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame in declared column order, or ``InputError`` naming column and key of the first offending row.

        Checks names, dtypes, nulls, allowed values and key uniqueness.
        """
        missing = [name for name in self.polars_schema if name not in frame.columns]
        extra = [name for name in frame.columns if name not in self.polars_schema]
        if missing or extra:
            raise InputError(f"columns differ: missing {missing}, not declared {extra}", file=self.name, remedy="Declare them in ml/tables")
        frame = frame.select(self.polars_schema.names())
        for column in self.columns:
            self._check_column(frame, column)
        doubled = frame.filter(pl.struct(self.key).is_duplicated())
        if doubled.height:
            raise InputError(
                f"{doubled.height} rows share a key", file=self.name, record=self._key_text(doubled), field=", ".join(self.key)
            )
        return frame

    def _check_column(self, frame: pl.DataFrame, column: Column) -> None:
        series = frame[column.name]
        if series.dtype != column.dtype:
            raise InputError(f"dtype is {series.dtype}, not {column.dtype}", file=self.name, field=column.name)
        if not column.nullable and series.null_count():
            raise InputError("value is missing", file=self.name, record=self._key_text(frame.filter(series.is_null())), field=column.name)
        if column.allowed is not None:
            bad = frame.filter(~series.is_in(list(column.allowed)) & series.is_not_null())
            if bad.height:
                raise InputError(
                    f"{bad[column.name][0]!r} is not allowed",
                    file=self.name,
                    record=self._key_text(bad),
                    field=column.name,
                    remedy=f"Allowed: {', '.join(column.allowed)}",
                )

    def _key_text(self, frame: pl.DataFrame) -> str:
        return "/".join(str(value) for value in frame.select(self.key).row(0))
