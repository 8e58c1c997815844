"""Text vectors in LanceDB as a Dagster resource. One writer at a time: the `embeddings` asset holds the `lance_writer` pool."""

from pathlib import Path

import dagster as dg

from resources.settings import PlatformSettings


class TextEmbeddings(dg.ConfigurableResource):
    """``store()`` is the vector table, ``encoder()`` the sentence encoder of the settings."""

    data: str

    @property
    def folder(self) -> Path:
        return Path(self.data) / "lancedb"

    @property
    def model(self) -> str | None:
        return PlatformSettings().values.embeddings.model
