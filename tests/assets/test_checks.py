"""Asset checks read what is on disk: a source's tables obey their contract, and each row has its recording."""

import dagster as dg
import pytest

from assets.checks import asset_checks
from ml.tables.catalogue import TABLES
from ml.tables.store import TableStore
from resources.tables import Tables

SOURCE = "soups"


@pytest.fixture
def store(tmp_path):
    store = TableStore(tmp_path / "tables")
    recording = {"recording_id": f"{SOURCE}/a", "source": SOURCE, "native_id": "a", "licence": "own", "members": [], "status": "ok"}
    store.write("imported_recordings", TABLES["imported_recordings"].rows([recording]), SOURCE)
    return store


def checked(store):
    (check,) = [one for one in asset_checks([SOURCE]) if {key.asset_key.to_user_string() for key in one.check_keys} == {SOURCE}]
    asset = dg.asset(name=SOURCE)(lambda: None)
    resources = {"tables": Tables(data=str(store.root.parent))}
    result = dg.materialize([asset, check], resources=resources, instance=dg.DagsterInstance.ephemeral())
    (evaluation,) = result.get_asset_check_evaluations()
    return evaluation


def narration(recording_id):
    row = {"recording_id": recording_id, "annotator": "a", "narration_index": 0, "start_s": 0.0, "end_s": 1.0, "text": "Stirs."}
    return TABLES["imported_narrations"].rows([row])


def test_an_import_that_holds_together_passes(store):
    store.write("imported_narrations", narration(f"{SOURCE}/a"), SOURCE)
    store.write("imported_narrations", narration("elsewhere/b"), "elsewhere")
    evaluation = checked(store)
    assert evaluation.passed
    assert evaluation.metadata["imported_narrations"].value == 1


def test_a_row_without_its_recording_fails(store):
    store.write("imported_narrations", narration(f"{SOURCE}/b"), SOURCE)
    evaluation = checked(store)
    assert not evaluation.passed
    assert evaluation.metadata["rows without a recording"].value == 1


def test_a_file_that_breaks_its_contract_fails_by_name(store):
    frame = narration(f"{SOURCE}/a")
    path = store.write("imported_narrations", frame, SOURCE)
    frame.vstack(frame).write_parquet(path)
    evaluation = checked(store)
    assert not evaluation.passed
    assert "imported_narrations" in evaluation.description
    assert "share a key" in evaluation.description
