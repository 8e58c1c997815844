import json
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared():
    """Folder with the real annotation files."""
    folder = Path(os.environ.get("INTERJECT_SHARED", Path(__file__).parents[4] / "shared"))
    if not (folder / "datasets" / "captaincook4d").is_dir():
        pytest.skip(f"no datasets in {folder}; set INTERJECT_SHARED")
    return folder


@pytest.fixture
def write_captaincook4d(tmp_path):
    """Writes a folder in CaptainCook4D's layout from rows of error_annotations.json by recording id."""

    def write(recordings, *, texts=None, complete=None, splits=None, is_error=None, activity="Mug Cake", graph=None):
        root = tmp_path / "annotations"
        texts = texts or {str(row["step_id"]): row["description"] for rows in recordings.values() for row in rows}
        errors = [
            {
                "recording_id": rid,
                "activity_id": 1,
                "is_error": any("errors" in row for row in rows) if is_error is None else is_error,
                "step_annotations": rows,
            }
            for rid, rows in recordings.items()
        ]
        plain = {
            rid: {
                "recording_id": rid,
                "activity_id": 1,
                "activity_name": activity,
                "person_id": 3,
                "environment": 2,
                "steps": [
                    {key: row[key] for key in ("step_id", "start_time", "end_time", "description")} | {"has_errors": "errors" in row}
                    for row in rows
                ],
            }
            for rid, rows in recordings.items()
        }
        files = {
            "annotation_json/error_annotations.json": errors,
            "annotation_json/complete_step_annotations.json": complete or plain,
            "annotation_json/step_idx_description.json": texts,
            "data_splits/recordings_data_split_combined.json": splits or {"train": list(recordings), "val": [], "test": []},
        }
        if graph:
            files[f"task_graphs/{activity.lower().replace(' ', '')}.json"] = {"steps": graph, "edges": []}
        for name, value in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value), encoding="utf-8")
        return root

    return write


def step(step_id, start, end, description="Add-Add salt", tags=(), changed=None):
    """A row of error_annotations.json."""
    row = {"step_id": step_id, "start_time": start, "end_time": end, "description": description}
    if tags:
        row["errors"] = [{"tag": tag, "description": f"{tag} text"} for tag in tags]
    if changed is not None:
        row["modified_description"] = changed
    return row


@pytest.fixture
def make_step():
    return step
