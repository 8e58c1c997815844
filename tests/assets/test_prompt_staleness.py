"""A changed prompt makes exactly the assets stale that ask it: told to Dagster by code versions, to our own reruns by fingerprints."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ml.llm_stages import LLM_STAGES
from tests.llm_graph import ROOT, LLMGraph

ROOMS = ("assets", "dagster_project", "ml", "resources", "sensors")
TABLES = ("attributes", "counterfactuals", "feedback_timestamps", "validity_check")
PROMPTS = "ml/counterfactuals/prompts"
TELL = """
import json
from assets.fingerprints import Fingerprints
from dagster_project.definitions import build_definitions
from ml.settings import load_settings
from ml.tables.store import TableStore

settings = load_settings()
graph = build_definitions(settings).resolve_asset_graph()
versions = {key.to_user_string(): graph.get(key).code_version for key in graph.get_all_asset_keys()}
prints = Fingerprints(TableStore(settings.data / "tables"), settings)
current = {table: prints.is_current(table, "cc/0") for table in ("attributes", "counterfactuals", "feedback_timestamps", "validity_check")}
print(json.dumps({"versions": versions, "current": current}))
"""


def told(root: Path) -> dict[str, dict]:
    """Code versions, and which tables are current, as the code below ``root`` sees them."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    run = subprocess.run([sys.executable, "-c", TELL], cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors", "*.npz"))
    return folder


def told_after(root: Path, edits: dict[str, str], before: dict[str, dict]) -> tuple[dict[str, dict], set[str]]:
    """What is told after words of files were changed, and the assets whose code versions differ from before; the files are as they were."""
    texts = {root / file: (root / file).read_text() for file in edits}
    for path, words in zip(texts, edits.values(), strict=True):
        assert words in texts[path]
        path.write_text(texts[path].replace(words, f"{words} Please."))
    after = told(root)
    for path, text in texts.items():
        path.write_text(text)
    return after, {name for name, version in after["versions"].items() if version != before["versions"][name]}


def test_a_changed_prompt_makes_exactly_its_own_assets_stale(llm_graph: LLMGraph, copy: Path):
    llm_graph.record("Slice the carrot.")
    assert llm_graph.run().success
    before = told(copy)
    assert before["current"] == dict.fromkeys(TABLES, True)
    changes: list[tuple[dict[str, str], set[str]]] = [
        (
            {f"{PROMPTS}/technique.py": "Which cooking technique", "ml/instructions/prompts.py": "Below is what"},
            {"attributes", "proposed_steps"},
        ),
        (
            {f"{PROMPTS}/timing.py": "Name another sensible time", "ml/validity/prompts.py": "You review"},
            {"counterfactuals", "validity_check"},
        ),
        (
            {f"{PROMPTS}/technique.py": "Find the time at", "ml/instructions/prompts.py": "First decide"},
            {"feedback_timestamps", "instructions"},
        ),
        ({f"{PROMPTS}/shared.py": "You know cooking well"}, {"attributes", "counterfactuals", "feedback_timestamps"}),
        ({"ml/llm/replies.py": "# "}, set(LLM_STAGES)),  # the readers that all stages share
    ]
    for edits, stale in changes:
        after, changed = told_after(copy, edits, before)
        assert changed == stale
        assert {table for table, is_current in after["current"].items() if not is_current} == stale & set(TABLES)


def test_so_do_the_texts_that_prompts_are_filled_with(llm_graph: LLMGraph, copy: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INTERJECT_NARRATION__BACKEND", "openai")
    monkeypatch.setenv("INTERJECT_NARRATION__MODEL", "gpt-4o-mini")
    before = told(copy)
    meaning = {"ml/counterfactuals/types/timing.py": "how long something is cooked or left"}
    told_of = {"ml/validity/prompts.py": "nothing is told of this clip", "ml/narration/prompts.py": "You write down what their hands do"}
    assert told_after(copy, meaning, before)[1] == {"validity_check"}
    assert told_after(copy, told_of, before)[1] == {"validity_check", "narrations"}
    assert told_after(copy, {f"{PROMPTS}/template.py": "not stated"}, before)[1] == set(LLM_STAGES)
