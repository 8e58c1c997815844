"""Storage behaviour that users of LanceDB tripped over: concurrent upserts, small tables, many small writes."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from ml.embeddings.encoder import TextEncoder, embedded_model_folder
from ml.embeddings.store import TextVectorStore
from ml.errors import InputError


@pytest.fixture(scope="module")
def encoder():
    return TextEncoder(threads=1)


@pytest.fixture
def store(tmp_path, encoder):
    return TextVectorStore(tmp_path / "vectors", encoder)


def made_vectors(n: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, 384)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


WRITER = """
import pathlib, sys, time
import numpy as np
from ml.embeddings.store import TextVectorStore
store = TextVectorStore(pathlib.Path(sys.argv[1]))
vector = np.full((1, store.encoder.dimension), store.encoder.dimension ** -0.5, dtype=np.float32)
print("ready", flush=True)
sys.stdin.readline()
store.upsert(["k1"], vector)
"""


def test_eight_threads_that_upsert_one_new_key_make_one_row(tmp_path, encoder):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: TextVectorStore(tmp_path, encoder).upsert(["k1"], made_vectors(1)), range(8)))
    assert TextVectorStore(tmp_path, encoder).count() == 1


def test_processes_that_upsert_one_new_key_make_one_row(tmp_path, encoder):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    root = Path(__file__).parents[3]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(3)]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    assert TextVectorStore(tmp_path, encoder).count() == 1


def test_upsert_replaces_and_counts_new_rows(store):
    assert store.upsert(["a", "b", "a"], made_vectors(3)) == 2
    assert np.array_equal(store.read(["a"]).matrix[0], made_vectors(3)[2])
    assert store.upsert(["b", "c"], made_vectors(2, seed=1)) == 1
    assert store.count() == 3
    assert np.array_equal(store.read(["b"]).matrix[0], made_vectors(2, seed=1)[0])
    with pytest.raises(InputError, match="do not fit"):
        store.upsert(["a"], made_vectors(2))


def test_embed_encodes_only_what_is_missing(store):
    seen: list[tuple[int, int]] = []
    first = store.embed(["Slice the onion", "Boil the pasta", "Slice the onion"], lambda done, total: seen.append((done, total)))
    again = store.embed(["Boil the pasta", "Stir", "Slice the onion"], lambda done, total: seen.append((done, total)))
    assert seen == [(2, 2), (1, 1)]
    assert store.count() == 3
    both = ["Slice the onion", "Boil the pasta"]
    assert np.array_equal(first.of_texts(both), again.of_texts(both))
    assert np.abs(again.of_texts(["Stir"]) - store.encoder.encode(["Stir"])).max() < 1e-5


def test_search_by_text(store):
    store.embed(["Slice the onion", "Boil the pasta", "Chop an onion finely", "Pour in the cook's milk"])
    hits = store.search("cut onions", 2)
    assert set(hits["text"]) == {"Slice the onion", "Chop an onion finely"}
    exact = store.encoder.encode(["cut onions"]) @ store.encoder.encode(hits["text"].to_list()).T
    assert np.allclose(exact[0], hits["similarity"], atol=1e-5)
    assert hits["similarity"].is_sorted(descending=True)
    with pytest.raises(InputError):
        store.search("onion", 0)


def test_vectors_of_another_model_are_neither_read_nor_found(store, tmp_path, encoder):
    store.embed(["Slice the onion"])
    other_folder = tmp_path / "other's model"
    shutil.copytree(embedded_model_folder(), other_folder)
    other = TextVectorStore(store.root, TextEncoder(model=str(other_folder)))
    assert other.encoder.name != encoder.name
    assert not other.read(["Slice the onion"]).index
    assert other.search("onion").height == 0
    other.embed(["Slice the onion"])
    assert store.count() == 2
    assert store.search("onion", 5).height == 1


def test_an_index_waits_for_256_rows_and_search_works_without(store):
    assert store.search("onion").height == 0
    assert store.read(["onion"]).matrix.shape == (0, 384)
    assert not store.build_index().built
    store.optimise()
    store.upsert([f"t{n}" for n in range(100)], made_vectors(100))
    outcome = store.build_index()
    assert (outcome.built, outcome.rows) == (False, 100)
    assert "256" in outcome.note
    assert store.search("onion", 3).height == 3
    store.upsert([f"t{n}" for n in range(300)], made_vectors(300))
    store.embed(["Slice the onion"])
    assert store.build_index().built
    assert store.search("Slice the onion", 1)["text"].to_list() == ["Slice the onion"]
    store.embed(["Chop the leek"])  # newer than the index
    assert store.search("Chop the leek", 1)["text"].to_list() == ["Chop the leek"]


def test_many_small_writes_keep_the_size_in_proportion(tmp_path, encoder):
    once = TextVectorStore(tmp_path / "once", encoder)
    once.upsert([f"t{n}" for n in range(200)], made_vectors(200))
    many = TextVectorStore(tmp_path / "many", encoder, optimise_every=20, keep_versions_for=timedelta(milliseconds=1))
    vectors = made_vectors(200)
    for n in range(200):
        many.upsert([f"t{n}"], vectors[n : n + 1])
    assert many.count() == 200
    many.optimise()
    assert folder_bytes(many.root) < 2 * folder_bytes(once.root)
    assert len(list(many.root.rglob("*.lance"))) < 30
