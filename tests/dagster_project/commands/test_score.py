"""`interject score`, `compare` and `score-options` as a user calls them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dagster_project.cli import app
from ml.benchmarks.data import read_benchmark
from ml.benchmarks.scoring import Tools, score_files
from ml.errors import InputError
from ml.tables.store import TableStore
from tests.ml.benchmarks.made_files import cook_files, ego_files, guideme_files
from tests.ml.narration.chat_server import chat_server, completion


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERJECT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "140")
    return tmp_path / "data"


def call(*arguments):
    """Exit status, output and the error that the entry point would print."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, InputError | SystemExit):
        raise result.exception
    return result.exit_code, result.output, str(result.exception or "")


def test_score_shows_a_table_and_writes_both_files(tmp_path):
    benchmark, good, _ = ego_files(tmp_path)
    status, output, _ = call("score", good, benchmark, "--out", tmp_path / "out", "-o", "half_window_s=10", "--timelines", "1")
    assert status == 0
    assert "IC-Acc" in output
    assert "silent, always speak, alert every 10s, duration timer: floors" in output.replace("\n", " ")
    assert "steps without an answer: 0" in output
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert document["options"]["half_window_s"] == 10.0
    assert (tmp_path / "out" / "report.html").read_text().count("<svg") == 1


def test_a_benchmark_by_name_and_runs_from_the_tables(tmp_path, data_folder):
    benchmark, good, weak = ego_files(tmp_path)
    data = read_benchmark(benchmark, "kitchen")
    store = TableStore(data_folder / "tables")
    for table in ("benchmark_steps", "benchmark_messages"):
        store.write(table, data[table], "kitchen")
    for path in (good, weak):
        run = score_files(path, data, tools=Tools(), floors=False).run
        store.write("predictions", run.predictions, f"{run.experiment}/{run.protocol}")
    status, _, _ = call("score", good, "kitchen", "--out", tmp_path / "out", "--no-floors")
    assert status == 0
    status, output, _ = call("compare", "good", "weak", "--out", tmp_path / "c.json")
    assert status == 0
    assert "kitchen.per_step" in output
    document = json.loads((tmp_path / "c.json").read_text())
    f1 = next(row for row in document["metrics"] if row["metric"] == "mistake_f1")
    assert f1["a"] == 1.0
    assert f1["wins"] == 6
    status, _, error = call("compare", "good", "best")
    assert status == 1
    assert "Experiments: good, weak" in error
    status, _, error = call("score", good, "kitchn")
    assert "Benchmarks in the tables: kitchen" in error


def test_compare_files(tmp_path):
    benchmark, good, weak = guideme_files(tmp_path)
    status, output, _ = call("compare", good, weak, "--benchmark", benchmark, "--out", tmp_path / "c.json", "--judge", "none")
    assert status == 0
    assert "sF1" in output
    assert call("compare", good, weak)[2].startswith("field benchmark")
    assert "one of the two is a file" in call("compare", good, "weak")[2]


def test_a_judge_behind_an_openai_compatible_server(tmp_path):
    benchmark, good, _ = cook_files(tmp_path)
    asked = []

    def answer(body):
        text = body["messages"][-1]["content"]
        text = text if isinstance(text, str) else text[-1]["text"]
        asked.append((body["model"], body.get("temperature"), text))
        return 200, completion(body, "YES" if "No. I see" in text else "NO")

    with chat_server(answer) as (url, _):
        chosen = ("--judge", "openai", "--judge-model", "m", "--judge-url", f"{url}/v1")
        arguments = ("score", good, benchmark, "--out", tmp_path / "out", *chosen)
        status, output, _ = call(*arguments)
        first = len(asked)
        again, _, _ = call(*arguments)
    assert (status, again) == (0, 0)
    assert first > 10  # equal questions are asked once
    assert len(asked) == first  # the second run is answered from the cache
    assert {(model, temperature) for model, temperature, _ in asked} == {("m", 0.0)}
    assert "judge m:" in output
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert document["options"]["judge.model"] == "m"
    assert document["options"]["judge.prompts"]
    values = {row["metric"]: row["value"] for row in document["runs"][0]["rows"] if row["group"] == "all"}
    assert values["corr_acc"] == pytest.approx(15 / 16)


def test_wrong_calls_name_the_remedy(tmp_path):
    benchmark, good, _ = cook_files(tmp_path)
    for arguments, words in (
        (("score", good, benchmark, "--judge", "oracle"), "Use settings, none, rules"),
        (("score", good, benchmark, "--judge", "openai"), "--judge-model"),
        (("score", good, benchmark, "-o", "gated=1"), "is_gated"),
        (("score", tmp_path / "no.json", benchmark), "no such file"),
        (("score-options", "egg"), "ego, guideme, cook_mre"),
    ):
        status, _, error = call(*arguments, *(("--out", tmp_path / "out") if arguments[0] == "score" else ()))
        assert status != 0
        assert words in error
    assert not (tmp_path / "out").exists()


def test_the_leaderboard_shows_published_rows_apart(data_folder, tmp_path):
    status, _, error = call("leaderboard")
    assert status != 0
    assert "make demo" in error
    benchmark, good, _ = ego_files(tmp_path)
    scores = score_files(good, benchmark, tools=Tools()).scores
    TableStore(data_folder / "tables").write("scores", scores, "good/timeline.per_step")
    status, output, _ = call("leaderboard")
    assert "floor_silent" in output
    assert "InternVL" not in output
    status, output, _ = call("leaderboard", "--published", "--protocol", "cook_mre.default")
    assert status == 0
    assert "published, not rerun here" in output
    assert "InternVL3-38B" in output
    assert "floor_silent" not in output
    assert "Protocols: cook_mre.default" in call("leaderboard", "--published", "--protocol", "x.hint")[2]


def test_options_are_listed():
    status, output, _ = call("score-options", "guideme", "--profile", "paper_literal")
    assert status == 0
    assert "talk_only" in output
    assert "behavior.pair_window_s" in output


def test_paths_are_meant_from_where_the_user_is(tmp_path):
    """The entry point changes to the project's folder, typed paths do not. A failed run has a status and a line."""
    benchmark, good, _ = cook_files(tmp_path)
    rows = [{**json.loads(line), "answer": None} for line in good.read_text().splitlines()]
    (tmp_path / "failed.jsonl").write_text("\n".join(map(json.dumps, rows)))
    command = Path(sys.executable).parent / "interject"
    environment = {**os.environ, "INTERJECT_DATA": str(tmp_path / "data")}
    how = {"cwd": tmp_path, "capture_output": True, "text": True, "env": environment}
    done = subprocess.run([command, "score", good.name, benchmark.name], **how)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "good_scores" / "report.json").exists()
    failed = subprocess.run([command, "score", "failed.jsonl", benchmark.name], **how)
    assert failed.returncode == 2
    assert failed.stderr.strip().splitlines()[-1].startswith(f"interject: file {tmp_path / 'failed.jsonl'}, record s0: all 20 items failed")
    assert not (tmp_path / "failed_scores").exists()


LONG = "x" * 300


def test_a_place_that_cannot_be_written_is_told_before_any_work(tmp_path):
    benchmark, good, weak = ego_files(tmp_path)
    pair = ("compare", good, weak, "--benchmark", benchmark)
    os.mkfifo(tmp_path / "pipe")
    for arguments, problem in (
        (("score", good, benchmark, "--out", good), "a file stands where a folder belongs"),
        (("score", good, benchmark, "--out", good / "x"), "a file stands where a folder belongs"),
        (("score", good, benchmark, "--out", "/proc/x"), "nothing can be written there"),
        (("score", good, benchmark, "--out", tmp_path / LONG), "file name too long"),
        ((*pair, "--out", tmp_path), "a folder, not a file"),
        ((*pair, "--out", tmp_path / "pipe"), "no plain file"),
        ((*pair, "--out", "/proc/zz/c.json"), "nothing can be written there"),
        ((*pair, "--out", good / "c.json"), "a file stands where a folder belongs"),
    ):
        broken = [
            tmp_path / "none.json" if argument in (good, weak) and place < 3 else argument for place, argument in enumerate(arguments)
        ]
        status, _, error = call(*broken)  # the predictions are missing, yet the place is told first
        assert status == 1
        assert problem in error
        assert error.endswith("Name another place with --out")
    assert call("score", good, benchmark, "--out", tmp_path / "new" / "folder", "--no-floors")[0] == 0


def test_names_that_no_file_can_have_and_pipes_are_refused(tmp_path):
    benchmark, good, _ = ego_files(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    os.mkfifo(tmp_path / "pipe.parquet")
    out = ("--out", tmp_path / "out")
    assert "there is no such file" in call("score", f"{LONG}.json", benchmark, *out)[2]
    assert "no file and no benchmark 'xxx" in call("score", good, LONG, *out)[2]
    assert "no file and no benchmark ''" in call("score", good, "", *out)[2]
    assert (
        "there are no predictions of" in call("compare", LONG, "nobody", "--protocol", "kitchen.per_step", "--out", tmp_path / "c.json")[2]
    )
    for name in ("pipe.jsonl", "pipe.parquet"):
        assert "no plain file" in call("score", good, tmp_path / name, *out)[2]


def test_a_judge_that_is_unknown_is_refused_where_none_is_needed(tmp_path):
    benchmark, good, _ = ego_files(tmp_path)
    assert "no judge 'zz'" in call("score", good, benchmark, "--judge", "zz", "--out", tmp_path / "out")[2]


@pytest.mark.parametrize(
    "option",
    [
        *(f"half_window_s={value}" for value in ("nan", "inf", "1e400", "-1", "1e8", "1_0")),
        "narrow_half_windows_s=1,nan", "zero_division=nan", "draws=-3", "draws=1000000000", "seed=-1", "level=5", "level=0",
    ],
)  # fmt: skip
def test_an_option_without_sense_is_refused_before_scoring(tmp_path, option):
    benchmark, good, _ = ego_files(tmp_path)
    status, _, error = call("score", good, benchmark, "-o", option, "--out", tmp_path / "out")
    assert status == 1
    assert option.partition("=")[0] in error
    assert not (tmp_path / "out").exists()
