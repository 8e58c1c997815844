import numpy as np
import pytest

from ml.embeddings.encoder import TextEncoder, embedded_model_folder
from ml.errors import InputError


@pytest.fixture(scope="module")
def encoder():
    return TextEncoder(threads=1)


def test_unit_float32_in_the_order_of_the_texts(encoder):
    texts = ["Slice the onion", "Add 2 tablespoons of soy sauce and stir until the sugar has melted", "Slice the onion", "Stir"]
    vectors = encoder.encode(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, encoder.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert np.array_equal(vectors[0], vectors[2])
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(alone - vectors).max() < 1e-5


def test_near_texts_are_nearer(encoder):
    onion, chopped, water = encoder.encode(["Dice the onion", "Chop the onion into dice", "Fill the kettle with water"])
    assert onion @ chopped > 0.7 > 0.4 > onion @ water


def test_the_dimension_read_from_files_is_that_of_the_model(encoder):
    unloaded = TextEncoder()
    assert unloaded.dimension == encoder.encode(["Stir"]).shape[1]
    assert not unloaded._loaded


def test_no_texts(encoder):
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_the_same_weights_have_the_same_name_under_a_configured_path(encoder):
    by_path = TextEncoder(model=str(embedded_model_folder()))
    assert encoder.name.startswith("all-MiniLM-L6-v2@")
    assert by_path.name.split("@")[1] == encoder.name.split("@")[1]


def test_a_wrong_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        _ = TextEncoder(model=str(tmp_path / "absent")).name
    with pytest.raises(InputError, match=r"modules\.json"):
        _ = TextEncoder(model=str(tmp_path)).name
