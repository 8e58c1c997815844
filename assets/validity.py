"""People's verdicts on EGO-CoMist: the sample that they are asked about, their answers, and what these say."""

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, Fingerprints
from assets.metadata import number, png_metadata, preview_markdown
from assets.style import COUNTERFACTUALS as GROUP
from assets.style import OWNERS, SINGLE_TAGS
from resources.settings import PlatformSettings
from resources.tables import Tables

HOW = "`interject review` opens the review page."


def validity_assets() -> list[dg.AssetsDefinition]:
    @dg.asset(
        group_name=GROUP, kinds={"sqlite", "parquet"}, owners=OWNERS, tags=SINGLE_TAGS, code_version=CODE_VERSIONS["validity_answers"]
    )
    def validity_answers(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """What people have answered on the review page, the latest of each person for each pair."""
        from ml.validity.answers import AnswerLog

        values, store = settings.values, tables.store
        made = Fingerprints(store, values).validity_answers()
        answers = AnswerLog(values.review_log).frame()
        store.write("validity_answers", answers, made_from=made)
        by_person = answers.group_by("reviewer").agg(pl.len().alias("answered"), pl.col("is_complete").sum().alias("complete"))
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": answers.height,
                "complete": int(answers["is_complete"].sum()),
                "reviewers": dg.MetadataValue.md(preview_markdown(by_person.sort("reviewer"), rows=20) if answers.height else HOW),
                "file": dg.MetadataValue.path(str(values.review_log)),
            }
        )

    @dg.asset(
        group_name=GROUP,
        deps=["ego_comist", "comist_candidates", "recordings"],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["validity_sample"],
    )
    def validity_sample(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Pairs that people are asked about: stratified by source, mistake type and direction, the same for the same seed."""
        from ml.comist.selection import Rejection
        from ml.validity.sample import STRATA, draw_sample

        values, store = settings.values, tables.store
        made = Fingerprints(store, values).validity_sample()
        # pairs that people refused stay in the sample: without them the share of valid pairs would only ever rise
        refused = store.read("comist_rejections").filter(pl.col("rejection") == Rejection.REFUSED_BY_PEOPLE)
        wanted = pl.concat([store.read("ego_comist").select("pair_id"), refused.select("pair_id")])
        pairs = store.read("comist_candidates").join(wanted, on="pair_id", how="semi")
        sample = draw_sample(pairs, store.scan("recordings").collect(), values.review.size, values.review.seed)
        store.write("validity_sample", sample, made_from=made)
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": sample.height,
                "pairs": pairs.height,
                "by stratum": dg.MetadataValue.md(preview_markdown(sample.group_by(*STRATA).len("pairs").sort(*STRATA), rows=40)),
                "review": dg.MetadataValue.md(HOW),
            }
        )

    @dg.asset(
        group_name=GROUP,
        deps=[validity_sample, validity_answers, "validity_check"],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["validity_review"],
    )
    def validity_review(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Share of valid pairs, agreement between people and with the check, errors of feedback timestamps by people's marks."""
        from ml.validity.agreement import counted_answers, sum_up
        from ml.validity.figures import review_errors_figure
        from ml.validity.questions import PUBLISHED_VALID_SHARE

        store = tables.store
        sample, answers = store.read("validity_sample"), store.read("validity_answers")
        review = sum_up(sample, answers, store.scan("validity_check").collect())
        store.write("validity_review", review, made_from=Fingerprints(store, settings.values).validity_review())
        counted = counted_answers(sample, answers)
        errors = counted["error_s"].drop_nulls().to_list()
        whole = review.filter((pl.col("measure") == "valid_share") & (pl.col("question") == "valid") & (pl.col("group") == "all"))
        told: dict[str, dg.MetadataValue | int | float | str] = {
            "sample": sample.height,
            "complete answers": counted.height,
            "reviewers": counted["reviewer"].n_unique(),
            "pairs answered": counted["pair_id"].n_unique(),
            "valid share": number(whole["value"][0]),
            "valid share, published": PUBLISHED_VALID_SHARE,
        }
        if counted.height:
            shown = review.filter((pl.col("n") > 0) & (pl.col("measure") != "timestamp_error_share"))
            told["shares and agreement"] = dg.MetadataValue.md(preview_markdown(shown, rows=60))
        else:
            told["answers"] = dg.MetadataValue.md(f"None yet. {HOW}")
        if errors:
            told["timestamp errors"] = png_metadata(review_errors_figure(errors), "timestamp errors")
        return dg.MaterializeResult(metadata=told)

    return [validity_answers, validity_sample, validity_review]
