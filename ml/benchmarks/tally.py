"""Measures as functions of sums per cluster (recording, source clip): table rows with intervals, and what comparing two runs needs.

Knows no benchmark: each scorer gives its sums and its measures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ml.benchmarks.bootstrap import BootstrapOptions, Floats, draw_weights, interval

ALL = "all"
Row = dict[str, object]


@dataclass(frozen=True)
class Measure:
    """``value`` maps sums [rows, k] to [rows], NaN for 0/0; ``count`` gives the items behind it.

    ``undefined`` stands for 0/0; None leaves it without a value. ``lower_is_better`` turns wins round when runs are compared.
    """

    name: str
    value: Callable[[Floats], Floats]
    count: Callable[[Floats], Floats]
    undefined: float | None = None
    lower_is_better: bool = False

    def of(self, sums: Floats) -> Floats:
        """Values of sums [rows, k] with 0/0 replaced."""
        values = self.value(sums)
        return values if self.undefined is None else np.nan_to_num(values, nan=self.undefined)


@dataclass(frozen=True)
class Failures:
    """Items without an answer, with an answer from which nothing could be read, and judgements that failed. They do not overlap."""

    missing: int = 0
    unparsable: int = 0
    judge_failed: int = 0


@dataclass(frozen=True)
class Tally:
    """Sums of one run, float64 [clusters, k], and the measures on which it is compared with another run."""

    clusters: tuple[str, ...]
    sums: Floats
    compared: tuple[Measure, ...]


def ratio(top: Sequence[int], bottom: Sequence[int], scale: float = 1.0) -> Callable[[Floats], Floats]:
    """Sum of the columns ``top`` over the sum of the columns ``bottom``."""
    tops, bottoms = list(top), list(bottom)

    def value(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return scale * sums[:, tops].sum(1) / sums[:, bottoms].sum(1)

    return value


def total(*columns: int) -> Callable[[Floats], Floats]:
    chosen = list(columns)
    return lambda sums: sums[:, chosen].sum(1)


class Resampled:
    """Sums with their bootstrap draws, so that one matrix product serves every measure of a group.

    ``weights`` are those of ``draw_weights`` where several groups share the clusters.
    """

    def __init__(self, sums: Floats, options: BootstrapOptions, weights: Floats | None = None) -> None:
        self.sums, self.options = sums, options
        self.weights = draw_weights(len(sums), options) if weights is None else weights
        self.pooled = sums.sum(0, keepdims=True)
        self.drawn = self.weights @ sums

    def row(self, measure: Measure, group: str, failures: Failures, *, name: str | None = None, is_void: bool = False) -> Row:
        """The measure over all clusters together. ``is_void``: nothing ran, so there is no value whatever the sums say."""
        value = float(measure.of(self.pooled)[0])
        n = int(measure.count(self.pooled)[0])
        return self._row(name or measure.name, group, value, n, measure.of(self.drawn), failures, is_void)

    def mean_row(self, measure: Measure, group: str, failures: Failures, *, name: str | None = None, is_void: bool = False) -> Row:
        """Mean over the clusters in which the measure has a value, that of 0/0 included; ``<name>_per_recording`` unless named."""
        values = measure.of(self.sums)
        has_data = np.isfinite(values)
        totals = np.stack([np.where(has_data, values, 0.0), has_data.astype(np.float64)], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = (self.weights @ totals)[:, 0] / (self.weights @ totals)[:, 1]
        value = float(totals[:, 0].sum() / totals[:, 1].sum()) if has_data.any() else float("nan")
        return self._row(name or f"{measure.name}_per_recording", group, value, int(has_data.sum()), drawn, failures, is_void)

    def _row(self, name: str, group: str, value: float, n: int, drawn: Floats, failures: Failures, is_void: bool) -> Row:
        is_known = bool(np.isfinite(value)) and not is_void
        low, high = interval(drawn, self.options) if is_known else (None, None)
        return {
            "metric": name,
            "group": group,
            "value": value if is_known else None,
            "n": n,
            "n_missing": failures.missing,
            "n_unparsable": failures.unparsable,
            "n_judge_failed": failures.judge_failed,
            "low": low,
            "high": high,
        }


def with_undefined(measures: Sequence[Measure], undefined: float | None) -> tuple[Measure, ...]:
    """The measures with another value of 0/0, where they have one."""
    return tuple(measure if measure.undefined is None else replace(measure, undefined=undefined) for measure in measures)
