"""The Dagster webserver, daemon and code server as child processes that end together, whatever ends first."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

STOP_WITHIN_S = 15.0
CODE_WITHIN_S = 120.0


def serve(workspace: Path, host: str, port: int) -> int:
    """Run them until Ctrl-C, SIGTERM, or one of them dies; returns the exit status. No process is left behind.

    Webserver and daemon share one code server for each Python module of the workspace file: on its own, the daemon loads the code anew
    every minute and says each time that it shuts the former server down.
    """
    stop = _StopFlag()
    children: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="interject_ui_") as folder:
        try:
            shared, sockets = _share_code(workspace, Path(folder), children)
            deadline = time.monotonic() + CODE_WITHIN_S
            while not all(socket.exists() for socket in sockets) and time.monotonic() < deadline and _all_run(children, stop):
                time.sleep(0.1)
            children.append(_start(["dagster_webserver", "-w", str(shared), "-h", host, "-p", str(port)]))
            children.append(_start(["dagster._daemon", "run", "-w", str(shared)]))
            while _all_run(children, stop):
                time.sleep(0.2)
        finally:
            _end(children)
    return 0 if stop.asked else 1


def _share_code(workspace: Path, folder: Path, children: list[subprocess.Popen[bytes]]) -> tuple[Path, list[Path]]:
    """Starts a code server for each Python module of the workspace; returns the workspace that names them, and their sockets."""
    entries: list[dict[str, Any]] = yaml.safe_load(workspace.read_text())["load_from"]
    sockets = []
    for number, entry in enumerate(entries):
        module = entry.get("python_module")
        if not isinstance(module, dict):
            continue
        socket, name = folder / f"{number}.sock", str(module.get("location_name", module["module_name"]))
        options = ["-s", str(socket), "--location-name", name, "--log-level", "warning", "--inject-env-vars-from-instance"]
        what = ["-m", module["module_name"], "-d", str(workspace.parent / module.get("working_directory", "."))]
        children.append(_start(["dagster", "code-server", "start", *options, *what]))
        entries[number] = {"grpc_server": {"socket": str(socket), "location_name": name}}
        sockets.append(socket)
    shared = folder / "workspace.yaml"
    shared.write_text(yaml.safe_dump({"load_from": entries}))
    return shared, sockets


def _start(module: Sequence[str]) -> subprocess.Popen[bytes]:
    # each child leads its own group, so that what it starts can be reached too; SIGINT is restored because a shell's `&` ignores it
    return subprocess.Popen([sys.executable, "-m", *module], start_new_session=True, preexec_fn=_restore_signals)


def _all_run(children: Sequence[subprocess.Popen[bytes]], stop: "_StopFlag") -> bool:
    return not stop.asked and all(child.poll() is None for child in children)


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


def _end(children: Sequence[subprocess.Popen[bytes]]) -> None:
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
