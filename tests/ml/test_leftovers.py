"""Half-written files of killed processes go, and nothing else does."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ml.leftovers import ABANDONED_AFTER_S, remove_leftovers
from ml.tables.store import TableStore

KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from ml.tables.store import TableStore
from ml.tables.catalogue import TABLES
sys.addaudithook(lambda event, args: os.kill(os.getpid(), signal.SIGKILL) if event == "os.rename" else None)
TableStore(Path(sys.argv[1])).write("scores", TABLES["scores"].empty(), "a/b.per_step")
"""


def test_a_kill_between_writing_and_renaming_leaves_no_table_and_its_file_goes(tmp_path):
    ended = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(tmp_path / "tables")], check=False)
    assert ended.returncode == -9
    store = TableStore(tmp_path / "tables")
    assert store.partitions("scores") == []
    assert store.made_from("scores", "a/b.per_step") is None
    assert remove_leftovers(tmp_path) == []  # it may still be written to
    (left,) = remove_leftovers(tmp_path, now=time.time() + ABANDONED_AFTER_S + 1)
    assert left.name.startswith(".a~b.per_step.parquet.")
    assert not left.exists()


@pytest.mark.parametrize(
    ("name", "goes"),
    [
        ("tables/steps/.a~b.parquet.123.0123abcd.tmp", True),
        ("video_features/.0f0f.123.npy", True),
        ("checkpoints/comist_plus/.log.jsonl.7827", True),
        ("sample_kitchen/qicd/.1_1.mp4.77.part", True),
        ("tables/steps/a~b.parquet", False),
        ("tables/steps/.hidden.parquet", False),
        ("video_features/0f0f.npy", False),
        ("checkpoints/comist_plus/log.jsonl", False),
        ("raw_videos/.film.mp4.12.part", False),
    ],
)
def test_only_temporary_names_in_our_own_folders_go(tmp_path, name, goes):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    os.utime(path, (0, 0))
    assert remove_leftovers(tmp_path) == ([path] if goes else [])
    assert path.exists() is not goes


def test_a_folder_that_is_not_there_is_no_error(tmp_path):
    assert remove_leftovers(Path(tmp_path / "none")) == []
