"""Opening outputs by name, for notebooks and scripts: ``open_table("recordings")`` is a polars LazyFrame, ``search_texts`` asks LanceDB."""

from pathlib import Path

import polars as pl

from ml.settings import load_settings
from ml.tables.store import TableStore


def open_store(data: Path | None = None) -> TableStore:
    """The store below a data folder; default the folder that the settings name."""
    return TableStore((load_settings().data if data is None else data) / "tables")


def open_table(name: str, data: Path | None = None) -> pl.LazyFrame:
    """A table as a LazyFrame over all its partitions; empty with the declared columns where nothing was materialized yet.

    Raises ``InputError`` for a name that is not declared.
    """
    return open_store(data).scan(name)


def search_texts(text: str, k: int = 10, data: Path | None = None) -> pl.DataFrame:
    """The ``k`` embedded instructions nearest to ``text`` by cosine: columns text, similarity, text_sha256, model."""
    from ml.embeddings.encoder import TextEncoder
    from ml.embeddings.store import TextVectorStore

    settings = load_settings()
    folder = (settings.data if data is None else data) / "lancedb"
    return TextVectorStore(folder, TextEncoder(settings.embeddings.model)).search(text, k)
