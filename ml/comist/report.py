"""Counts of EGO-CoMist beside the published ones, rejections, and their plot. The page that shows them is ``report_page``."""

import io
from collections.abc import Mapping

import polars as pl

from ml.counterfactuals.registry import DIRECTIONS
from ml.validity.questions import QUESTIONS
from ml.vocabulary import MistakeType

# Instruction-feedback pairs by source dataset: EGO-MC-Bench paper, section 4.3.
PUBLISHED: Mapping[str, int] = {"captaincook4d": 4_969, "ego4d_goalstep": 13_847, "egoexo4d": 6_271}
# Mistakes of EGO-MC-Bench by type: its figure 3. The paper gives no counts of EGO-CoMist by type.
MISTAKE_SHARES: Mapping[MistakeType, float] = {
    MistakeType.TECHNIQUE: 0.361,
    MistakeType.PREPARATION: 0.239,
    MistakeType.MEASUREMENT: 0.188,
    MistakeType.TEMPERATURE: 0.119,
    MistakeType.TIMING: 0.093,
}


def counts_table(ego_comist: pl.DataFrame) -> pl.DataFrame:
    """Pairs by source, mistake type and direction; columns source, mistake_type, direction, pairs, largest first within a source."""
    return (
        ego_comist.group_by("source", "mistake_type", "direction")
        .len("pairs")
        .sort(["source", "pairs", "mistake_type", "direction"], descending=[False, True, False, False])
    )


def published_table(ego_comist: pl.DataFrame, kinds: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Pairs by source beside the published number: columns source, pairs, published (null where the paper has no such source).

    ``kinds``: kind of each source that is a published dataset, by its name in the settings; by default a source is named as its kind.
    The last row sums up.
    """
    here = dict(ego_comist.group_by("source").len().iter_rows())
    kind_of = dict(kinds) if kinds is not None else {name: name for name in PUBLISHED}
    absent = [kind for kind in PUBLISHED if kind not in {kind_of.get(source) for source in here}]
    rows = [(source, pairs, PUBLISHED.get(kind_of.get(source, ""))) for source, pairs in here.items()]
    rows = sorted([*rows, *((kind, 0, PUBLISHED[kind]) for kind in absent)])
    total = ("all", sum(here.values()), sum(PUBLISHED.values()))
    return pl.DataFrame([*rows, total], schema={"source": pl.String, "pairs": pl.Int64, "published": pl.Int64}, orient="row")


def types_table(ego_comist: pl.DataFrame) -> pl.DataFrame:
    """Pairs by mistake type: columns mistake_type, pairs, share, and the type's share among the mistakes of EGO-MC-Bench."""
    here = dict(ego_comist.group_by("mistake_type").len().iter_rows())
    rows = [(kind, here.get(kind, 0), here.get(kind, 0) / max(ego_comist.height, 1), MISTAKE_SHARES.get(kind)) for kind in MistakeType]
    schema = {"mistake_type": pl.String(), "pairs": pl.Int64(), "share": pl.Float64(), "share in EGO-MC-Bench": pl.Float64()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def rejections_table(candidates: pl.DataFrame, rejected: pl.DataFrame) -> pl.DataFrame:
    """What became of all candidates: columns rejection (``kept`` for none), status, pairs; most frequent first."""
    reasons = rejected.select("pair_id", "rejection")
    return (
        candidates.join(reasons, on="pair_id", how="left")
        .with_columns(pl.col("rejection").fill_null("kept"))
        .group_by("rejection", "status")
        .len("pairs")
        .sort(["pairs", "rejection", "status"], descending=[True, False, False])
    )


def checked_table(candidates: pl.DataFrame) -> pl.DataFrame:
    """What the independent check said of the dated candidates: columns question, yes, no, open."""
    dated = candidates.filter(pl.col("t_s").is_not_null())
    rows = []
    for question in QUESTIONS:
        said = dated[f"check_{question}"]
        rows.append((question, int(said.sum() or 0), int((~said).sum() or 0), said.null_count()))
    schema = {"question": pl.String(), "yes": pl.Int64(), "no": pl.Int64(), "open": pl.Int64()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def counts_figure(ego_comist: pl.DataFrame, kinds: Mapping[str, str] | None = None) -> bytes:
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
    table = published_table(ego_comist, kinds)[:-1]
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
