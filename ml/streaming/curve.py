"""The picture of a fine-tuning run."""

from collections.abc import Iterable, Mapping
from io import BytesIO


def loss_curve_png(rows: Iterable[Mapping[str, object]], title: str = "Fine-tuning") -> bytes:
    """PNG of every ``*loss`` metric over optimizer steps. ``rows``: mappings with ``step``, ``metric``, ``value``, as in the tuning log."""
    import matplotlib.figure

    series: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if str(row["metric"]).endswith("loss"):
            series.setdefault(str(row["metric"]), []).append((int(str(row["step"])), float(str(row["value"]))))
    figure = matplotlib.figure.Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, points in sorted(series.items()):
        points.sort()
        axes.plot([step for step, _ in points], [value for _, value in points], label=name.replace("_", " "), linewidth=1.3)
    axes.set_xlabel("optimizer step")
    axes.set_ylabel("loss (mean over the logged steps)")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    if series:
        axes.set_yscale("log")
        axes.legend(frameon=False)
    else:
        axes.text(0.5, 0.5, "nothing logged yet", ha="center", va="center", transform=axes.transAxes)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
