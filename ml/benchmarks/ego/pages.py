"""What a report shows of an EGO run beside its figures: charts, timelines, feedback to read."""

import polars as pl

from ml.benchmarks.data import BenchmarkData
from ml.benchmarks.ego.options import EgoOptions
from ml.benchmarks.ego.pairs import matched_feedback
from ml.benchmarks.plots import per_group_plot, timing_error_plot
from ml.benchmarks.report import Chart, SampleTable
from ml.benchmarks.timelines import Lane, Point, Timeline, timeline_svg
from ml.vocabulary import MistakeType

SHOWN_PAIRS = 25


def pages(
    data: BenchmarkData, predictions: pl.DataFrame, scores: pl.DataFrame, options: EgoOptions, timelines: int
) -> tuple[list[Chart], list[Chart], list[SampleTable]]:
    """Charts, timelines of the first recordings with predictions, matched feedback side by side."""
    steps, messages = data["benchmark_steps"], data["benchmark_messages"]
    pairs = matched_feedback(steps, messages, predictions, options)
    errors = (pairs["prediction_t_s"] - pairs["reference_t_s"]).to_list()
    charts = []
    if set(scores["group"]) & set(MistakeType):
        charts += [
            Chart("Mistake F1 per type", per_group_plot(scores, "mistake_f1")),
            Chart("Mistake recall per type", per_group_plot(scores, "mistake_recall")),
        ]
    charts.append(Chart("Timing of matched feedback", timing_error_plot(errors, options.half_window_s)))
    said = predictions.filter(pl.col("kind").is_not_null())
    shown = [name for name in data.recordings if name in set(predictions["recording_id"])][:timelines]
    lines = [Chart(name, svg=timeline_svg(_timeline(name, steps, messages, said, pairs))) for name in shown]
    rows = tuple(
        (
            f"{row['recording_id']} {row['reference_t_s']:.1f}\u00a0s",
            f"{row['prediction_t_s'] - row['reference_t_s']:+.1f} s",
            row["reference_text"] or "",
            row["prediction_text"] or "",
        )
        for row in pairs.head(SHOWN_PAIRS).iter_rows(named=True)
    )
    header = ("where", "off by", "reference", "said")
    return charts, lines, [SampleTable(f"Matched feedback, first {len(rows)} of {pairs.height}", header, rows)] if rows else []


def _timeline(recording_id: str, steps: pl.DataFrame, messages: pl.DataFrame, said: pl.DataFrame, pairs: pl.DataFrame) -> Timeline:
    own_steps = steps.filter(pl.col("recording_id") == recording_id).sort("position")
    references = messages.join(own_steps.select("unit_id"), on="unit_id", how="semi")
    own = said.filter(pl.col("recording_id") == recording_id)
    links = pairs.filter(pl.col("recording_id") == recording_id).select("reference_t_s", "prediction_t_s").rows()
    bands = own_steps.select("start_s", "end_s", "instruction").rows()
    name = str(own["experiment"][0]) if own.height else "prediction"
    return Timeline(recording_id, (_lane("reference", references), _lane(name, own)), tuple(bands), tuple(links))


def _lane(name: str, rows: pl.DataFrame) -> Lane:
    return Lane(name, tuple(Point(t_s, kind, text or "") for t_s, kind, text in rows.select("t_s", "kind", "text").rows()))
