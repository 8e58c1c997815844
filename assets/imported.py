"""Looking up what importers wrote, a chunk of recordings at a time. Each raw video has a file of its own, other sources one each."""

import hashlib

import polars as pl

from ml.setting_sections.sources import RAW_VIDEOS, source_of
from ml.tables.store import TableStore


def import_partition(recording_id: str) -> str:
    """Partition of the ``imported_*`` tables that holds a recording."""
    return recording_id if source_of(recording_id) == RAW_VIDEOS else source_of(recording_id)


def imported_rows(store: TableStore, table: str, recording_ids: list[str]) -> dict[str, pl.DataFrame]:
    """Rows of an ``imported_*`` table for each recording; an empty typed frame where there are none."""
    partitions = sorted({import_partition(identifier) for identifier in recording_ids})
    rows = store.scan(table, partitions).filter(pl.col("recording_id").is_in(recording_ids)).collect()
    found = {str(key[0]): frame for key, frame in rows.partition_by("recording_id", as_dict=True).items()}
    return {identifier: found.get(identifier, rows.clear()) for identifier in recording_ids}


def content_hash(frame: pl.DataFrame) -> str:
    return hashlib.sha256(frame.write_ndjson().encode()).hexdigest()[:24]
