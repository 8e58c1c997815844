"""Scores as an HTML page, JSON and a terminal table. Takes finished tables and PNG bytes; scores and plots are made elsewhere."""

import json
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ml.benchmarks.ego.options import EgoOptions
from ml.benchmarks.ego.pairs import matched_feedback
from ml.benchmarks.ego.scores import ALL
from ml.benchmarks.plots import per_type_plot, timeline_plot, timing_error_plot

if TYPE_CHECKING:
    from rich.table import Table

HEADLINES = (
    "ic_acc",
    "mistake_precision",
    "mistake_recall",
    "mistake_f1",
    "rouge_l",
    "false_success",
    "false_alarms_per_hour",
    "ic_acc_3s",
    "mistake_f1_3s",
    "soft_precision",
    "soft_recall",
    "soft_f1",
    "score_m",
    "score",
    "type_acc",
    "corr_acc",
    "full_pass",
    "mpc_f1",
    "macro_f1",
)
Plot = tuple[str, bytes]
"""Caption and PNG."""


def figure(value: float | None) -> str:
    """A number as the reports show it: three significant places below 10, one decimal above; a dash for no data."""
    if value is None:
        return "–"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def ego_plots(
    benchmark_steps: pl.DataFrame,
    benchmark_messages: pl.DataFrame,
    predictions: pl.DataFrame,
    scores: pl.DataFrame,
    options: EgoOptions,
    recordings: int = 4,
) -> list[Plot]:
    """Plots of EGO runs: per type and timing error for each protocol, and the timelines of the first ``recordings`` recordings."""
    plots: list[Plot] = []
    for (protocol,), part in predictions.partition_by("protocol", as_dict=True, maintain_order=True).items():
        pairs = matched_feedback(benchmark_steps, benchmark_messages, part, options)
        errors = (pairs["prediction_t_s"] - pairs["reference_t_s"]).to_list()
        plots.append((f"Mistake F1 per type, {protocol}", per_type_plot(scores.filter(pl.col("protocol") == protocol))))
        plots.append((f"Timing of matched feedback, {protocol}", timing_error_plot(errors, options.half_window_s)))
        for recording_id in benchmark_steps["recording_id"].unique().sort()[:recordings]:
            plots.append((f"{recording_id}, {protocol}", timeline_plot(benchmark_steps, benchmark_messages, part, recording_id)))
    return plots


def write_html(path: Path, title: str, scores: pl.DataFrame, plots: Sequence[Plot] = ()) -> Path:
    """One page that holds everything, pictures too. Texts are escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["figure"] = figure
    source = files("ml.benchmarks.templates").joinpath("report.html.j2").read_text(encoding="utf-8")
    shown = [{"caption": caption, "data": b64encode(data).decode()} for caption, data in plots]
    page = environment.from_string(source).render(
        title=title, options_hash=", ".join(scores["options_hash"].unique().sort()), runs=_runs(scores), plots=shown
    )
    path.write_text(page, encoding="utf-8")
    return path


def write_json(path: Path, scores: pl.DataFrame) -> Path:
    """The scores table as JSON: a list of runs, each with its metrics."""
    path.write_text(json.dumps(_runs(scores), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def terminal_table(scores: pl.DataFrame) -> "Table":
    """A rich table: runs in rows, headline metrics of the whole benchmark in columns."""
    from rich.table import Table

    whole = scores.filter(pl.col("group") == ALL)
    present = [name for name in HEADLINES if name in set(whole["metric"])]
    table = Table()
    table.add_column("experiment")
    table.add_column("protocol")
    for name in present:
        table.add_column(name, justify="right")
    table.add_column("missing", justify="right")
    for run in _runs(whole):
        values = {row["metric"]: row["value"] for row in run["rows"]}
        missing = max((row["n_missing"] for row in run["rows"]), default=0)
        table.add_row(run["experiment"], run["protocol"], *(figure(values.get(name)) for name in present), str(missing))
    return table


def _runs(scores: pl.DataFrame) -> list[dict[str, Any]]:
    runs = []
    for (experiment, protocol), part in scores.partition_by("experiment", "protocol", as_dict=True, maintain_order=True).items():
        rows = part.select("metric", "group", "value", "low", "high", "n", "n_missing", "options_hash").to_dicts()
        runs.append({"experiment": experiment, "protocol": protocol, "rows": rows})
    return runs
