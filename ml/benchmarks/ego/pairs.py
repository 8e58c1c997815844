"""Which predicted feedback was matched with which reference, as a frame for plots and reading. Scores are computed beside."""

import polars as pl

from ml.benchmarks.ego.mistakes import unit_outcome
from ml.benchmarks.ego.options import EgoOptions
from ml.benchmarks.ego.units import scored_units

SCHEMA = pl.Schema(
    {
        "experiment": pl.String(),
        "protocol": pl.String(),
        "recording_id": pl.String(),
        "unit_id": pl.String(),
        "mistake_type": pl.String(),
        "reference_t_s": pl.Float64(),
        "prediction_t_s": pl.Float64(),
        "reference_text": pl.String(),
        "prediction_text": pl.String(),
    }
)


def matched_feedback(
    benchmark_steps: pl.DataFrame, benchmark_messages: pl.DataFrame, predictions: pl.DataFrame, options: EgoOptions
) -> pl.DataFrame:
    """One row per matched pair within a step; the timing error is ``prediction_t_s - reference_t_s``."""
    rows: list[tuple[object, ...]] = []
    for (experiment, protocol), run in predictions.partition_by("experiment", "protocol", as_dict=True, maintain_order=True).items():
        for unit in scored_units(benchmark_steps, benchmark_messages, run, str(protocol), options):
            for r, p in unit_outcome(unit.mistakes, options).pairs:
                truth, said = unit.mistakes.references[r], unit.mistakes.predictions[p]
                place = (experiment, protocol, unit.mistakes.recording_id, unit.mistakes.unit_id, unit.reference_types[r] or None)
                rows.append((*place, truth.t_s, said.t_s + options.delay_s, truth.text, said.text))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
