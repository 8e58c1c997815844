"""The Dagster webserver and daemon as child processes that end together, whatever ends first."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STOP_WITHIN_S = 15.0


def serve(workspace: Path, host: str, port: int) -> int:
    """Run both until Ctrl-C, SIGTERM, or one of them dies; returns the exit status. No process is left behind."""
    commands = (
        [sys.executable, "-m", "dagster_webserver", "-w", str(workspace), "-h", host, "-p", str(port)],
        [sys.executable, "-m", "dagster._daemon", "run", "-w", str(workspace)],
    )
    stop = _StopFlag()
    # each child leads its own group, so that its code servers can be reached too; SIGINT is restored because a shell's `&` ignores it
    children = [subprocess.Popen(command, start_new_session=True, preexec_fn=_restore_signals) for command in commands]
    try:
        while not stop.asked and all(child.poll() is None for child in children):
            time.sleep(0.2)
    finally:
        _end(children)
    return 0 if stop.asked else 1


class _StopFlag:
    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


def _restore_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    for number, patience in ((signal.SIGINT, STOP_WITHIN_S), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        for child in children:
            _signal_group(child, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and any(_group_alive(child) for child in children):
            for child in children:
                child.poll()
            time.sleep(0.1)


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


def _group_alive(child: subprocess.Popen[bytes]) -> bool:
    try:
        os.killpg(child.pid, 0)
    except ProcessLookupError:
        return False
    return True
