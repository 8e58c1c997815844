"""Made samples for the tests of this room."""

import polars as pl

from ml.mixes.samples import SAMPLE_SCHEMA


def sample(sample_id: str, dataset: str = "ego_comist", **changes: object) -> dict[str, object]:
    row: dict[str, object] = {
        "sample_id": sample_id,
        "dataset": dataset,
        "recording_id": f"{dataset}/{sample_id}",
        "pair_id": None,
        "source": dataset,
        "licence": "made for tests",
        "split": "train",
        "split_file": "splits.json",
        "split_sha256": "00ff",
        "start_s": 10.0,
        "end_s": 40.0,
        "instruction": "Add 2 scoops of rice",
        "messages": [{"t_s": 30.0, "kind": "feedback", "text": "You add 3 scoops; 2 were asked."}],
        "mistake_type": "measurement",
        **changes,
    }
    return {"video_path": f"/videos/{row['recording_id']}.mp4", **row}


def samples(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SAMPLE_SCHEMA, orient="row")
