"""The played provider as a fixture: a process with a port, told by HTTP what to do."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest


class Provider:
    """Handle of the server process in ``played_provider.py``."""

    def __init__(self, url: str) -> None:
        self.url = url

    def play(self, *script: dict, **settings: object) -> None:
        """Sets the behaviours and empties the log."""
        self._control({"script": list(script), "settings": settings})

    def calls(self) -> list[dict]:
        return self._control(None)["calls"]

    def peak(self) -> int:
        return self._control(None)["peak"]

    def _control(self, wanted: dict | None) -> dict:
        data = json.dumps(wanted).encode() if wanted is not None else None
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/control", data=data), timeout=20) as response:
            return json.load(response)


@pytest.fixture(scope="session")
def provider_url() -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).with_name("played_provider.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.stdin.close()


@pytest.fixture
def provider(provider_url: str) -> Provider:
    handle = Provider(provider_url)
    handle.play()
    return handle
