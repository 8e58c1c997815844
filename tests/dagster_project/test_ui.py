"""`interject ui` as a user runs it: it answers, says nothing of deprecation, and leaves no process behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

QUERY = "{workspaceOrError{... on Workspace{locationEntries{name loadStatus locationOrLoadError{__typename}}}}}"


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def asked(port):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/graphql", json.dumps({"query": QUERY}).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)["data"]["workspaceOrError"]["locationEntries"]
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None


def processes_of(data):
    """Processes that run on a data folder, by their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"INTERJECT_DATA={data}".encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_it_answers_and_ctrl_c_ends_all_its_processes(tmp_path):
    port = free_port()
    environment = os.environ | {"INTERJECT_DATA": str(tmp_path / "data"), "OMP_NUM_THREADS": "1"}
    environment.pop("DAGSTER_HOME", None)
    command = [sys.executable, "-c", "from dagster_project.cli import main; main()", "ui", "--port", str(port)]
    with (tmp_path / "terminal").open("wb") as terminal:
        ui = subprocess.Popen(command, env=environment, stdout=terminal, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + 180
            while time.monotonic() < deadline and ui.poll() is None and not (entries := asked(port)):
                time.sleep(0.5)
            assert [(e["name"], e["loadStatus"], e["locationOrLoadError"]["__typename"]) for e in entries] == [
                ("interject", "LOADED", "RepositoryLocation")
            ]
            assert len(processes_of(tmp_path / "data")) >= 4
        finally:
            ui.send_signal(signal.SIGINT)
            assert ui.wait(60) == 0
    assert processes_of(tmp_path / "data") == []
    assert "eprecat" not in (tmp_path / "terminal").read_text()
