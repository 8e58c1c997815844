"""A lock is held by one process, named to the next, and gone with the process that held it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ml.errors import InputError
from ml.locks import only_one

HOLD = """
import sys, time
from pathlib import Path
from ml.locks import only_one
with only_one(Path(sys.argv[1]), "cooking"):
    print("inside", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(path: Path, seconds: float) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path), str(seconds)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    return process


def test_the_second_is_told_who_is_inside_and_a_kill_frees_it(tmp_path):
    path = tmp_path / "locks" / "demo"
    with hold(path, 60) as holder:
        with (
            pytest.raises(InputError, match=rf"process {holder.pid} is cooking already. Wait for it, or end it") as error,
            only_one(path, "cooking"),
        ):
            pass
        assert error.value.file == path.parent
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with only_one(path, "cooking"):
        assert path.read_text() == str(os.getpid())


def test_one_that_waits_comes_in_after_the_first(tmp_path):
    path, begun = tmp_path / "lock", time.monotonic()
    with hold(path, 0.5), only_one(path, "cooking", waits=True):
        assert time.monotonic() - begun >= 0.5
