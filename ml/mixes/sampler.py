"""Draws from a mix, the same for the same seed and reachable at any position, so that a resumed run goes on where it stopped."""

from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ml.errors import InputError
from ml.vocabulary import Split

BLOCK_DRAWS = 1000
KEPT_ORDERS = 64


class MixSampler:
    """Endless weighted draws of samples.

    Of every 1,000 draws each dataset gets its share to within one draw (at least one), in shuffled order, and within a dataset every unit
    comes once before any comes again: less variance than independent draws. ``draw(position)`` needs no earlier draw.

    A unit is a sample; with ``pairs_together`` it is all samples of one pair id (the counterfactual and its clean twin). A dataset's share
    counts samples, so that units of two are drawn half as often.
    """

    def __init__(self, frame: pl.DataFrame, seed: int, *, split: str = Split.TRAIN, pairs_together: bool = False) -> None:
        """``frame`` is a ``training_mix``; its rows of ``split`` are drawn. Raises ``InputError`` where there are none, or where weights
        differ within a dataset.
        """
        rows = frame.filter(pl.col("split") == split).sort("sample_id")
        if rows.height == 0:
            raise InputError("the mix has no sample of this split", record=split, field="split")
        self.seed, self.split = seed, split
        self._units: list[list[tuple[str, ...]]] = []
        rates: list[float] = []
        self.datasets: tuple[str, ...] = tuple(sorted(rows["dataset"].unique()))
        for dataset in self.datasets:
            of_dataset = rows.filter(pl.col("dataset") == dataset)
            weights = of_dataset["weight"].to_numpy()
            if not np.allclose(weights, weights[0], rtol=1e-9):
                raise InputError("weights differ within a dataset", record=dataset, field="weight", remedy="Build the mix with build_mix")
            units = _units(of_dataset, pairs_together)
            self._units.append(units)
            rates.append(float(weights.sum()) * len(units) / of_dataset.height)
        self._per_block = _whole_counts(np.array(rates) / sum(rates), BLOCK_DRAWS)
        self._blocks: OrderedDict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = OrderedDict()
        self._orders: OrderedDict[tuple[int, int], NDArray[np.int64]] = OrderedDict()

    def draw(self, position: int) -> tuple[str, ...]:
        """Sample ids of the draw at ``position`` (0-based): one id, or those of a pair, the counterfactual after its clean twin."""
        if position < 0:
            raise InputError(f"{position} is no position", field="position")
        block, offset = divmod(position, BLOCK_DRAWS)
        dataset, rank = (int(values[offset]) for values in self._block(block))
        units = self._units[dataset]
        epoch, place = divmod(block * int(self._per_block[dataset]) + rank, len(units))
        return units[int(self._order(dataset, epoch)[place])]

    def draws(self, position: int = 0) -> Iterator[tuple[str, ...]]:
        """Draws from ``position`` on, without end."""
        while True:
            yield self.draw(position)
            position += 1

    def _block(self, block: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Dataset of each draw of a block, and how many draws of that dataset precede it in the block."""
        if block not in self._blocks:
            plain = np.repeat(np.arange(len(self._per_block)), self._per_block)
            dataset = plain[np.random.default_rng([self.seed, 0, block]).permutation(BLOCK_DRAWS)]
            rank = np.empty(BLOCK_DRAWS, dtype=np.int64)
            for index in range(len(self._per_block)):
                rank[dataset == index] = np.arange(self._per_block[index])
            self._blocks[block] = (dataset, rank)
            while len(self._blocks) > 2:
                self._blocks.popitem(last=False)
        return self._blocks[block]

    def _order(self, dataset: int, epoch: int) -> NDArray[np.int64]:
        key = (dataset, epoch)
        if key not in self._orders:
            self._orders[key] = np.random.default_rng([self.seed, 1, dataset, epoch]).permutation(len(self._units[dataset]))
            while len(self._orders) > KEPT_ORDERS:
                self._orders.popitem(last=False)
        return self._orders[key]


def _units(rows: pl.DataFrame, pairs_together: bool) -> list[tuple[str, ...]]:
    if not pairs_together:
        return [(sample_id,) for sample_id in rows["sample_id"]]
    units: dict[tuple[str, str], list[str]] = {}
    for sample_id, pair_id in rows.select("sample_id", "pair_id").iter_rows():
        units.setdefault(("pair", pair_id) if pair_id is not None else ("sample", sample_id), []).append(sample_id)
    return [tuple(ids) for ids in units.values()]


def _whole_counts(shares: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """``shares`` (sum 1) of ``total`` as whole numbers by largest remainder, none below 1."""
    if len(shares) > total:
        raise InputError(f"a mix of more than {total} datasets cannot be drawn from")
    counts = np.maximum(np.floor(shares * total).astype(np.int64), 1)
    remainders = shares * total - counts
    while counts.sum() < total:
        index = int(np.argmax(remainders))
        counts[index] += 1
        remainders[index] -= 1
    while counts.sum() > total:
        index = int(np.argmin(np.where(counts > 1, remainders, np.inf)))
        counts[index] -= 1
        remainders[index] += 1
    return counts
