"""Figures of people's answers as PNG bytes. Numbers come from ``agreement``."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Final

from ml.benchmarks.plots import timestamp_error_shares

PUBLISHED_ERROR_SHARES: Final[Mapping[str, float]] = {
    "(-inf, -10]": 0.095,
    "(-10, -7.5]": 0.012,
    "(-7.5, -5]": 0.024,
    "(-5, -2.5]": 0.040,
    "(-2.5, 2.5)": 0.650,
    "[2.5, 5)": 0.057,
    "[5, 7.5)": 0.036,
    "[7.5, 10)": 0.031,
    "[10, inf)": 0.055,
}
"""Shares of inferred minus annotated feedback time, in s: figure 5 of EGO-CoMist (arXiv 2606.09547)."""


def review_errors_figure(errors_s: Sequence[float], label: str = "by reviewers here") -> bytes:
    """Shares of timestamp errors in the bins of the study, beside the study's own. PNG."""
    from matplotlib.figure import Figure  # without pyplot: no global state, safe in threads

    shares = timestamp_error_shares(errors_s)
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for offset, values, colour, name in (
        (-0.2, [100 * share for share in shares.values()], "#4878a8", f"{label} (n = {len(errors_s)})"),
        (0.2, [100 * PUBLISHED_ERROR_SHARES[key] for key in shares], "#c8c8c8", "published study"),
    ):
        bars = axes.barh([place + offset for place in range(len(shares))], values, height=0.38, color=colour, label=name)
        axes.bar_label(bars, fmt="%.1f %%", padding=2, fontsize=8)
    axes.set_yticks(range(len(shares)), list(shares))
    axes.invert_yaxis()
    axes.margins(x=0.16)
    axes.set_xlabel("share of timestamps (%)")
    axes.set_ylabel("error, inferred - true or marked (s)")
    figure.legend(fontsize=8, loc="outside upper right", ncols=2)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
