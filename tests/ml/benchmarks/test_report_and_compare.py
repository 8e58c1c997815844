"""Reports and the comparison of two runs."""

import json

import polars as pl
import pytest
from rich.console import Console

from ml.benchmarks.assistants.floors import ego_floors
from ml.benchmarks.assistants.interface import ticks
from ml.benchmarks.compare import compare_runs
from ml.benchmarks.ego.options import EgoOptions
from ml.benchmarks.ego.scores import score_ego
from ml.benchmarks.protocols import run_per_step
from ml.benchmarks.report import ego_plots, terminal_table, write_html, write_json
from ml.errors import InputError
from ml.tables.declared import BENCHMARK_MESSAGES, BENCHMARK_STEPS


@pytest.fixture
def benchmark():
    steps: list[dict[str, object]] = []
    messages: list[dict[str, object]] = []
    for recording in range(6):
        for position in range(3):
            unit, start = f"demo/{recording}/{position}", 25.0 * position
            mistake = "timing" if position == 1 else None
            at = {"benchmark": "demo", "unit_id": unit}
            steps.append(
                {
                    **at,
                    "recording_id": f"demo/{recording}",
                    "position": position,
                    "start_s": start,
                    "end_s": start + 25,
                    "instruction": "stir <b>well</b>",
                    "mistake_type": mistake,
                }
            )
            kind = "feedback" if mistake else "success"
            messages.append({**at, "message_index": 0, "t_s": start + 20, "kind": kind, "text": "stop", "mistake_type": mistake})
    return BENCHMARK_STEPS.rows(steps), BENCHMARK_MESSAGES.rows(messages)


@pytest.fixture
def runs(benchmark):
    return {
        name: run_per_step(factory, benchmark[0], ticks(), experiment=name, protocol="demo.per_step")
        for name, factory in ego_floors(20.0).items()
    }


def test_report_files_and_table(tmp_path, benchmark, runs):
    steps, messages = benchmark
    predictions = pl.concat([runs["floor_silent"], runs["floor_alert_every_10s"].with_columns(experiment=pl.lit("<script>"))])
    scores = score_ego(steps, messages, predictions)
    plots = ego_plots(steps, messages, predictions, scores, EgoOptions(), recordings=2)
    page = write_html(tmp_path / "report.html", "Demo & more", scores, plots).read_text()
    assert len(plots) == 4
    assert page.count("data:image/png;base64,") == 4
    assert "<script>" not in page
    assert "Demo &amp; more" in page
    written = json.loads(write_json(tmp_path / "scores.json", scores).read_text())
    assert {run["experiment"] for run in written} == {"floor_silent", "<script>"}
    assert all("options_hash" in row for run in written for row in run["rows"])
    console = Console(width=240, record=True)
    console.print(terminal_table(scores))
    assert "mistake_f1" in console.export_text()


def test_comparison_of_a_run_with_itself_is_zero(benchmark, runs):
    steps, messages = benchmark
    same = compare_runs(steps, messages, runs["floor_alert_every_10s"], runs["floor_alert_every_10s"], EgoOptions())
    assert set(same["difference"].drop_nulls()) == {0.0}
    assert set(same["low"].drop_nulls()) == set(same["high"].drop_nulls()) == {0.0}
    assert same["wins"].sum() == same["losses"].sum() == 0


def test_comparison_finds_the_better_run_and_is_antisymmetric(benchmark, runs):
    steps, messages = benchmark
    ab = compare_runs(steps, messages, runs["floor_alert_every_10s"], runs["floor_silent"], EgoOptions())
    ba = compare_runs(steps, messages, runs["floor_silent"], runs["floor_alert_every_10s"], EgoOptions())
    f1 = ab.row(by_predicate=pl.col("metric") == "mistake_f1", named=True)
    assert f1["a"] > 0
    assert f1["b"] == 0
    assert (f1["wins"], f1["losses"], f1["ties"], f1["share_a_better"]) == (6, 0, 0, 1.0)
    recall = ba.row(by_predicate=pl.col("metric") == "mistake_recall", named=True)
    assert (recall["difference"], recall["wins"], recall["losses"]) == (-1.0, 0, 6)


def test_several_runs_at_once_cannot_be_compared(benchmark, runs):
    both = pl.concat([runs["floor_silent"], runs["floor_always_speak"]])
    with pytest.raises(InputError, match="2 runs"):
        compare_runs(benchmark[0], benchmark[1], both, runs["floor_silent"], EgoOptions())
