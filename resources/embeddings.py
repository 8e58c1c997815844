"""Text vectors in LanceDB as a Dagster resource. One writer at a time: the `embeddings` asset holds the `lance_writer` pool."""

from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from resources.settings import PlatformSettings

if TYPE_CHECKING:
    from ml.embeddings.store import TextVectorStore


class TextEmbeddings(dg.ConfigurableResource):
    """``open()`` is the vector table below ``data/lancedb`` with the encoder that the settings name."""

    data: str

    @property
    def folder(self) -> Path:
        return Path(self.data) / "lancedb"

    def open(self) -> "TextVectorStore":
        from ml.embeddings.encoder import TextEncoder
        from ml.embeddings.store import TextVectorStore

        return TextVectorStore(self.folder, TextEncoder(PlatformSettings().values.embeddings.model))
