"""From candidates over people's answers to EGO-CoMist and the report, through the assets."""

import dagster as dg
import polars as pl
import pytest

from assets.comist import comist_assets
from assets.comist_report import comist_report_assets
from assets.fingerprints import Fingerprints
from assets.validity import validity_assets
from ml.settings import load_settings
from ml.tables.store import TableStore
from ml.validity.answers import AnswerLog
from resources.embeddings import TextEmbeddings
from resources.settings import PlatformSettings
from resources.tables import Tables
from tests.ml.comist.made import candidate, candidates, recording, recordings
from tests.ml.video.films import make_film

TYPES = {"mistake_type": "technique", "direction": "alternative", "original_similarity": 0.5}


@pytest.fixture
def store(tmp_path, monkeypatch) -> TableStore:
    monkeypatch.setenv("INTERJECT_DATA", str(tmp_path / "data"))
    store = TableStore(tmp_path / "data" / "tables")
    film = make_film(tmp_path / "film.mp4", 250)
    clip = {"clip_start_s": 1.0, "clip_end_s": 5.0, "t_s": 3.0}
    rows = [candidate(f"p{n}", "cook/1", step_uid=f"{n}#0", **TYPES, **clip) for n in range(4)]
    rows.append(candidate("infeasible", "cook/1", step_uid="9#0", check_feasible=False, **TYPES, **clip))
    store.write("comist_candidates", candidates(*rows), made_from="v1")
    store.write("recordings", recordings(recording("cook/1", video_path=str(film))), "cook/1")
    return store


def run(store: TableStore) -> dict[str, dict[str, object]]:
    data = str(store.root.parent)
    names = {"ego_comist", "validity_answers", "validity_sample", "validity_review", "comist_report"}
    assets = [one for one in (*comist_assets(), *validity_assets(), *comist_report_assets()) if one.key.to_user_string() in names]
    resources = {"tables": Tables(data=data), "settings": PlatformSettings(), "text_vectors": TextEmbeddings(data=data)}
    result = dg.materialize(assets, resources=resources)
    made = [event.materialization for event in result.get_asset_materialization_events()]
    return {one.asset_key.to_user_string(): {name: value.value for name, value in one.metadata.items()} for one in made}


def rejections(store: TableStore) -> dict[str, str]:
    return dict(store.read("comist_rejections").select("pair_id", "rejection").iter_rows())


def test_what_people_refuse_leaves_the_set_but_not_the_sample(store):
    first = run(store)
    assert rejections(store) == {"infeasible": "not_feasible"}
    assert store.read("validity_sample").height == 4
    assert "interject review" in first["validity_review"]["answers"]
    assert first["validity_review"]["valid share"] == "undefined"
    settings = load_settings()
    assert Fingerprints(store, settings).is_current("validity_review")
    shown = dict(store.read("validity_sample").select("pair_id", "shown_sha256").iter_rows())
    log = AnswerLog(settings.review_log)
    for pair_id, verdict in (("p0", False), ("p1", True)):
        log.change("Ann", pair_id, shown[pair_id], {"different": True, "feasible": verdict, "of_type": True, "never_apparent": verdict})
    assert not Fingerprints(store, settings).is_current("validity_answers")
    second = run(store)
    assert rejections(store) == {"infeasible": "not_feasible", "p0": "refused_by_people"}
    assert sorted(store.read("ego_comist")["pair_id"]) == ["p1", "p2", "p3"]
    assert store.read("validity_sample").height == 4
    assert second["validity_review"]["valid share"] == 0.5
    assert second["validity_answers"]["complete"] == 2
    page = (store.root.parent / "reports" / "ego_comist.html").read_text()
    assert "refused_by_people" in page
    assert page.count('class="preview"') == 3


def test_a_changed_threshold_makes_the_selection_stale_and_measures_nothing_anew(store, monkeypatch):
    run(store)
    measured = store.path("comist_candidates").stat().st_mtime_ns
    monkeypatch.setenv("INTERJECT_SELECTION__VALIDITY_CHECK", "false")
    settings = load_settings()
    prints = Fingerprints(store, settings)
    assert not prints.is_current("ego_comist")
    run(store)
    assert rejections(store) == {}
    assert Fingerprints(store, settings).is_current("ego_comist")
    assert store.path("comist_candidates").stat().st_mtime_ns == measured
    assert store.read("ego_comist").filter(pl.col("pair_id") == "infeasible").height == 1
