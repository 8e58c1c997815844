"""Single steps of the sample kitchen as a benchmark: half with their own instruction, half with a counterfactual one.

The truth log gives the second at which each counterfactual becomes apparent, so no annotator and no rule stands between model and score.
"""

from hashlib import sha256
from pathlib import Path

import polars as pl

from ml.errors import InputError
from ml.tables.declarations.benchmarks import BENCHMARK_MESSAGES, BENCHMARK_STEPS
from ml.vocabulary import MessageKind

LAYOUT = "captaincook4d"
EVALUATION, UNSEEN = "evaluation", "unseen"


def kitchen_steps(
    truth: Path, benchmark: str, split: str, source: str, video_paths: dict[str, str | None]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """``(benchmark_steps, benchmark_messages)`` of one split of the truth log in folder ``truth``.

    Every second step by a hash of its id gets a counterfactual instruction, drawn by the same hash from those whose moment lies in the
    step. ``source`` is the name under which the layout was imported; ``video_paths`` maps recording ids. Raises ``InputError`` where the
    truth log is absent.
    """
    recordings = _read(truth, "recordings").filter((pl.col("source") == LAYOUT) & (pl.col("split") == split))
    steps = _read(truth, "steps").join(recordings.select("source", "native_id"), on=["source", "native_id"], how="semi")
    changed = _read(truth, "counterfactuals").filter(pl.col("apparent_s").is_not_null())
    options = {key: frame.to_dicts() for key, frame in changed.partition_by("source", "native_id", "step_index", as_dict=True).items()}
    step_rows: list[dict[str, object]] = []
    message_rows: list[dict[str, object]] = []
    for step in steps.filter(pl.col("mistake_type").is_null() & pl.col("success_s").is_not_null()).iter_rows(named=True):
        recording_id = f"{source}/{step['native_id']}"
        unit_id = f"{recording_id}/{step['step_index']}"
        drawn = int(sha256(unit_id.encode()).hexdigest()[:12], 16)
        alternatives = options.get((step["source"], step["native_id"], step["step_index"]), [])
        chosen = alternatives[drawn // 2 % len(alternatives)] if drawn % 2 and alternatives else None
        step_rows.append(
            {
                "benchmark": benchmark,
                "unit_id": unit_id,
                "recording_id": recording_id,
                "position": step["step_index"],
                "start_s": step["start_s"],
                "end_s": step["end_s"],
                "instruction": step["instruction"] if chosen is None else chosen["counterfactual_instruction"],
                "mistake_type": None if chosen is None else chosen["mistake_type"],
                "completed": chosen is None,
                "video_path": video_paths.get(recording_id),
            }
        )
        message_rows.append(
            {
                "benchmark": benchmark,
                "unit_id": unit_id,
                "message_index": 0,
                "t_s": step["success_s"] if chosen is None else chosen["apparent_s"],
                "kind": MessageKind.SUCCESS.value if chosen is None else MessageKind.FEEDBACK.value,
                "text": "Good job!" if chosen is None else chosen["feedback"],
                "mistake_type": None if chosen is None else chosen["mistake_type"],
            }
        )
    return BENCHMARK_STEPS.rows(step_rows), BENCHMARK_MESSAGES.rows(message_rows)


def _read(truth: Path, name: str) -> pl.DataFrame:
    path = truth / f"{name}.parquet"
    if not path.exists():
        raise InputError("the truth log is absent", file=path, remedy="Materialize sample_kitchen")
    return pl.read_parquet(path)
