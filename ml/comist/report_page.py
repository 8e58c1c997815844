"""EGO-CoMist on one HTML page: counts beside the published ones, rejections, verdicts, costs, timestamp errors, previews.

Tables are made in ``ml.comist.report``, ``ml.llm.spending`` and ``ml.validity``; this module lays them out.
"""

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from ml.benchmarks.plots import timestamp_error_shares
from ml.comist.previews import Preview
from ml.comist.report import checked_table, counts_figure, counts_table, published_table, rejections_table, types_table
from ml.validity.figures import PUBLISHED_ERROR_SHARES, review_errors_figure
from ml.validity.questions import PUBLISHED_VALID_SHARE

PUBLISHED_ERRORS = "published study"


@dataclass(frozen=True)
class ReportInputs:
    """``truth_errors``: inferred minus true feedback time in s of ``ego_comist`` pairs whose truth is known; ``people_errors``: minus the
    time that people marked. ``kinds``: kind of each source that the published counts compare with.
    """

    candidates: pl.DataFrame
    rejected: pl.DataFrame
    ego_comist: pl.DataFrame
    review: pl.DataFrame
    spent: pl.DataFrame
    truth_errors: Sequence[float] = ()
    people_errors: Sequence[float] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    previews: Sequence[Preview] = ()


def errors_table(inputs: ReportInputs) -> pl.DataFrame:
    """Shares of timestamp errors by bin: columns error_s, and one each for truth and people (null without data), and the study's."""
    shares = {
        name: timestamp_error_shares(errors) if errors else None
        for name, errors in (("against truth", inputs.truth_errors), ("against people", inputs.people_errors))
    }
    return pl.DataFrame(
        [
            {"error_s": label, **{name: None if bins is None else bins[label] for name, bins in shares.items()}, PUBLISHED_ERRORS: share}
            for label, share in PUBLISHED_ERROR_SHARES.items()
        ],
        schema={"error_s": pl.String(), **dict.fromkeys([*shares, PUBLISHED_ERRORS], pl.Float64())},
    )


def valid_table(review: pl.DataFrame) -> pl.DataFrame:
    """Shares of valid pairs by people: columns question, share, low, high, pairs, published."""
    shares = review.filter((pl.col("measure") == "valid_share") & (pl.col("group") == "all") & (pl.col("n") > 0))
    published = pl.when(pl.col("question") == "valid").then(PUBLISHED_VALID_SHARE).alias("published")
    return shares.select("question", pl.col("value").alias("share"), "low", "high", pl.col("n").alias("pairs"), published)


def write_report(path: Path, inputs: ReportInputs) -> Path:
    """The page, whole: pictures lie inside. Texts are escaped. In place in one rename."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = shown
    environment.filters["image"] = lambda data: b64encode(data).decode()
    source = files("ml.comist.templates").joinpath("report.html.j2").read_text(encoding="utf-8")
    plots = [
        (title, review_errors_figure(errors, label))
        for title, errors, label in (
            ("Inferred feedback time against the truth", inputs.truth_errors, "against truth"),
            ("Inferred feedback time against people's marks", inputs.people_errors, "against people"),
        )
        if errors
    ]
    page = environment.from_string(source).render(
        kept=inputs.ego_comist.height,
        candidates=inputs.candidates.height,
        recordings=inputs.ego_comist["recording_id"].n_unique(),
        splits=dict(inputs.ego_comist.group_by("split").len().sort("split").iter_rows()),
        published=published_table(inputs.ego_comist, inputs.kinds),
        types=types_table(inputs.ego_comist),
        counts=counts_table(inputs.ego_comist),
        counts_plot=counts_figure(inputs.ego_comist, inputs.kinds),
        rejections=rejections_table(inputs.candidates, inputs.rejected),
        checked=checked_table(inputs.candidates),
        valid=valid_table(inputs.review),
        spent=inputs.spent,
        total_usd=float(inputs.spent["money_usd"].sum()),
        unpriced=inputs.spent.filter(pl.col("money_usd").is_null())["model"].unique().sort().to_list(),
        errors=errors_table(inputs),
        compared={"truth": len(inputs.truth_errors), "people": len(inputs.people_errors)},
        plots=plots,
        previews=inputs.previews,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    partial.write_text(page, encoding="utf-8")
    partial.replace(path)
    return path


def shown(value: Any) -> str:
    """A cell: whole numbers with thousands, shares and money with three places, a dash for nothing."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.3f}"
        case _:
            return str(value)
