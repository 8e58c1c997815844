"""Figures of benchmark results as PNG bytes. Takes numbers and tables; computes no score. matplotlib is imported when a figure is drawn."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ml.vocabulary import MistakeType

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Figure 5 of EGO-CoMist (arXiv 2606.09547): closed on the side away from zero, the middle bin open on both.
ERROR_EDGES_S = (-10.0, -7.5, -5.0, -2.5, 2.5, 5.0, 7.5, 10.0)
ERROR_LABELS = (
    "(-inf, -10]",
    "(-10, -7.5]",
    "(-7.5, -5]",
    "(-5, -2.5]",
    "(-2.5, 2.5)",
    "[2.5, 5)",
    "[5, 7.5)",
    "[7.5, 10)",
    "[10, inf)",
)
PALETTE = ("#2f6db5", "#e08a2b", "#6b8f5e", "#a05a9c", "#b9b04a", "#7f8790")  # told apart in grey and by colour-blind readers
INK = "#3a424a"


def timestamp_error_shares(errors_s: Sequence[float]) -> dict[str, float]:
    """Share of errors (predicted minus true, seconds) in each bin of figure 5; all zero when there is none."""
    errors = np.asarray(errors_s, dtype=np.float64)
    left = np.searchsorted(ERROR_EDGES_S[:4], errors, side="left")  # a value on a negative edge belongs below it
    right = np.searchsorted(ERROR_EDGES_S[4:], errors, side="right")  # on a positive edge, above it
    counts = np.bincount(left + right, minlength=len(ERROR_LABELS)).astype(float)
    total = max(len(errors), 1)
    return {label: float(count / total) for label, count in zip(ERROR_LABELS, counts, strict=True)}


def timestamp_error_histogram(errors_s: Sequence[float], title: str = "Feedback timestamp errors") -> bytes:
    """Horizontal bars of ``timestamp_error_shares``, as in figure 5. PNG."""
    shares = timestamp_error_shares(errors_s)
    figure, axes = _figure(6.4, 3.6)
    values = [100 * share for share in shares.values()]
    bars = axes.barh(range(len(values)), values, color=[PALETTE[2] if label == "(-2.5, 2.5)" else PALETTE[0] for label in shares])
    axes.bar_label(bars, fmt="%.1f %%", padding=2)
    axes.set_yticks(range(len(values)), list(shares))
    axes.invert_yaxis()
    axes.set_xlim(0, max([*values, 1.0]) * 1.18)
    axes.set_xlabel("share of timestamps (%)")
    axes.set_ylabel("error, predicted - true (s)")
    axes.set_title(f"{title} (n = {len(errors_s)})")
    return _png(figure)


def timing_error_plot(errors_s: Sequence[float], half_window_s: float) -> bytes:
    """Histogram of matched messages, predicted minus reference time, in 1 s bins over the window. PNG.

    Above 40 bins they grow, so that the bars stay wide enough to see.
    """
    figure, axes = _figure(7.2, 3.2)
    width = max(1.0, np.ceil(2 * half_window_s / 40))
    axes.hist(errors_s, bins=np.arange(-half_window_s, half_window_s + width, width), color=PALETTE[0], edgecolor="white")
    axes.axvline(0, color=INK, linewidth=1)
    if len(errors_s):
        median = float(np.median(errors_s))
        axes.axvline(median, color=PALETTE[1], linewidth=1.5, linestyle="--", label=f"median {median:+.1f} s")
        axes.legend(frameon=False, fontsize="small")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("predicted - reference (s)")
    axes.set_ylabel("matched messages")
    axes.set_title(f"n = {len(errors_s)}", loc="left", fontsize="medium", color=INK)
    return _png(figure)


def per_group_plot(scores: pl.DataFrame, metric: str, groups: Sequence[str] = tuple(MistakeType), scale: float = 1.0) -> bytes:
    """Bars of one metric per group and experiment with 95 % intervals, from a ``scores`` table of one protocol. PNG.

    Groups without a row are left out; ``scale`` is the top of the axis.
    """
    chosen = scores.filter((pl.col("metric") == metric) & pl.col("group").is_in(list(groups)))
    experiments = chosen["experiment"].unique(maintain_order=True).to_list()
    present = [str(name) for name in groups if name in set(chosen["group"])]
    figure, axes = _figure(max(7.2, 1.1 * len(present)), 3.6)
    width = 0.8 / max(len(experiments), 1)
    for place, experiment in enumerate(experiments):
        rows = {row["group"]: row for row in chosen.filter(pl.col("experiment") == experiment).iter_rows(named=True)}
        at = [i + (place - (len(experiments) - 1) / 2) * width for i, name in enumerate(present) if name in rows]
        own = [rows[name] for name in present if name in rows]
        values = [row["value"] or 0.0 for row in own]
        errors = [
            [max(v - (row["low"] if row["low"] is not None else v), 0.0) for v, row in zip(values, own, strict=True)],
            [max((row["high"] if row["high"] is not None else v) - v, 0.0) for v, row in zip(values, own, strict=True)],
        ]
        style = {"elinewidth": 1, "ecolor": INK, "capsize": 2}
        axes.bar(at, values, width * 0.92, yerr=errors, error_kw=style, label=experiment, color=PALETTE[place % len(PALETTE)])
    counts = {row["group"]: row["n"] for row in reversed(chosen.to_dicts())}  # those of the first experiment
    labels = [name.removeprefix("failure.").replace(".", ", ").replace("_", " ") for name in present]
    axes.set_xticks(range(len(present)), [f"{label}\nn = {counts[name]}" for label, name in zip(labels, present, strict=True)])
    axes.set_ylim(0, 1.05 * scale)
    axes.set_ylabel(metric.replace("_", " "))
    if experiments:
        axes.legend(fontsize="small", frameon=False, ncols=min(len(experiments), 3), loc="upper left", bbox_to_anchor=(0, 1.14))
    return _png(figure)


def _figure(width: float, height: float) -> tuple["Figure", Any]:
    from matplotlib.figure import Figure  # without pyplot: no global state, safe in threads

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#9aa4ae")
    axes.tick_params(colors=INK, labelsize="small")
    axes.grid(axis="y", color="#e4e8ec", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _png(figure: "Figure") -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=140)
    return buffer.getvalue()
