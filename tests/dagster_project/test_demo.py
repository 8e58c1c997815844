"""The whole graph from the command line on a small sample kitchen: to the leaderboard, and a second time without repeating anything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from ml.streaming.checkpoint_files import ADAPTER_FILE, SEAL_FILE
from ml.tables.store import TableStore

PROJECT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from dagster_project.cli import main; main()", "demo"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("demo")
    file = folder / "interject.toml"
    file.write_text(
        "sample_kitchen_share = 0.03\n[mixes.comist_plus.weights]\nego_comist = 0.6\nqicd = 0.3\nego4d_goalstep = 0.1\n"
        '[experiments.comist_plus]\nmix = "comist_plus"\nsteps = 12\n'
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("INTERJECT_", "DAGSTER_"))}
    return {**kept, "INTERJECT_SETTINGS": str(file), "INTERJECT_DATA": str(folder / "data"), "COLUMNS": "120", "OMP_NUM_THREADS": "1"}


def run(environment: dict[str, str]) -> str:
    done = subprocess.run(COMMAND, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tables(environment: dict[str, str]) -> dict[Path, tuple[int, int]]:
    """Inode and time of every file below the data folder's tables and checkpoints."""
    data = Path(environment["INTERJECT_DATA"])
    return {
        path: (path.stat().st_ino, path.stat().st_mtime_ns)
        for folder in ("tables", "checkpoints")
        for path in (data / folder).rglob("*")
        if path.is_file()
    }


def test_the_graph_runs_to_its_end_and_a_second_time_repeats_nothing(environment):
    first = run(environment)
    assert "Leaderboard" in first
    store = TableStore(Path(environment["INTERJECT_DATA"]) / "tables")
    board = store.read("leaderboard").filter(pl.col("origin") == "here")
    assert {"comist_plus", "untuned_base", "floor_silent"} <= set(board["experiment"])
    made = tables(environment)
    second = run(environment)
    assert tables(environment) == made
    assert second.count(": current") == second.count("✓") > 8


def test_a_checkpoint_that_a_killed_tuning_left_in_pieces_is_tuned_again(environment):
    checkpoint = Path(environment["INTERJECT_DATA"]) / "checkpoints" / "comist_plus"
    before = {path.name: path.read_bytes() for path in checkpoint.iterdir() if path.is_file()}
    (checkpoint / SEAL_FILE).unlink()
    (checkpoint / ADAPTER_FILE).write_bytes(before[ADAPTER_FILE][:1000])
    refused = subprocess.run(
        [*COMMAND[:-1], "run", "comist_plus", "kitchen_guideme.anchor", "--again"],
        cwd=PROJECT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode != 0
    assert "the checkpoint is not whole: its tuning was killed" in " ".join((refused.stdout + refused.stderr).split())
    told = run(environment)
    assert "Tuning: current" not in told
    assert "Training mix: current" in told
    after = {path.name: path.read_bytes() for path in checkpoint.iterdir() if path.is_file()}
    assert after[ADAPTER_FILE] == before[ADAPTER_FILE]
    assert after[SEAL_FILE] == before[SEAL_FILE]


def test_the_notebook_reads_the_outputs(environment):
    cells = json.loads((PROJECT / "examples" / "read_outputs.ipynb").read_text())["cells"]
    assert all(cell["outputs"] for cell in cells[2:] if cell["cell_type"] == "code")
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
