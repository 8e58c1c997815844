"""Frames and labels that the tests of the counterfactual stages share."""

import os
from pathlib import Path

import polars as pl
import pytest

from ml.counterfactuals.registry import offline_rules
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from ml.tables.declarations.recordings import NARRATIONS, STEPS


@pytest.fixture
def client() -> Client:
    return Client(RulesBackend(offline_rules()))


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = Path(os.environ.get("INTERJECT_SHARED", Path(__file__).parents[4] / "shared"))
    if not (folder / "gold").is_dir():
        pytest.skip(f"no labels at {folder}; set INTERJECT_SHARED")
    return folder


def make_steps(*texts: str, recording_id: str = "test/1", step_s: float = 20.0, **changes: object) -> pl.DataFrame:
    """Steps one after another, each ``step_s`` seconds long."""
    rows = [
        {
            "recording_id": recording_id,
            "step_uid": f"{index}#0",
            "graph_node_ids": [],
            "occurrence": 0,
            "position": index,
            "start_s": index * step_s,
            "end_s": (index + 1) * step_s,
            "instruction": text,
            "is_instruction": True,
            "error_tags": [],
            "error_texts": [],
            "is_clean": True,
            "is_continued": False,
            "is_proposed": False,
            "status": "ok",
        }
        | changes
        for index, text in enumerate(texts)
    ]
    return STEPS.rows(rows)


def make_narrations(*texts: str | None, recording_id: str = "test/1", status: str = "ok", reason: str | None = None) -> pl.DataFrame:
    """10 s windows every 5 s from 0."""
    return NARRATIONS.rows(
        [
            {
                "recording_id": recording_id,
                "window_index": index,
                "start_s": index * 5.0,
                "end_s": index * 5.0 + 10.0,
                "text": text,
                "narrator": "test",
                "is_repeat": False,
                "status": status,
                "reason": reason,
            }
            for index, text in enumerate(texts)
        ]
    )
