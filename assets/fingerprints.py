"""What each table's partition is made from: the one place that says when a partition is current.

A fingerprint is a hash of the code version of the stage, the settings it reads and the fingerprints of the partitions it reads. Bump a code
version when a stage's result changes; prompts and model weights enter by their own hashes.
"""

from functools import cached_property
from pathlib import Path

import polars as pl

from assets.imported import content_hash, import_partition, source_of
from ml.settings import Settings
from ml.tables.store import TableStore, fingerprint

CODE_VERSIONS = {
    "sample_kitchen": "1",
    "imported": "1",
    "video_probe": "1",
    "recordings": "1",
    "steps": "1",
    "narrations": "1",
    "attributes": "1",
    "counterfactuals": "1",
    "feedback_timestamps": "1",
    "comist_candidates": "1",
    "ego_comist": "1",
    "training_mix": "1",
    "checkpoint": "1",
    "benchmark_steps": "1",
    "predictions": "1",
    "scores": "1",
    "leaderboard": "1",
}


def file_identity(path: Path | str | None) -> str:
    """Name, size and modification time of a file; ``absent`` where it is not there."""
    try:
        found = Path(path).stat() if path is not None else None
    except OSError:
        found = None
    return "absent" if found is None else f"{path}:{found.st_size}:{found.st_mtime_ns}"


class Fingerprints:
    """Fingerprints of the partitions of one data folder under one settings file."""

    def __init__(self, store: TableStore, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self._imported: dict[tuple[str, str], dict[str, str]] = {}

    def imported(self, table: str, recording_id: str) -> str:
        """Hash of the imported rows of one recording, so that a re-import that changes nothing makes nothing stale."""
        partition = import_partition(recording_id)
        if (table, partition) not in self._imported:
            rows = self.store.scan(table, [partition]).collect()
            self._imported[table, partition] = {
                str(key[0]): content_hash(frame) for key, frame in rows.partition_by("recording_id", as_dict=True).items()
            }
        return self._imported[table, partition].get(recording_id, "none")

    @cached_property
    def _video_paths(self) -> dict[str, str | None]:
        rows = self.store.scan("imported_recordings").select("recording_id", "video_path").collect()
        return dict(rows.iter_rows())

    def video_probe(self, recording_id: str) -> str:
        return fingerprint(CODE_VERSIONS["video_probe"], file_identity(self._video_paths.get(recording_id)))

    def recordings(self, recording_id: str) -> str:
        made = self.store.made_from("video_probe", recording_id)
        return fingerprint(CODE_VERSIONS["recordings"], made, self.imported("imported_recordings", recording_id))

    def steps(self, recording_id: str) -> str:
        made = self.store.made_from("recordings", recording_id)
        return fingerprint(CODE_VERSIONS["steps"], made, self.imported("imported_steps", recording_id))

    def narrations(self, recording_id: str) -> str:
        made = self.store.made_from("video_probe", recording_id)
        return fingerprint(
            CODE_VERSIONS["narrations"], made, self.imported("imported_narrations", recording_id), self.settings.narration, self._narrator
        )

    @cached_property
    def _narrator(self) -> str:
        from ml.streaming.weights_location import embedded_weights_hash

        return embedded_weights_hash() if self.settings.narration.backend == "embedded" else "external"

    def attributes(self, recording_id: str) -> str:
        source = self.settings.all_sources().get(source_of(recording_id))
        types = source.mistake_types if source is not None else ()
        return fingerprint(CODE_VERSIONS["attributes"], self.store.made_from("steps", recording_id), self._llm("attributes"), types)

    def counterfactuals(self, recording_id: str) -> str:
        made = self.store.made_from("attributes", recording_id)
        return fingerprint(CODE_VERSIONS["counterfactuals"], made, self._llm("counterfactuals"), self.settings.counterfactuals)

    def feedback_timestamps(self, recording_id: str) -> str:
        made = [self.store.made_from(name, recording_id) for name in ("counterfactuals", "steps", "narrations")]
        return fingerprint(CODE_VERSIONS["feedback_timestamps"], made, self._llm("feedback_timestamps"))

    def _llm(self, stage: str) -> str:
        from ml.counterfactuals.prompt_hashes import stage_hash

        chosen = getattr(self.settings.stages, stage)
        return fingerprint(chosen.backend, chosen.model, chosen.base_url, chosen.max_tokens, stage_hash(stage))

    def all_of(self, table: str) -> str:
        """Hash over the fingerprints of every partition of a table on disk."""
        return fingerprint(*((name, self.store.made_from(table, name)) for name in self.store.partitions(table)))


def rows_by_recording(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(key[0]): group for key, group in frame.partition_by("recording_id", as_dict=True).items()}
