"""Stage 1 and 2 of EGO-CoMist against the sample kitchen's truth: are windows named rightly, is feedback due when the rules say.

Only the sample kitchen has such a truth. For real sources people's verdicts take its place.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ml.benchmarks.kitchen_steps import LAYOUT
from ml.errors import InputError

CLOSE_S, FAR_S = 2.5, 10.0
START_TOLERANCE_S = 0.1


@dataclass(frozen=True)
class NarrationAccuracy:
    """Windows of evaluation recordings in which something happens, and the shares named and named exactly."""

    windows: int
    named: float
    exact: float
    by_action: pl.DataFrame


def narration_accuracy(kitchen: Path, narrations: pl.DataFrame, source: str, splits: tuple[str, ...]) -> NarrationAccuracy:
    """Compare ``narrations`` rows of ``source`` with the script, over recordings whose kitchen split is among ``splits``.

    The main action is what fills most of the window; it is named where any sentence says verb and object, exact where number, tool or
    level are right too. A failed window counts as not named.
    """
    from ml.sample_kitchen.kitchen import read_manifest
    from ml.sample_kitchen.plan import plan
    from ml.sample_kitchen.truth import window_narration
    from ml.streaming.narration_quality import judge

    manifest = read_manifest(kitchen)
    scripts = {
        f"{source}/{entry.native_id}": entry.recording
        for entry in plan(manifest.sizes, manifest.seed)
        if entry.source == LAYOUT and entry.split in splits
    }
    rows = []
    for window in narrations.filter(pl.col("recording_id").is_in(list(scripts))).iter_rows(named=True):
        truth = window_narration(scripts[window["recording_id"]], window["start_s"], window["end_s"])
        if truth.main is not None:
            rows.append((truth.main.verb, *judge(window["text"] or "", truth)))
    judged = pl.DataFrame(rows, schema={"action": pl.String, "named": pl.Boolean, "exact": pl.Boolean}, orient="row")
    by_action = judged.group_by("action").agg(pl.len().alias("windows"), pl.col("named").mean(), pl.col("exact").mean()).sort("action")
    mean = judged.select(pl.col("named").mean(), pl.col("exact").mean()).row(0) if judged.height else (0.0, 0.0)
    return NarrationAccuracy(judged.height, float(mean[0]), float(mean[1]), by_action)


def timestamp_errors(truth: Path, counterfactuals: pl.DataFrame, timestamps: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Inferred minus true feedback time of each dated pair that the truth log knows.

    Columns: pair_id, recording_id, mistake_type, direction, t_s, apparent_s, error_s. A pair is looked up by step and changed value, else
    by step and direction where every alternative becomes apparent at the same moment; what is found neither way is left out.
    Raises ``InputError`` where the truth log is absent.
    """
    if not (truth / "counterfactuals.parquet").exists():
        raise InputError("the truth log is absent", file=truth / "counterfactuals.parquet", remedy="Materialize sample_kitchen")
    known = pl.read_parquet(truth / "counterfactuals.parquet").filter((pl.col("source") == LAYOUT) & pl.col("apparent_s").is_not_null())
    scripted = pl.read_parquet(truth / "steps.parquet").filter(pl.col("source") == LAYOUT)
    place = scripted.select("native_id", "step_index", pl.col("start_s").alias("script_start_s"))
    dated = (
        timestamps.filter(pl.col("t_s").is_not_null())
        .join(counterfactuals.select("pair_id", "counterfactual_instruction"), on="pair_id")
        .join(steps.select("recording_id", "step_uid", "start_s"), on=["recording_id", "step_uid"])
        .with_columns(pl.col("recording_id").str.split("/").list.last().alias("native_id"))
        .join(place, on="native_id")
        .filter((pl.col("start_s") - pl.col("script_start_s")).abs() < START_TOLERANCE_S)
        .with_columns(_value(pl.col("counterfactual_instruction")).alias("value"))
    )
    keys = ["native_id", "step_index", "mistake_type", "direction"]
    by_value = known.with_columns(_value(pl.col("counterfactual_instruction")).alias("value")).unique([*keys, "value"])
    alone = (
        known.group_by(keys)
        .agg(pl.col("apparent_s").min().alias("only_s"), pl.col("apparent_s").n_unique().alias("moments"))
        .filter(pl.col("moments") == 1)
    )
    found = (
        dated.join(by_value.select(*keys, "value", "apparent_s"), on=[*keys, "value"], how="left")
        .join(alone.select(*keys, "only_s"), on=keys, how="left")
        .with_columns(pl.coalesce("apparent_s", "only_s").alias("apparent_s"))
        .filter(pl.col("apparent_s").is_not_null())
    )
    return found.select(
        "pair_id", "recording_id", "mistake_type", "direction", "t_s", "apparent_s", (pl.col("t_s") - pl.col("apparent_s")).alias("error_s")
    ).sort("pair_id")


def error_shares(errors: pl.DataFrame) -> dict[str, float]:
    """Share of errors within 2.5 s and of 10 s or more, over all pairs."""
    if not errors.height:
        return {"within_2.5_s": 0.0, "10_s_or_more": 0.0}
    size = errors["error_s"].abs()
    return {"within_2.5_s": int((size <= CLOSE_S).sum()) / len(size), "10_s_or_more": int((size >= FAR_S).sum()) / len(size)}


def _value(instruction: pl.Expr) -> pl.Expr:
    """The first number of an instruction, else its words: what tells one alternative from another."""
    lowered = instruction.str.to_lowercase().str.strip_chars(" .")
    return pl.coalesce(lowered.str.extract(re.compile(r"(\d+)").pattern), lowered)
