"""Ego4D through the real definitions without videos: Goal-Step takes the narrations of its videos, the others get steps proposed."""

import json
from pathlib import Path

import dagster as dg
import pytest

from assets.fingerprints import Fingerprints
from dagster_project.definitions import build_definitions
from ml.settings import load_settings
from ml.tables.store import TableStore

STEPPED, NARRATED, ALONE = "goalstep/both", "narrated/both", "narrated/alone"


def point(t_s: float, text: str) -> dict[str, object]:
    return {"timestamp_sec": t_s, "narration_text": f"#C C {text}"}


@pytest.fixture
def annotations(tmp_path: Path) -> Path:
    segment = {
        "start_time": 2.0, "end_time": 18.0, "step_description": "slice the onion", "step_category": "Preparation: slice the onion",
        "is_relevant": "essential", "is_continued": False, "segments": [],
    }  # fmt: skip
    video = {
        "video_uid": "both", "start_time": 0.0, "end_time": 30.0, "goal_category": "COOKING:Soup", "goal_description": "Make soup",
        "goal_wordy_description": "", "is_procedural": True, "summary": [], "segments": [segment],
    }  # fmt: skip
    (tmp_path / "goalstep").mkdir()
    (tmp_path / "goalstep" / "goalstep_train.json").write_text(json.dumps({"split": "train", "videos": [video]}))
    told = {
        "both": [point(3.0, "slices the onion with a knife"), point(12.0, "puts the knife down")],
        "alone": [point(float(t), "stirs the soup") for t in range(1, 20, 4)],
    }
    (tmp_path / "narrated").mkdir()
    videos = {uid: {"status": "complete", "narration_pass_1": {"narrations": points}} for uid, points in told.items()}
    (tmp_path / "narrated" / "narration.json").write_text(json.dumps(videos))
    return tmp_path


def test_narrations_are_shared_and_steps_are_proposed_where_there_are_none(annotations, tmp_path, monkeypatch):
    monkeypatch.setenv("INTERJECT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("INTERJECT_SAMPLE_KITCHEN", "false")
    kinds = {"goalstep": "ego4d_goalstep", "narrated": "ego4d_narrations"}
    sources = {name: {"kind": kind, "annotations": str(annotations / name), "counterfactuals": True} for name, kind in kinds.items()}
    monkeypatch.setenv("INTERJECT_SOURCES", json.dumps(sources))
    settings = load_settings()
    definitions, store = build_definitions(settings), TableStore(settings.data / "tables")
    with dg.DagsterInstance.ephemeral() as instance:

        def run(job: str) -> None:
            keys = instance.get_dynamic_partitions("recordings")
            ends = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
            tags = dict(zip(ends, (keys[0], keys[-1]), strict=True)) if keys else {}
            assert definitions.resolve_job_def(job).execute_in_process(instance=instance, tags=tags).success

        for job in ("sources_job", "recordings_job", "narrations_job", "proposed_steps_job", "counterfactuals_job"):
            run(job)
    for recording_id in (STEPPED, NARRATED):
        told = store.read("narrations", recording_id)
        assert set(told["narrator"]) == {"dataset/narration_pass_1"}
        assert "C slices the onion with a knife." in told["text"][0]
    assert store.read("proposed_steps", STEPPED).is_empty()
    proposed = store.read("steps", ALONE)
    assert proposed.height
    assert proposed["is_proposed"].all()
    types = store.scan("counterfactuals").filter(recording_id=ALONE).collect()["mistake_type"]
    assert set(types) <= {"preparation", "technique"}

    before = Fingerprints(store, settings).narrations(STEPPED)
    changed = store.read("imported_narrations", "narrated")
    store.write("imported_narrations", changed.filter(recording_id=ALONE), "narrated", made_from="changed")
    assert Fingerprints(store, settings).narrations(STEPPED) != before
