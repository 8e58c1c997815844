"""The event log's databases stay open, others do not."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from dagster_project.event_log import KEPT_DATABASES, quicken_event_log


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(folder))
    quicken_event_log()
    return folder


def write_row(path: Path) -> int:
    """Creates a table in WAL mode, closes the connection, and returns the connection's ``synchronous``."""
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text("PRAGMA journal_mode = WAL"))
        connection.execute(text("CREATE TABLE IF NOT EXISTS t (x INTEGER)"))
        connection.execute(text("INSERT INTO t VALUES (1)"))
        connection.commit()
        return int(connection.execute(text("PRAGMA synchronous")).scalar_one())


def log_is_open(path: Path) -> bool:
    return path.with_name(path.name + "-wal").exists()


def test_databases_of_the_home_stay_open_and_readable_by_others(home: Path):
    path = home / "index.db"
    write_row(path)
    assert write_row(path) == 1
    assert log_is_open(path)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_other_databases_are_left_alone(home: Path, tmp_path: Path):
    path = tmp_path / "elsewhere.db"
    write_row(path)
    assert write_row(path) == 2
    assert not log_is_open(path)


def test_only_so_many_are_kept(home: Path):
    paths = [home / f"{number}.db" for number in range(KEPT_DATABASES + 3)]
    for path in paths:
        write_row(path)
        write_row(path)
    assert sum(map(log_is_open, paths)) <= KEPT_DATABASES
    assert log_is_open(paths[-1])


def test_events_survive_a_killed_process(home: Path):
    child = (
        "import os, signal\n"
        "import dagster as dg\n"
        "from dagster_project.event_log import quicken_event_log\n"
        "quicken_event_log()\n"
        "instance = dg.DagsterInstance.get()\n"
        "instance.report_runless_asset_event(dg.AssetMaterialization('steps'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", child], cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == -9
    with dg.DagsterInstance.get() as instance:
        assert instance.get_latest_materialization_event(dg.AssetKey("steps")) is not None
