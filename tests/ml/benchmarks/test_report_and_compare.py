"""Reports and the comparison of two runs."""

import json

import polars as pl
import pytest
from rich.console import Console

from ml.benchmarks.assistants.floors import ego_floors
from ml.benchmarks.assistants.interface import ticks
from ml.benchmarks.bootstrap import BootstrapOptions
from ml.benchmarks.compare import compare_tallies, per_cluster
from ml.benchmarks.ego.scores import score_ego, tally_ego
from ml.benchmarks.plots import per_group_plot
from ml.benchmarks.protocols import run_per_step
from ml.benchmarks.report import Chart, ReportPage, SampleTable, figure, terminal_table, write_report
from ml.benchmarks.timelines import Lane, Point, Timeline, timeline_svg
from ml.errors import InputError
from ml.tables.declarations.benchmarks import BENCHMARK_MESSAGES, BENCHMARK_STEPS


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
    picture = per_group_plot(scores, "mistake_f1")
    lanes = (Lane("reference", (Point(3.0, "feedback", "stop <b>now</b>"),)), Lane("<script>", (Point(4.0, "success", "ok"),)))
    page = ReportPage(
        "Demo & more",
        scores,
        {"half_window_s": 15.0},
        ("a note with <i>",),
        (Chart("F1 per type", png=picture),),
        (Chart("demo/1", svg=timeline_svg(Timeline("demo/1", lanes, ((0.0, 9.0, "stir"),), ((3.0, 4.0),)))),),
        (SampleTable("Answers", ("sample",), (("<u>",),)),),
    )
    json_path, html_path = write_report(tmp_path / "new", page)
    text = html_path.read_text()
    assert text.count("data:image/png;base64,") == 1
    assert text.count("<svg") == 1
    assert not any(unsafe in text for unsafe in ("<script>", "<i>", "<u>", "<b>now"))
    assert "stop &lt;b&gt;now" in text
    assert "Demo &amp; more" in text
    written = json.loads(json_path.read_text())
    assert {run["experiment"] for run in written["runs"]} == {"floor_silent", "<script>"}
    assert all("options_hash" in row and "n_judge_failed" in row for run in written["runs"] for row in run["rows"])
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["report.html", "report.json"]
    console = Console(width=240, record=True)
    console.print(terminal_table(scores))
    shown = console.export_text()
    assert "F1" in shown
    assert "floor_silent" in shown


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (None, "ic_acc", "–"),
        (7.0, "mistake_tp", "7"),
        (12.5, "mistake_fp_3s", "12"),
        (4.0, "ic_acc_per_recording_3s", "4.0"),
        (4.0, "score_m", "4.0"),
        (0.25, "soft_f1_pooled", "0.250"),
        (108.66, "false_alarms_per_hour", "108.7"),
    ],
)
def test_numbers_are_shown_by_their_kind(value, metric, text):
    assert figure(value, metric) == text


def test_comparison_of_a_run_with_itself_is_zero(benchmark, runs):
    steps, messages = benchmark
    tally = tally_ego(steps, messages, runs["floor_alert_every_10s"])
    same = compare_tallies(tally, tally, BootstrapOptions())
    assert set(same["difference"].drop_nulls()) == {0.0}
    assert set(same["low"].drop_nulls()) == set(same["high"].drop_nulls()) == {0.0}
    assert same["wins"].sum() == same["losses"].sum() == 0


def test_comparison_finds_the_better_run_and_is_antisymmetric(benchmark, runs):
    steps, messages = benchmark
    alert, silent = (tally_ego(steps, messages, runs[name]) for name in ("floor_alert_every_10s", "floor_silent"))
    ab, ba = compare_tallies(alert, silent, BootstrapOptions()), compare_tallies(silent, alert, BootstrapOptions())
    f1 = ab.row(by_predicate=pl.col("metric") == "mistake_f1", named=True)
    assert f1["a"] > 0
    assert f1["b"] == 0
    assert (f1["wins"], f1["losses"], f1["ties"], f1["share_a_better"]) == (6, 0, 0, 1.0)
    recall = ba.row(by_predicate=pl.col("metric") == "mistake_recall", named=True)
    assert (recall["difference"], recall["wins"], recall["losses"]) == (-1.0, 0, 6)
    alarms = ab.row(by_predicate=pl.col("metric") == "false_alarms_per_hour", named=True)
    assert alarms["difference"] > 0
    assert (alarms["wins"], alarms["losses"], alarms["share_a_better"]) == (0, 6, 0.0)  # fewer is better
    apart = per_cluster(alert, silent, "mistake_f1")
    assert apart.columns == ["cluster", "a", "b", "difference"]
    assert apart["difference"].min() > 0


def test_runs_on_other_recordings_cannot_be_compared(benchmark, runs):
    steps, messages = benchmark
    whole = tally_ego(steps, messages, runs["floor_silent"])
    fewer = steps.filter(pl.col("recording_id") != "demo/5")
    part = tally_ego(fewer, messages, runs["floor_silent"].filter(pl.col("recording_id") != "demo/5"))
    with pytest.raises(InputError, match="only the first run has it") as error:
        compare_tallies(whole, part, BootstrapOptions())
    assert error.value.record == "demo/5"


def test_names_that_look_like_markup_are_shown_as_they_are(benchmark, runs):
    steps, messages = benchmark
    predictions = runs["floor_silent"].with_columns(experiment=pl.lit("[/red]run[3]"))
    scores = score_ego(steps, messages, predictions)
    console = Console(width=200)
    with console.capture() as shown:
        console.print(terminal_table(scores))
    assert "[/red]run[3]" in shown.get()


@pytest.mark.parametrize("end_s", [0.0, 90.0, 1e5, 1e7, 1e300])
def test_a_timeline_of_any_length_has_a_few_ticks(end_s):
    drawn = timeline_svg(Timeline("t", (Lane("a", (Point(0.0, "feedback", "x"), Point(end_s, "feedback", "y"))),)))
    assert 1 <= drawn.count('class="tick"') <= 14
