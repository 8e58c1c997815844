"""Made pairs, answers and checks for the tests of this room."""

import polars as pl

from ml.counterfactuals.registry import DIRECTIONS
from ml.tables.declarations.pairs import EGO_COMIST, VALIDITY_ANSWERS, VALIDITY_CHECK
from ml.vocabulary import MistakeType
from tests.ml.comist.made import recording, recordings


def pair(pair_id: str, recording_id: str = "cook/1", **changes: object) -> dict[str, object]:
    return {
        "pair_id": pair_id,
        "recording_id": recording_id,
        "step_uid": "1#0",
        "source": recording_id.split("/", 1)[0],
        "licence": "Apache-2.0",
        "split": "train",
        "mistake_type": "measurement",
        "direction": "smaller",
        "instruction": "Add 3 cups of rice",
        "counterfactual_instruction": "Add 2 cups of rice",
        "feedback": "You add 3 cups; 2 were asked.",
        "clip_start_s": 1.0,
        "clip_end_s": 5.0,
        "t_s": 3.0,
        **changes,
    }


def pairs(*rows: dict[str, object]) -> pl.DataFrame:
    return EGO_COMIST.rows(list(rows))


def many_pairs(count: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Pairs of two sources and all types, unequal in number; and their recordings, one of which has no video."""
    ways = [(kind, way) for kind in MistakeType for way in DIRECTIONS[kind]]
    rows = []
    for n in range(count):
        kind, way = ways[min(n * n, n * 7) % len(ways)]
        rows.append(pair(f"p{n:04}", f"{'cook' if n % 3 else 'ego'}/{n % 11}", mistake_type=kind, direction=way))
    known = [recording(f"{source}/{n}") for source in ("cook", "ego") for n in range(11)]
    known[4] |= {"video_status": "no_video", "video_path": None}
    return pairs(*rows), recordings(*known)


def answer(reviewer: str, pair_id: str, shown: str, verdicts: str = "yyy", **changes: object) -> dict[str, object]:
    """``verdicts``: y, n or - for each of the three questions."""
    said = [{"y": True, "n": False, "-": None}[letter] for letter in verdicts]
    return {
        "reviewer": reviewer,
        "pair_id": pair_id,
        "shown_sha256": shown,
        **dict(zip(("different", "feasible", "of_type"), said, strict=True)),
        "apparent_s": 3.0 if verdicts == "yyy" else None,
        "never_apparent": False,
        "is_complete": "-" not in verdicts,
        "answered_at": "2026-01-01T00:00:00+00:00",
        **changes,
    }


def answers(*rows: dict[str, object]) -> pl.DataFrame:
    return VALIDITY_ANSWERS.rows(list(rows))


def checks(**verdicts: str) -> pl.DataFrame:
    """``validity_check`` rows by pair id: y, n or - for each question."""
    rows = []
    for pair_id, letters in verdicts.items():
        said = [{"y": True, "n": False, "-": None}[letter] for letter in letters]
        common = {"pair_id": pair_id, "recording_id": "cook/1", "step_uid": "1#0", "mistake_type": "measurement", "direction": "smaller"}
        rows.append({**common, **dict(zip(("different", "feasible", "of_type"), said, strict=True)), "model": "m", "status": "ok"})
    return VALIDITY_CHECK.rows(rows)
