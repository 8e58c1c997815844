"""A full, read-only or forbidden disk is one sentence on standard error, whichever library met it."""

import errno
import os
import sqlite3
import subprocess
import sys

import polars as pl
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from ml.disk_errors import disk_error
from tests.file_limit import largest_file

COMMAND = [sys.executable, "-c", "from dagster_project.cli import main; main()"]


def raised_by_a_full_device() -> OSError:
    with open("/dev/full", "wb", buffering=0) as device:
        try:
            device.write(b"x")
        except OSError as error:
            return error
    raise AssertionError("the device took a byte")


def test_a_full_disk_is_named_with_what_to_do_also_below_other_errors():
    error = raised_by_a_full_device()
    assert error.errno == errno.ENOSPC
    assert disk_error(error) == "no space left on device. Free some space, then run the same command: it goes on from what is written"
    below = RuntimeError("the step failed")
    below.__cause__ = error
    assert disk_error(below) == disk_error(error)


def test_a_full_database_is_a_full_disk(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with engine.connect() as connection:
        connection.execute(text("create table a (b text)"))
        connection.execute(text("pragma max_page_count = 2"))
        with pytest.raises(OperationalError) as full:
            connection.execute(text("insert into a values (:b)"), {"b": "x" * 100_000})
    assert str(disk_error(full.value)).startswith("the disk is full. Free some space")


def test_a_database_that_may_not_be_written_is_told(tmp_path):
    path = tmp_path / "a.sqlite"
    sqlite3.connect(path).close()
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError) as refused:
        connection.execute("create table a (b text)")
    connection.close()
    assert str(disk_error(refused.value)).startswith("the disk is read-only. Make it writable")


def test_what_polars_tells_of_a_disk_is_read_from_its_text(tmp_path):
    with pytest.raises(pl.exceptions.ComputeError) as full:
        pl.DataFrame({"a": [1]}).write_parquet("/dev/full")
    assert str(disk_error(full.value)).startswith("no space left on device. Free some space")
    with largest_file(100), pytest.raises(pl.exceptions.ComputeError) as large:
        pl.DataFrame({"a": range(1000)}).write_parquet(tmp_path / "a.parquet")
    assert str(disk_error(large.value)).startswith("file too large. Raise the limit on the size of files (ulimit -f)")
    assert disk_error(RuntimeError("no such file (os error 2)")) is None


def test_a_file_that_may_not_grow_is_told(tmp_path):
    with largest_file(100):
        with pytest.raises(OSError, match="File too large") as plain:
            (tmp_path / "a").write_text("x" * 1000)
        with pytest.raises(sqlite3.OperationalError) as database:
            sqlite3.connect(tmp_path / "a.sqlite").execute("create table a (b text)")
    assert str(disk_error(plain.value)).startswith("file too large. Raise the limit")
    assert str(disk_error(database.value)).startswith("the disk is full, limited or broken. Free some space")


def test_other_errors_are_bugs_and_stay():
    assert disk_error(ValueError("x")) is None
    assert disk_error(FileNotFoundError(errno.ENOENT, "no such file", "x")) is None
    assert disk_error(sqlite3.OperationalError("no such table: a")) is None


def test_a_file_in_the_place_of_the_data_folder_is_one_line(tmp_path):
    (tmp_path / "data").write_text("x")
    environment = os.environ | {"INTERJECT_DATA": str(tmp_path / "data")}
    ended = subprocess.run([*COMMAND, "demo"], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "A file stands where a folder belongs: name another folder" in ended.stderr
    assert "Traceback" not in ended.stderr
