"""The played provider as a fixture, and a small graph whose LLM stages ask it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.llm_graph import LLMGraph
from tests.ml.llm.provider import Provider

settings.register_profile("unhurried", deadline=None)  # a busy machine is no failure
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def provider_url() -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).parent / "ml" / "llm" / "played_provider.py")]
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


@pytest.fixture
def llm_graph(provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LLMGraph:
    return LLMGraph(provider, tmp_path, monkeypatch)
