"""EGO-CoMist stages 1 and 2 on each recording: attributes, counterfactuals, when their feedback is due, and whether the pairs are valid."""

import dagster as dg

from assets.accuracy import timestamp_errors_metadata
from assets.llm_stages import llm_asset
from assets.style import COUNTERFACTUALS as GROUP


def counterfactual_assets() -> list[dg.AssetsDefinition]:
    """The two stages and the independent check of what they made."""
    attributes = llm_asset(
        "attributes",
        group=GROUP,
        deps=["steps"],
        description="What each clean step says about the five mistake types: quantity, method, technique, heat setting, time.",
    )
    counterfactuals = llm_asset(
        "counterfactuals",
        group=GROUP,
        deps=[attributes],
        description="For each attribute and direction the changed attribute, the changed instruction and the feedback for it.",
    )
    feedback_timestamps = llm_asset(
        "feedback_timestamps",
        group=GROUP,
        deps=[counterfactuals, "narrations", "steps"],
        description="The moment at which each counterfactual mistake becomes apparent, chosen from the clip's narrations.",
        tell=timestamp_errors_metadata,
    )
    validity_check = llm_asset(
        "validity_check",
        group=GROUP,
        deps=[feedback_timestamps, counterfactuals, "narrations"],
        description="An independent check of each dated pair: different from what the person does, feasible, of its mistake type.",
    )
    return [attributes, counterfactuals, feedback_timestamps, validity_check]
