"""BERTScore with a real local model: rescaled by default, raw as an option, blank texts refused."""

import pytest

from ml.benchmarks.similarity import Baseline, BertScore, BertScoreOptions, published_baseline, rescale
from ml.embeddings.encoder import embedded_model_folder
from ml.errors import InputError

PAIRS = [
    ("Use three tablespoons of flour.", "Use three tablespoons of flour."),
    ("Use four tablespoons of flour.", "Use three tablespoons of flour."),
    ("The ferry leaves at nine.", "Use three tablespoons of flour."),
]


@pytest.fixture(scope="module")
def folder():
    return str(embedded_model_folder())


@pytest.fixture(scope="module")
def scorer(folder):
    return BertScore(BertScoreOptions(folder, layers=6))


@pytest.fixture(scope="module")
def raw(folder):
    return BertScore(BertScoreOptions(folder, layers=6, rescale=False))(PAIRS)


def test_rescaled_by_default_with_the_models_own_baseline(scorer, raw):
    found = scorer(PAIRS)
    assert found[0] == pytest.approx(1.0, abs=1e-5)
    assert found[0] > found[1] > found[2]
    assert scorer.baseline is not None
    assert 0 < scorer.baseline < 1
    assert found == pytest.approx([rescale(value, scorer.baseline) for value in raw], abs=1e-6)
    assert abs(found[2]) < 0.35  # unrelated texts lie about 0


def test_a_baseline_can_be_named_and_raw_values_have_none(folder, raw):
    named = BertScore(BertScoreOptions(folder, layers=6, baseline=Baseline()))
    assert named(PAIRS) == pytest.approx([rescale(value, 0.83122575) for value in raw], abs=1e-6)
    assert BertScore(BertScoreOptions(folder, layers=6, rescale=False)).baseline is None


def test_the_reported_model_keeps_its_published_baseline():
    assert published_baseline("roberta-large", 17) == Baseline()
    assert published_baseline("all-MiniLM-L6-v2", 6) is None
    assert BertScore(BertScoreOptions("roberta-large")).layers == 17
    assert BertScore(BertScoreOptions("/models/roberta-large")).baseline == 0.83122575


def test_layer_and_identity_come_from_the_model(scorer, folder):
    assert BertScore(BertScoreOptions(folder)).layers == 6
    identity = scorer.identity
    assert identity.model.startswith("model@")
    assert identity.layers == 6
    assert identity != BertScore(BertScoreOptions(folder, layers=5, rescale=False)).identity


def test_what_cannot_be_scored_is_refused(scorer, folder):
    assert scorer([]) == []
    with pytest.raises(InputError, match="blank"):
        scorer([("stop", " ")])
    with pytest.raises(InputError, match="does not exist"):
        BertScore(BertScoreOptions("/no/such/folder", layers=3))([("a", "b")])
    with pytest.raises(InputError, match="cannot be loaded"):
        BertScore(BertScoreOptions(folder, layers=40))([("a", "b")])
