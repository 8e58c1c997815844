"""Column names of a release as data: a record holds them, and settings may name others. Reading files is elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

from ml.errors import InputError


@dataclass(frozen=True)
class ColumnNames:
    """Base of a dataset's column names; a release that renames columns is read by naming them."""

    DATASET: ClassVar[str]

    def renamed(self, names: Mapping[str, str]) -> Self:
        """With other names for some. Raises ``InputError`` for a column that there is not."""
        known = [field.name for field in fields(self)]
        for name in names:
            if name not in known:
                raise InputError(f"{self.DATASET} has no column {name!r}", field="columns", remedy=f"Columns: {', '.join(known)}")
        return replace(self, **names)
