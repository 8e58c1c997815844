"""A data folder with one small benchmark of every family, cut from a sample kitchen of two recordings, and runs on it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ml.benchmarks.canonical import benchmark_from_messages
from ml.benchmarks.families import parse_protocol
from ml.benchmarks.guideme.data import dialogue_tables, read_items
from ml.sample_kitchen.kitchen import write_sample_kitchen
from ml.sample_kitchen.plan import KitchenSizes
from ml.sources.cook_mre import clips_table, read_cook_mre_source, read_cook_samples
from ml.sources.ego_mc_bench import read_ego_mc_bench
from ml.sources.guideme import read_guideme_source
from ml.tables.declarations.recordings import RECORDINGS
from ml.tables.store import TableStore
from resources.assistants import Assistants

NOTHING = KitchenSizes(**dict.fromkeys(KitchenSizes.__dataclass_fields__, 0))


def placed(imported):
    rows = [dict(zip(imported.recordings.columns, row, strict=True)) for row in imported.recordings.rows()]
    return RECORDINGS.rows([{**row, "duration_s": 60.0, "video_status": "ok"} for row in rows])


@pytest.fixture(scope="session")
def benchmark_tables(tmp_path_factory) -> Path:
    """Folder ``tables`` with the benchmarks ``ego`` (two steps), ``guide`` (one video) and ``cook`` (four samples)."""
    root = tmp_path_factory.mktemp("kitchen")
    sizes = replace(NOTHING, captaincook4d_evaluation=1, ego_mc_bench=1)
    write_sample_kitchen(root / "kitchen", sizes, seed=3, processes=1)
    kitchen, store = root / "kitchen", TableStore(root / "tables")
    ego = read_ego_mc_bench(kitchen / "ego_mc_bench", kitchen / "ego_mc_bench", source="ego")
    steps, messages = benchmark_from_messages(placed(ego), ego.steps, ego.messages, "ego")
    paths = dict(ego.recordings.select("recording_id", "video_path").iter_rows())
    steps = steps.with_columns(video_path=pl.col("recording_id").replace_strict(paths, return_dtype=pl.String)).head(2)
    store.write("benchmark_steps", steps, "ego")
    store.write("benchmark_messages", messages.filter(pl.col("unit_id").is_in(steps["unit_id"].implode())), "ego")
    guide = read_guideme_source(kitchen / "guideme", kitchen / "ego_mc_bench", source="guide")
    dialogues, turns = dialogue_tables([item for _, item in read_items(kitchen / "guideme")], placed(guide), "guide")
    store.write("benchmark_dialogues", dialogues, "guide")
    store.write("benchmark_turns", turns, "guide")
    cook = read_cook_mre_source(kitchen / "cook_mre", kitchen / "captaincook4d", source="cook")
    store.write("benchmark_clips", clips_table(read_cook_samples(kitchen / "cook_mre"), placed(cook), "cook").head(4), "cook")
    return root / "tables"


@pytest.fixture
def data(benchmark_tables, tmp_path, monkeypatch) -> Path:
    """A data folder of one test, which the settings name."""
    shutil.copytree(benchmark_tables, tmp_path / "data" / "tables")
    monkeypatch.setenv("INTERJECT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    return tmp_path / "data"


@pytest.fixture
def assistants(data, provider, monkeypatch):
    def declare(**declared):
        monkeypatch.setenv("INTERJECT_ASSISTANTS", json.dumps(declared))
        return data

    return declare


def answers(when, text, times=0):
    """A behaviour of the played provider: requests that hold ``when`` are answered with ``text``, by default always."""
    return {"kind": "text", "when": when, "text": text, "times": times}


def served(provider, backend="openai", **more):
    base = f"{provider.url}/v1" if backend == "openai" else provider.url
    return {"llm": {"backend": backend, "model": "vlm", "base_url": base, "retry_attempts": 1}, **more}


def text_of(body):
    return " ".join(part.get("text", "") for part in body["messages"][-1]["content"])


def predict(data, experiment, protocol, **more):
    store = TableStore(data / "tables")
    usage = Assistants(data=str(data)).predict(experiment, protocol, store, lambda done, total: None, lambda: "made", **more)
    return store.read(parse_protocol(protocol).table, f"{experiment}/{protocol}"), usage
