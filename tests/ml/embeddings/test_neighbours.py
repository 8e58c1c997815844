import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.embeddings.neighbours import earlier_neighbours, nearest


def clustered(n: int, seed: int, noise: float = 0.02, dimension: int = 48) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(1, n // 5), dimension))
    rows = centres[rng.integers(len(centres), size=n)] / np.sqrt(dimension) + noise * rng.normal(size=(n, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(0, 700), seed=st.integers(0, 99))
def test_exact_search_gives_the_nearest_earlier_row(n, seed):
    vectors = clustered(n, seed)
    found = earlier_neighbours(vectors, 0.9, k=1)
    best = dict(zip(found.row.tolist(), zip(found.other.tolist(), found.cosine.tolist(), strict=True), strict=True))
    cosine = vectors @ vectors.T
    for row in range(n):
        earlier = cosine[row, :row]
        if row and earlier.max() >= 0.9 + 1e-5:
            assert best[row][0] < row
            assert abs(best[row][1] - earlier.max()) < 1e-5
        elif not row or earlier.max() < 0.9 - 1e-5:
            assert row not in best


def test_cells_find_nearly_all_of_what_the_exact_search_finds():
    vectors = clustered(3000, 1)
    exact = earlier_neighbours(vectors, 0.9, k=1)
    cells = earlier_neighbours(vectors, 0.9, k=1, exact_rows=100)
    wanted = dict(zip(exact.row.tolist(), exact.cosine.tolist(), strict=True))
    got = dict(zip(cells.row.tolist(), cells.cosine.tolist(), strict=True))
    assert len(wanted) > 1500
    same = sum(abs(got.get(row, -1.0) - cosine) < 1e-5 for row, cosine in wanted.items())
    assert same >= 0.99 * len(wanted)
    assert set(got) <= set(wanted)


def test_four_times_the_rows_are_far_from_sixteen_times_the_work():
    def seconds(n: int) -> float:
        vectors = clustered(n, 2)
        spent = []
        for _ in range(3):
            begun = time.process_time()
            earlier_neighbours(vectors, 0.9, exact_rows=100)
            spent.append(time.process_time() - begun)
        return min(spent)

    assert seconds(16_000) / seconds(4_000) < 12  # n^1.5 gives 8, n^2 16


def test_at_most_k_best_first():
    vectors = np.tile(clustered(1, 0), (6, 1))
    found = earlier_neighbours(vectors, 0.5, k=2)
    assert np.bincount(found.row, minlength=6).tolist() == [0, 1, 2, 2, 2, 2]


def test_nearest_target():
    targets = clustered(40, 3)
    rows, cosine = nearest(targets[[7, 3]], targets)
    assert rows.tolist() == [7, 3]
    assert np.allclose(cosine, 1.0, atol=1e-5)
