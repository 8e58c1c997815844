"""The report on EGO-CoMist: one HTML page, and the most of it as asset metadata."""

from typing import TYPE_CHECKING

import dagster as dg
import polars as pl

from assets.accuracy import known_errors
from assets.metadata import jpeg_metadata, number, png_metadata, preview_markdown
from assets.style import COUNTERFACTUALS as GROUP
from assets.style import OWNERS, SINGLE_TAGS
from ml.settings import Settings
from ml.tables.store import TableStore
from resources.settings import PlatformSettings
from resources.tables import Tables

if TYPE_CHECKING:
    from ml.comist.report_page import ReportInputs


def comist_report_assets() -> list[dg.AssetsDefinition]:
    @dg.asset(
        group_name=GROUP,
        deps=["ego_comist", "comist_candidates", "feedback_timestamps", "validity_review", "recordings"],
        kinds={"polars", "html"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
    )
    def comist_report(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Pairs beside the published counts, rejections, verdicts, costs, timestamp errors, ten previews: one HTML page."""
        from ml.comist.previews import thumbnails
        from ml.comist.report import counts_figure, published_table, rejections_table, types_table
        from ml.comist.report_page import errors_table, valid_table, write_report
        from ml.validity.figures import review_errors_figure

        inputs = report_inputs(tables.store, settings.values)
        path = write_report(settings.values.data / "reports" / "ego_comist.html", inputs)
        kept = inputs.ego_comist
        told: dict[str, dg.MetadataValue | int | float | str] = {
            "page": dg.MetadataValue.path(str(path)),
            "pairs": kept.height,
            "candidates": inputs.candidates.height,
            "spent on model calls (USD)": number(float(inputs.spent["money_usd"].sum())),
            "pairs by source": dg.MetadataValue.md(preview_markdown(published_table(kept, inputs.kinds), rows=20)),
            "pairs by type": dg.MetadataValue.md(preview_markdown(types_table(kept))),
            "plot": png_metadata(counts_figure(kept, inputs.kinds)),
            "what became of the candidates": dg.MetadataValue.md(
                preview_markdown(rejections_table(inputs.candidates, inputs.rejected), rows=30)
            ),
            "timestamp errors": dg.MetadataValue.md(preview_markdown(errors_table(inputs))),
        }
        if inputs.spent.height:
            told["spent by stage"] = dg.MetadataValue.md(preview_markdown(inputs.spent, rows=20))
        if (valid := valid_table(inputs.review)).height:
            told["valid by people"] = dg.MetadataValue.md(preview_markdown(valid))
        for title, errors in (("against truth", inputs.truth_errors), ("against people", inputs.people_errors)):
            if errors:
                told[f"timestamp errors {title}"] = png_metadata(review_errors_figure(errors, title))
        if inputs.previews:
            pairs = pl.DataFrame([{"no.": n} | preview.pair for n, preview in enumerate(inputs.previews, start=1)])
            texts = pairs.select("no.", "mistake_type", "instruction", "counterfactual_instruction", "feedback")
            told["previews"] = jpeg_metadata(thumbnails(inputs.previews), "frames at the feedback moment")
            told["previewed pairs"] = dg.MetadataValue.md(preview_markdown(texts))
        return dg.MaterializeResult(metadata=told)

    return [comist_report]


def report_inputs(store: TableStore, settings: Settings) -> "ReportInputs":
    """All that the report shows, read from the tables, the reply cache and the videos of ten pairs."""
    from ml.comist.previews import choose_previews, make_previews
    from ml.comist.report_page import ReportInputs
    from ml.llm.prices import own_prices
    from ml.llm.spending import spent
    from ml.validity.agreement import counted_answers

    kept = store.read("ego_comist")
    known = known_errors(store, settings, kept["recording_id"].unique().to_list())
    people = counted_answers(store.read("validity_sample"), store.read("validity_answers"))["error_s"].drop_nulls()
    return ReportInputs(
        candidates=store.read("comist_candidates"),
        rejected=store.read("comist_rejections"),
        ego_comist=kept,
        review=store.read("validity_review"),
        spent=spent(settings.data / "llm_cache" / "replies.sqlite", own_prices(settings.llm.prices)),
        truth_errors=[] if known is None else known.join(kept, on="pair_id", how="semi")["error_s"].to_list(),
        people_errors=people.to_list(),
        kinds={name: str(source.kind) for name, source in settings.sources.items()},
        previews=make_previews(choose_previews(kept, store.scan("recordings").collect())),
    )
