"""Figures of benchmark results as PNG bytes. Takes numbers and tables; computes no score. matplotlib is imported when a figure is drawn."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ml.vocabulary import MessageKind, MistakeType

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
_COLOURS = {MessageKind.INSTRUCTION: "0.6", MessageKind.FEEDBACK: "tab:red", MessageKind.SUCCESS: "tab:green"}


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
    bars = axes.barh(range(len(values)), values, color=["tab:green" if label == "(-2.5, 2.5)" else "tab:blue" for label in shares])
    axes.bar_label(bars, fmt="%.1f %%", padding=2)
    axes.set_yticks(range(len(values)), list(shares))
    axes.invert_yaxis()
    axes.set_xlim(0, max([*values, 1.0]) * 1.18)
    axes.set_xlabel("share of timestamps (%)")
    axes.set_ylabel("error, predicted - true (s)")
    axes.set_title(f"{title} (n = {len(errors_s)})")
    return _png(figure)


def timing_error_plot(errors_s: Sequence[float], half_window_s: float) -> bytes:
    """Histogram of matched feedback, predicted minus reference time, in 1 s bins over the window. PNG."""
    figure, axes = _figure(6.4, 3.2)
    axes.hist(errors_s, bins=np.arange(-half_window_s, half_window_s + 1.0, 1.0), color="tab:blue", edgecolor="white")
    axes.axvline(0, color="0.3", linewidth=1)
    axes.set_xlabel("feedback time, predicted - reference (s)")
    axes.set_ylabel("matched feedback (count)")
    axes.set_title(f"Timing of matched feedback (n = {len(errors_s)})")
    return _png(figure)


def per_type_plot(scores: pl.DataFrame, metric: str = "mistake_f1") -> bytes:
    """Bars of one metric per mistake type and experiment with 95 % intervals, from a ``scores`` table of one protocol. PNG."""
    chosen = scores.filter((pl.col("metric") == metric) & pl.col("group").is_in([t.value for t in MistakeType]))
    experiments = chosen["experiment"].unique(maintain_order=True).to_list()
    types = [t.value for t in MistakeType if t.value in set(chosen["group"])]
    figure, axes = _figure(7.2, 3.6)
    width = 0.8 / max(len(experiments), 1)
    for place, experiment in enumerate(experiments):
        rows = {row["group"]: row for row in chosen.filter(pl.col("experiment") == experiment).iter_rows(named=True)}
        at = [i + (place - (len(experiments) - 1) / 2) * width for i, name in enumerate(types) if name in rows]
        own = [rows[name] for name in types if name in rows]
        values = [row["value"] or 0.0 for row in own]
        errors = [
            [max(v - (row["low"] if row["low"] is not None else v), 0.0) for v, row in zip(values, own, strict=True)],
            [max((row["high"] if row["high"] is not None else v) - v, 0.0) for v, row in zip(values, own, strict=True)],
        ]
        axes.bar(at, values, width * 0.95, yerr=errors, capsize=2, label=experiment)
    counts = {row["group"]: row["n"] for row in chosen.iter_rows(named=True)}
    axes.set_xticks(range(len(types)), [f"{name}\nn = {counts[name]}" for name in types])
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("mistake type")
    axes.set_ylabel(f"{metric} (0..1)")
    if experiments:
        axes.legend(fontsize="small")
    return _png(figure)


def timeline_plot(benchmark_steps: pl.DataFrame, benchmark_messages: pl.DataFrame, predictions: pl.DataFrame, recording_id: str) -> bytes:
    """Reference messages and what each experiment said on one recording, one lane each, steps as bands. PNG."""
    steps = benchmark_steps.filter(pl.col("recording_id") == recording_id).sort("position")
    units = steps["unit_id"].to_list()
    lanes: list[tuple[str, pl.DataFrame]] = [("reference", benchmark_messages.filter(pl.col("unit_id").is_in(units)))]
    own = predictions.filter((pl.col("recording_id") == recording_id) & pl.col("t_s").is_not_null())
    lanes += [(str(name), run) for (name,), run in own.partition_by("experiment", as_dict=True, maintain_order=True).items()]
    figure, axes = _figure(10.0, 1.2 + 0.5 * len(lanes))
    for index, step in enumerate(steps.iter_rows(named=True)):
        axes.axvspan(step["start_s"], step["end_s"], color="0.95" if index % 2 else "0.88", zorder=0)
    for kind, colour in _COLOURS.items():
        points = [(t, place) for place, (_, frame) in enumerate(lanes) for t in frame.filter(pl.col("kind") == kind.value)["t_s"].to_list()]
        if points:
            times, places = zip(*points, strict=True)
            axes.scatter(times, places, marker="o" if kind == MessageKind.SUCCESS else "v", color=colour, s=36, label=kind.value, zorder=2)
    axes.set_yticks(range(len(lanes)), [name for name, _ in lanes])
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.set_xlabel("time in the recording (s)")
    axes.set_title(recording_id)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", fontsize="small", ncols=3)
    return _png(figure)


def _figure(width: float, height: float) -> tuple["Figure", Any]:
    from matplotlib.figure import Figure  # without pyplot: no global state, safe in threads

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _png(figure: "Figure") -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
