"""Arrows between rooms go one way, and the graph loads without model libraries."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("ml", "resources", "sensors", "assets", "dagster_project")
MAY_IMPORT = {
    "ml": {"ml"},
    "resources": {"ml", "resources"},
    "sensors": {"ml", "resources", "sensors"},
    "assets": {"ml", "resources", "assets"},
    "dagster_project": set(ROOMS),
}
HEAVY = (
    *("torch", "transformers", "peft", "sentence_transformers", "ray", "bert_score", "lancedb"),
    *("spacy", "matplotlib", "scipy", "anthropic", "openai"),
)


def imported(path, module_level_only=False):
    tree = ast.parse(path.read_text())
    nodes = tree.body if module_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("room", ROOMS)
def test_imports_follow_the_arrows(room):
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / room).rglob("*.py")
        for name in imported(path)
        if (top := name.split(".")[0]) in ROOMS and top not in MAY_IMPORT[room]
    ]
    assert not wrong


def test_the_library_does_not_import_dagster():
    assert not [p for p in (ROOT / "ml").rglob("*.py") for name in imported(p) if name.split(".")[0].startswith("dagster")]


@pytest.mark.parametrize("room", ["assets", "resources", "sensors", "dagster_project"])
def test_the_graph_names_no_model_library_at_module_level(room):
    wrong = [(p.name, n) for p in (ROOT / room).rglob("*.py") for n in imported(p, module_level_only=True) if n.split(".")[0] in HEAVY]
    assert not wrong


def test_loading_the_definitions_imports_no_model_library():
    code = "import sys, json, dagster_project.definitions; print(json.dumps(sorted(m for m in sys.modules if '.' not in m)))"
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    )
    assert not set(loaded) & set(HEAVY)


def test_package_files_are_empty():
    assert not [p for room in ROOMS for p in (ROOT / room).rglob("__init__.py") if p.read_text().strip()]
