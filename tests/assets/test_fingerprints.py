"""Fingerprints follow the files that a stage reads, and nothing else."""

import pytest

from assets.fingerprints import Fingerprints
from ml.setting_sections.benchmarks import Assistant
from ml.setting_sections.models import LLM
from ml.settings import load_settings
from ml.tables.declarations.benchmarks import BENCHMARK_STEPS
from ml.tables.declarations.sources import IMPORTED_RECORDINGS
from ml.tables.store import TableStore


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERJECT_DATA", str(tmp_path))
    monkeypatch.setenv("INTERJECT_SAMPLE_KITCHEN", "false")
    (tmp_path / "a.mp4").write_bytes(b"video")
    store, path = TableStore(tmp_path / "tables"), str(tmp_path / "a.mp4")
    step = {
        "benchmark": "b", "unit_id": "s/a/0", "recording_id": "s/a", "position": 0, "start_s": 0.0, "end_s": 1.0,
        "instruction": "Stir", "video_path": path,
    }  # fmt: skip
    store.write("benchmark_steps", BENCHMARK_STEPS.rows([step]), "b", made_from="data")
    recording = {
        "recording_id": "s/a", "source": "s", "native_id": "a", "licence": "none", "video_path": path, "members": [], "status": "ok",
    }  # fmt: skip
    store.write("imported_recordings", IMPORTED_RECORDINGS.rows([recording]), "s", made_from="data")
    return tmp_path


@pytest.mark.parametrize(
    ("table", "partition"), [("predictions", "untuned_base/b.per_step"), ("narrations", "s/a"), ("video_probe", "s/a")]
)
def test_what_a_missing_video_made_is_stale_when_the_video_is_back(folder, table, partition):
    def now():
        return getattr(Fingerprints(TableStore(folder / "tables"), load_settings()), table)(partition)

    there = now()
    (folder / "a.mp4").rename(folder / "away.mp4")
    gone = now()
    (folder / "away.mp4").rename(folder / "a.mp4")
    assert gone != there == now()


def test_a_floor_looks_at_no_video(folder):
    prints = [Fingerprints(TableStore(folder / "tables"), load_settings()).predictions("floor_silent/b.per_step")]
    (folder / "a.mp4").unlink()
    prints.append(Fingerprints(TableStore(folder / "tables"), load_settings()).predictions("floor_silent/b.per_step"))
    assert prints[0] == prints[1]


@pytest.mark.parametrize(("kind", "is_stale"), [("narration", True), ("turn_based", False)])
def test_other_wording_of_narrations_makes_stale_what_was_narrated(folder, monkeypatch, kind, is_stale):
    llm = LLM(backend="openai", model="m", base_url="http://localhost:1/v1")
    assistant = Assistant(kind=kind, llm=llm, helper=llm)

    def now():
        return Fingerprints(TableStore(folder / "tables"), load_settings()).predictions("x/b.per_step", assistant)

    before = now()
    monkeypatch.setattr("ml.narration.prompts.SYSTEM", "You write down what hands do.")
    assert (now() != before) == is_stale
