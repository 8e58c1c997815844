"""What an LLM stage of the graph is, so that assets, estimates, printed prompts, batches and retries treat every one alike.

The stages themselves are listed in ``ml.llm_stages``; what a stage does is in its own room.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import polars as pl

from ml.llm.requests import Reply, Request
from ml.setting_sections.models import LLM
from ml.settings import Settings
from ml.tables.catalogue import TABLES
from ml.tables.schema import Partitioning
from ml.tables.store import TableStore

Progress = Callable[[int, int], None]
Rules = Mapping[str, Callable[[Mapping[str, object]], str]]


class Asks(Protocol):
    """What a stage needs of an LLM client."""

    @property
    def model(self) -> str: ...

    def run(self, requests: Sequence[Request], progress: Progress | None = None) -> list[Reply]: ...


@dataclass(frozen=True)
class Inputs:
    """The tables that a stage reads, cut to the recordings at hand, and the settings."""

    tables: Mapping[str, pl.DataFrame]
    settings: Settings

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.tables[table]


@dataclass(frozen=True)
class LLMStage:
    """One stage. ``name`` is that of its asset, of its table and of its section in the settings (``stages.<name>``).

    ``make`` turns inputs into all rows of the table; it may ask in several rounds, and a reply without text is a row with its status.
    ``prompt_hash`` covers every prompt text and schema and the version of the stage's own readers. ``rules`` are the offline answers by
    task, ``rules_hash`` covers their source. Heavy imports belong inside these functions.
    """

    name: str
    about: str
    reads: tuple[str, ...]
    make: Callable[[Inputs, Asks], pl.DataFrame]
    prompt_hash: Callable[[], str]
    rules: Callable[[], Rules]
    rules_hash: Callable[[], str]

    def settings(self, settings: Settings) -> LLM:
        """Backend, model and limits of this stage."""
        chosen: LLM = getattr(settings.stages, self.name)
        return chosen

    def version(self) -> str:
        """12 hex digits over the prompts and over the readers of replies that all stages share: part of the asset's code version."""
        return hashlib.sha256(f"{self.prompt_hash()} {_readers_hash()}".encode()).hexdigest()[:12]

    def read(self, store: TableStore, settings: Settings, recording_ids: Sequence[str]) -> Inputs:
        """The stage's inputs on disk for these recordings; a table that is not there yet is empty."""
        return Inputs({name: rows_of(store, name, recording_ids) for name in self.reads}, settings)


@lru_cache
def _readers_hash() -> str:
    folder, digest = Path(__file__).parent, hashlib.sha256()
    for name in ("follow_ups", "literals", "moments", "outcomes", "parsed", "quantities", "replies"):
        digest.update((folder / f"{name}.py").read_bytes())
    return digest.hexdigest()


def rows_of(store: TableStore, table: str, recording_ids: Sequence[str]) -> pl.DataFrame:
    """The rows of these recordings, whatever the table is cut by."""
    if TABLES[table].partitioning is Partitioning.RECORDING:
        return store.scan(table, recording_ids).collect()
    rows = store.scan(table)
    if "recording_id" in rows.collect_schema().names():
        rows = rows.filter(pl.col("recording_id").is_in(list(recording_ids)))
    return rows.collect()
