"""Models by folder, by name and pinned to a revision, from a hub cache laid out as the library lays it out; nobody is asked."""

import os
import subprocess
import sys

import pytest

from ml.embeddings.encoder import embedded_model_folder
from ml.errors import InputError
from ml.hub import model_source, plain_name

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def cached(folder, name, revision):
    """A hub cache in which ``name`` has one snapshot, the embedded sentence model, and ``revision`` is a tag of it."""
    repository = folder / f"models--{name.replace('/', '--')}"
    (repository / "snapshots").mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / revision).write_text(COMMIT)
    (repository / "snapshots" / COMMIT).symlink_to(embedded_model_folder(), target_is_directory=True)
    return folder


def run(code, cache):
    environment = {**os.environ, "HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    return done.stdout.strip(), done.stderr


def test_folders_and_names_are_left_to_the_libraries(tmp_path):
    assert model_source(tmp_path) == str(tmp_path)
    assert model_source("Qwen/Qwen3-VL-8B-Instruct") == "Qwen/Qwen3-VL-8B-Instruct"
    odd = tmp_path / "model@home"
    odd.mkdir()
    assert model_source(odd) == str(odd)
    assert plain_name("FacebookAI/roberta-large@abc") == "roberta-large"
    assert plain_name(str(tmp_path / "roberta-large")) == "roberta-large"


@pytest.mark.parametrize("revision", [COMMIT, "v2"])
def test_a_pinned_sentence_model_comes_from_the_cache_and_keeps_its_revision_as_identity(tmp_path, revision):
    cache = cached(tmp_path, "sentence-transformers/some-model", "v2")
    code = f"""
from ml.embeddings.encoder import TextEncoder
encoder = TextEncoder("some-model@{revision}")
print(encoder.name, encoder.encode(["whisk the eggs"]).shape)
"""
    told, errors = run(code, cache)
    assert told == f"some-model@{revision} (1, 384)", errors


def test_a_revision_that_is_not_there_is_one_sentence(tmp_path):
    cache = cached(tmp_path, "acme/chat", "v2")
    code = """
from ml.errors import InputError
from ml.llm.backends.transformers_chat import ChatModel
try:
    ChatModel("acme/chat@v3", field="assistants.model")
except InputError as error:
    print(error)
"""
    told, errors = run(code, cache)
    assert told.startswith("record acme/chat, field assistants.model: revision v3 cannot be had"), errors
    assert told.endswith("Name a revision that the hub has, or a local folder")
    with pytest.raises(InputError, match="cannot be had"):
        model_source("a--b@..")
