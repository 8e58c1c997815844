"""Bootstrap over clusters (recordings, source clips): draws as weights, so that one matrix product serves every metric. Holds no metric."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ml.errors import InputError

MOST_DRAWS = 100_000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BootstrapOptions:
    """``draws`` resamples of the clusters with ``seed``; the interval covers ``level`` of them. 0 draws: no interval."""

    draws: int = 1000
    seed: int = 20260
    level: float = 0.95

    def __post_init__(self) -> None:
        if not 0 <= self.draws <= MOST_DRAWS:
            raise InputError(f"{self.draws} draws", field="bootstrap.draws", remedy=f"Give 0 to {MOST_DRAWS}")
        if not 0 < self.level < 1:
            raise InputError(
                f"no interval covers {self.level:g}", field="bootstrap.level", remedy="Give a number between 0 and 1, e.g. 0.95"
            )


def draw_weights(clusters: int, options: BootstrapOptions) -> Floats:
    """How often each cluster occurs in each resample: float64 [draws, clusters], rows sum to ``clusters``."""
    if clusters == 0 or options.draws == 0:
        return np.zeros((0, clusters))
    generator = np.random.default_rng(options.seed)
    picks = generator.integers(0, clusters, size=(options.draws, clusters))
    picks += np.arange(options.draws)[:, None] * clusters
    return np.bincount(picks.ravel(), minlength=options.draws * clusters).reshape(options.draws, clusters).astype(np.float64)


def interval(values: Floats, options: BootstrapOptions) -> tuple[float | None, float | None]:
    """Percentile interval over the draws in which the value is defined; (None, None) when there is none."""
    defined = values[np.isfinite(values)]
    if defined.size == 0:
        return None, None
    tail = (1 - options.level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def resampled(counts: Floats, weights: Floats, metric: Callable[[Floats], Floats]) -> Floats:
    """``metric`` of every resample. ``counts`` [clusters, k] are sums per cluster; ``metric`` maps [draws, k] to [draws]."""
    return metric(weights @ counts)


@dataclass(frozen=True)
class Difference:
    """Paired difference a - b of one metric. ``share_positive`` is the share of resamples in which a is above b."""

    value: float | None
    low: float | None
    high: float | None
    share_positive: float | None


def paired_difference(counts_a: Floats, counts_b: Floats, metric: Callable[[Floats], Floats], options: BootstrapOptions) -> Difference:
    """Difference of a metric between two runs on the same clusters in the same order, resampled together.

    ``counts_a`` and ``counts_b`` are [clusters, k]. Raises ValueError when the clusters differ in number.
    """
    if counts_a.shape != counts_b.shape:
        raise ValueError(f"runs differ in clusters: {counts_a.shape} and {counts_b.shape}")
    point = float((metric(counts_a.sum(0, keepdims=True)) - metric(counts_b.sum(0, keepdims=True)))[0]) if counts_a.size else float("nan")
    weights = draw_weights(counts_a.shape[0], options)
    differences = resampled(counts_a, weights, metric) - resampled(counts_b, weights, metric)
    low, high = interval(differences, options)
    defined = differences[np.isfinite(differences)]
    share = float((defined > 0).mean()) if defined.size else None
    return Difference(point if np.isfinite(point) else None, low, high, share)
