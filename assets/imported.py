"""Looking up what importers wrote, a chunk of recordings at a time. Each raw video has a file of its own, other sources one each."""

import hashlib

import polars as pl

from ml.narration.shared import shared_narrations, video_uids
from ml.setting_sections.sources import RAW_VIDEOS, SourceKind, source_of
from ml.settings import Settings
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


def narrating_recordings(store: TableStore, settings: Settings) -> dict[str, list[str]]:
    """Recordings of Goal-Step sources, each with the recordings of Ego4D narration sources that show the same videos."""
    names = list(settings.sources_of_kind(SourceKind.EGO4D_GOALSTEP))
    narrating = sorted(settings.sources_of_kind(SourceKind.EGO4D_NARRATIONS))
    if not narrating or not names:
        return {}
    rows = store.scan("imported_recordings", names).select("recording_id", "native_id", "members").collect()
    return {
        recording_id: [f"{source}/{uid}" for source in narrating for uid in video_uids(native_id, members)]
        for recording_id, native_id, members in rows.iter_rows()
    }


def narrations_of(store: TableStore, settings: Settings, recording_ids: list[str]) -> dict[str, pl.DataFrame]:
    """``imported_narrations`` of each recording: its own, else those that another source has of the same videos."""
    found = imported_rows(store, "imported_narrations", recording_ids)
    known = narrating_recordings(store, settings)
    shared = {one: known[one] for one in recording_ids if one in known and found[one].is_empty()}
    if not shared:
        return found
    rows = imported_rows(store, "imported_narrations", sorted({one for others in shared.values() for one in others}))
    recordings = imported_rows(store, "imported_recordings", list(shared))
    for recording_id, others in shared.items():
        by_uid: dict[str, pl.DataFrame] = {}
        for other in others:  # of several narrating sources the first that has a video
            if rows[other].height:
                by_uid.setdefault(other.split("/", 1)[1], rows[other])
        found[recording_id] = shared_narrations(recordings[recording_id].row(0, named=True), by_uid)
    return found


def content_hash(frame: pl.DataFrame) -> str:
    return hashlib.sha256(frame.write_ndjson().encode()).hexdigest()[:24]
