"""Near neighbours among unit vectors without comparing all with all. No texts and no storage here.

Up to ``EXACT_ROWS`` vectors the comparison is exact, in blocks. Above, vectors are put into about sqrt(n) cells around spherical k-means
centres and compared within the nearest cells only: the work grows as n^1.5 and memory stays bounded by a block.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ml.embeddings.vectors import Matrix

EXACT_ROWS = 4096
BLOCK_ROWS = 512
PROBES = 12
MEANS_ROUNDS = 6


@dataclass(frozen=True)
class Matches:
    """Pairs (row, other) with other < row and cosine >= the floor; at most k others a row. Sorted by row, then best first."""

    row: NDArray[np.int64]
    other: NDArray[np.int64]
    cosine: NDArray[np.float32]


def earlier_neighbours(vectors: Matrix, floor: float, k: int = 8, *, exact_rows: int = EXACT_ROWS, seed: int = 0) -> Matches:
    """For each row of ``vectors`` (unit length, shape (n, d)) up to ``k`` nearest earlier rows with cosine >= ``floor``."""
    n = len(vectors)
    parts = _exact(vectors, floor, k) if n <= exact_rows else _in_cells(vectors, floor, k, seed)
    return _best(parts, k)


def _exact(vectors: Matrix, floor: float, k: int) -> list[Matches]:
    parts = []
    for start in range(0, len(vectors), BLOCK_ROWS):
        rows = np.arange(start, min(start + BLOCK_ROWS, len(vectors)))
        parts.append(_compare(vectors, rows, np.arange(rows[-1] + 1), floor, k))
    return parts


def _in_cells(vectors: Matrix, floor: float, k: int, seed: int) -> list[Matches]:
    cells = int(np.ceil(np.sqrt(len(vectors))))
    centres = _centres(vectors, cells, seed)
    probes = np.empty((len(vectors), min(PROBES, cells)), dtype=np.int64)
    for start in range(0, len(vectors), BLOCK_ROWS):
        near = -(vectors[start : start + BLOCK_ROWS] @ centres.T)
        chosen = np.argpartition(near, probes.shape[1] - 1, axis=1)[:, : probes.shape[1]]
        order = np.argsort(np.take_along_axis(near, chosen, axis=1), axis=1, kind="stable")
        probes[start : start + BLOCK_ROWS] = np.take_along_axis(chosen, order, axis=1)
    members = _by_cell(probes[:, 0], np.arange(len(vectors)), cells)
    asking = _by_cell(probes.reshape(-1), np.repeat(np.arange(len(vectors)), probes.shape[1]), cells)
    parts = []
    for cell in range(cells):
        if len(members[cell]):
            for start in range(0, len(asking[cell]), BLOCK_ROWS):
                parts.append(_compare(vectors, asking[cell][start : start + BLOCK_ROWS], members[cell], floor, k))
    return parts


def _by_cell(cell: NDArray[np.int64], row: NDArray[np.int64], cells: int) -> list[NDArray[np.int64]]:
    order = np.argsort(cell, kind="stable")
    return np.split(row[order], np.searchsorted(cell[order], np.arange(1, cells)))


def _centres(vectors: Matrix, cells: int, seed: int) -> Matrix:
    rng = np.random.default_rng(seed)
    sample = vectors[np.sort(rng.choice(len(vectors), size=min(len(vectors), 64 * cells), replace=False))]
    centres = sample[rng.choice(len(sample), size=cells, replace=False)]
    for _ in range(MEANS_ROUNDS):
        nearest = np.concatenate([np.argmax(sample[s : s + BLOCK_ROWS] @ centres.T, axis=1) for s in range(0, len(sample), BLOCK_ROWS)])
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, sample)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(norms > 0, sums / np.maximum(norms, 1e-12), centres).astype(np.float32)
    return centres


def _compare(vectors: Matrix, rows: NDArray[np.int64], others: NDArray[np.int64], floor: float, k: int) -> Matches:
    cosine = vectors[rows] @ vectors[others].T
    cosine[others[None, :] >= rows[:, None]] = -2.0
    if cosine.shape[1] > k:
        columns = np.argpartition(-cosine, k - 1, axis=1)[:, :k]
        cosine = np.take_along_axis(cosine, columns, axis=1)
        named = others[columns]
    else:
        named = np.broadcast_to(others, cosine.shape)
    keep = cosine >= floor
    return Matches(np.broadcast_to(rows[:, None], cosine.shape)[keep], named[keep], cosine[keep])


def _best(parts: list[Matches], k: int) -> Matches:
    if not parts:
        return Matches(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
    row, other, cosine = (np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "other", "cosine"))
    order = np.lexsort((other, -cosine, row))
    row, other, cosine = row[order], other[order], cosine[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    keep = rank < k
    return Matches(row[keep], other[keep], cosine[keep])


def nearest(queries: Matrix, targets: Matrix) -> tuple[NDArray[np.int64], Matrix]:
    """For each query the row of its nearest target and the cosine, in blocks; ``targets`` holds at least one row."""
    rows = np.empty(len(queries), dtype=np.int64)
    cosine = np.empty(len(queries), dtype=np.float32)
    for start in range(0, len(queries), BLOCK_ROWS):
        block = queries[start : start + BLOCK_ROWS] @ targets.T
        best = np.argmax(block, axis=1)
        rows[start : start + len(block)] = best
        cosine[start : start + len(block)] = block[np.arange(len(block)), best]
    return rows, cosine
