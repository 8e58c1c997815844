"""Counts of EGO-CoMist beside the published ones, rejections, and their plot. Costs and people's verdicts are reported elsewhere."""

import io
from collections.abc import Mapping

import polars as pl

from ml.counterfactuals.registry import DIRECTIONS
from ml.vocabulary import MistakeType

# Instruction-feedback pairs by source dataset: EGO-MC-Bench paper, section 4.3.
PUBLISHED: Mapping[str, int] = {"captaincook4d": 4_969, "ego4d_goalstep": 13_847, "egoexo4d": 6_271}


def counts_table(ego_comist: pl.DataFrame) -> pl.DataFrame:
    """Pairs by source, mistake type and direction; columns source, mistake_type, direction, pairs, largest first within a source."""
    return (
        ego_comist.group_by("source", "mistake_type", "direction")
        .len("pairs")
        .sort(["source", "pairs", "mistake_type", "direction"], descending=[False, True, False, False])
    )


def published_table(ego_comist: pl.DataFrame) -> pl.DataFrame:
    """Pairs by source beside the published number: columns source, pairs, published (null where the paper has no such source)."""
    here = dict(ego_comist.group_by("source").len().iter_rows())
    rows = [{"source": source, "pairs": here.get(source, 0), "published": PUBLISHED.get(source)} for source in sorted({*here, *PUBLISHED})]
    return pl.DataFrame(rows, schema={"source": pl.String, "pairs": pl.Int64, "published": pl.Int64})


def rejections_table(candidates: pl.DataFrame) -> pl.DataFrame:
    """What became of all candidates: columns rejection (``kept`` for none), status, pairs; most frequent first."""
    return (
        candidates.with_columns(pl.col("rejection").fill_null("kept"))
        .group_by("rejection", "status")
        .len("pairs")
        .sort(["pairs", "rejection", "status"], descending=[True, False, False])
    )


def counts_figure(ego_comist: pl.DataFrame) -> bytes:
    """PNG: left, pairs by mistake type and direction; right, pairs by source beside the published number where there is one."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.6), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    counts = {(kind, way): n for kind, way, n in ego_comist.group_by("mistake_type", "direction").len().iter_rows()}
    labels = [(kind, way) for kind in MistakeType for way in DIRECTIONS[kind]]
    values = [counts.get((kind.value, way.value), 0) for kind, way in labels]
    bars = left.barh([f"{kind} {way}" for kind, way in labels], values, color="#4878a8")
    left.bar_label(bars, padding=2, fontsize=8)
    left.invert_yaxis()
    left.margins(x=0.15)
    left.set_xlabel("pairs")
    table = published_table(ego_comist)
    sources = table["source"].to_list()
    places = range(len(sources))
    ours = right.barh([place - 0.2 for place in places], table["pairs"].to_list(), height=0.38, color="#4878a8", label="here")
    paper = right.barh(
        [place + 0.2 for place in places], table["published"].fill_null(0).to_list(), height=0.38, color="#c8c8c8", label="published"
    )
    right.bar_label(ours, padding=2, fontsize=8)
    right.bar_label(paper, labels=["" if n is None else str(n) for n in table["published"]], padding=2, fontsize=8)
    right.set_yticks(list(places), sources)
    right.invert_yaxis()
    right.margins(x=0.2)
    right.set_xlabel("pairs")
    right.legend(fontsize=8, loc="lower right")
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()
