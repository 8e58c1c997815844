"""Made rows for the tests of this room: small frames of the declared tables."""

import polars as pl

from ml.tables.declarations.counterfactuals import COUNTERFACTUALS, FEEDBACK_TIMESTAMPS
from ml.tables.declarations.pairs import COMIST_CANDIDATES
from ml.tables.declarations.recordings import RECORDINGS
from ml.vocabulary import Direction, MistakeType, Status


def recording(recording_id: str, **changes: object) -> dict[str, object]:
    source, native_id = recording_id.split("/", 1)
    return {
        "recording_id": recording_id,
        "source": source,
        "native_id": native_id,
        "licence": "Apache-2.0",
        "split": None,
        "split_file": "splits.json",
        "split_sha256": "ab",
        "video_path": f"/videos/{native_id}.mp4",
        "members": [],
        "duration_s": 600.0,
        "video_status": Status.OK,
        "status": Status.OK,
        **changes,
    }


def recordings(*rows: dict[str, object]) -> pl.DataFrame:
    return RECORDINGS.rows(list(rows))


def counterfactual(pair_id: str, recording_id: str, original: str, changed: str | None, **changes: object) -> dict[str, object]:
    return {
        "pair_id": pair_id,
        "recording_id": recording_id,
        "step_uid": "1#0",
        "mistake_type": MistakeType.TECHNIQUE,
        "attribute_index": 0,
        "direction": Direction.ALTERNATIVE,
        "instruction": original,
        "fields": [],
        "counterfactual_instruction": changed,
        "feedback": "That is not what was asked.",
        "model": "rules",
        "status": Status.OK,
        **changes,
    }


def counterfactuals(*rows: dict[str, object]) -> pl.DataFrame:
    return COUNTERFACTUALS.rows(list(rows))


def timestamps(frame: pl.DataFrame, clips: dict[str, tuple[float, float]] | None = None, **changes: object) -> pl.DataFrame:
    """A time in the middle of the clip for each counterfactual; ``clips`` by step_uid."""
    rows = []
    for row in frame.iter_rows(named=True):
        start, end = (clips or {}).get(row["step_uid"], (10.0, 40.0))
        rows.append(
            {
                **{name: row[name] for name in ("pair_id", "recording_id", "step_uid", "mistake_type", "direction")},
                "clip_start_s": start,
                "clip_end_s": end,
                "t_s": (start + end) / 2,
                "options_s": [(start + end) / 2],
                "model": "rules",
                "status": Status.OK,
                **changes,
            }
        )
    return FEEDBACK_TIMESTAMPS.rows(rows)


def candidate(pair_id: str, recording_id: str, **changes: object) -> dict[str, object]:
    return {
        "pair_id": pair_id,
        "recording_id": recording_id,
        "step_uid": "1#0",
        "source": recording_id.split("/", 1)[0],
        "licence": "Apache-2.0",
        "split": None,
        "mistake_type": MistakeType.MEASUREMENT,
        "direction": Direction.SMALLER,
        "instruction": "Add 3 cups of rice",
        "counterfactual_instruction": "Add 2 cups of rice",
        "feedback": "You add 3 cups; 2 were asked.",
        "clip_start_s": 10.0,
        "clip_end_s": 40.0,
        "t_s": 25.0,
        "original_similarity": 0.99,
        "differs": True,
        "benchmark_leak": False,
        "status": Status.OK,
        **changes,
    }


def candidates(*rows: dict[str, object]) -> pl.DataFrame:
    return COMIST_CANDIDATES.rows(list(rows))
