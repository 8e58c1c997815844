"""The similarities that filters use, drawn with the thresholds in force. Applies none of them."""

import io
from typing import Final

import polars as pl

from ml.comist.selection import SelectionSettings

SHOWN: Final = (
    ("original_similarity", "too_close", "to its original"),
    ("duplicate_similarity", "near_duplicate", "to the earlier pair it is nearest to"),
    ("benchmark_similarity", "near_benchmark", "to the nearest benchmark step"),
)
BINS: Final = [i / 50 for i in range(51)]


def similarity_figure(candidates: pl.DataFrame, settings: SelectionSettings) -> bytes:
    """PNG: histograms of three cosines over the candidates that have them; a red line is the filter's threshold."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 2.8), dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (column, filter_name, title) in zip(figure.subplots(1, 3), SHOWN, strict=True):
        values = candidates[column].drop_nulls().to_list()
        axes.hist(values, bins=BINS, color="#4878a8")
        threshold = getattr(settings, filter_name)
        if threshold is not None:
            axes.axvline(threshold, color="#c42828", linewidth=1.2)
        at = "off" if threshold is None else f"from {threshold:g}"
        axes.set_title(f"{title}\nn = {len(values)}, {filter_name} {at}", fontsize=9, loc="left")
        axes.set_xlim(min([*values, 0.5]), 1.0)
        axes.set_xlabel("cosine")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("candidates")
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()
