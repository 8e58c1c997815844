"""The table store and the folders of the platform as a Dagster resource."""

from pathlib import Path

import dagster as dg

from ml.progress import Progress
from ml.tables.store import TableStore


class Tables(dg.ConfigurableResource):
    """Reads and writes the declared tables below ``data/tables``."""

    data: str

    @property
    def folder(self) -> Path:
        return Path(self.data)

    @property
    def store(self) -> TableStore:
        return TableStore(self.folder / "tables")

    def progress(self, stage: str) -> Progress:
        return Progress(self.folder / "progress", stage)
