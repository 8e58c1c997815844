"""`interject run` as a user runs it: progress, a kill in the middle, going on without a repeated call, scores and a report."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import polars as pl
import pytest

from dagster_project.benchmark_runs import named_assistant, named_protocol
from ml.errors import InputError
from ml.locks import only_one
from ml.settings import load_settings
from ml.tables.store import TableStore
from tests.resources.conftest import benchmark_tables, data

__all__ = ["benchmark_tables", "data"]
COMMAND = [sys.executable, "-c", "from dagster_project.cli import main; main()", "run"]
CLIP = {"kind": "text", "when": "taken evenly from one short clip", "text": "No. They do something else.", "times": 0}


def interject(data, *arguments, **more):
    environment = os.environ | {"INTERJECT_DATA": str(data), "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    return subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False, **more)


def prompts(provider):
    return Counter(json.dumps(call["body"], sort_keys=True) for call in provider.calls())


def _kill_after_two_units(command, environment, data):
    first = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and _units(data) < 2:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()


def test_killed_in_the_middle_it_goes_on_without_repeating_a_call(data, provider):
    provider.play(CLIP, delay_s=0.7)
    one = {"units_at_once": 1, "llm": {"backend": "openai", "model": "m", "base_url": f"{provider.url}/v1"}}
    environment = os.environ | {"INTERJECT_DATA": str(data), "OMP_NUM_THREADS": "1", "INTERJECT_ASSISTANTS": json.dumps({"one": one})}
    command = [*COMMAND, "one", "cook.default"]
    _kill_after_two_units(command, environment, data)
    finished = _units(data)
    assert 2 <= finished < 4
    assert not TableStore(data / "tables").has("clip_predictions", "one/cook.default")
    time.sleep(1.0)  # the server ends the call that was under way
    second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert second.returncode == 0, second.stderr[-2000:]
    asked = prompts(provider)
    assert len(asked) == 4
    assert sum(count - 1 for count in asked.values()) <= 1  # the one under way at the kill, whose reply nobody could keep
    assert TableStore(data / "tables").read("clip_predictions", "one/cook.default")["status"].to_list() == ["ok"] * 4
    assert not list((data / "runs").glob("*.jsonl"))
    third = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "current" in third.stdout
    assert prompts(provider) == asked


def test_a_streaming_checkpoint_killed_in_the_middle_goes_on_from_what_it_kept(data):
    store = TableStore(data / "tables")
    steps = store.read("benchmark_steps", "ego")
    copies = [steps.with_columns(benchmark=pl.lit("many"), unit_id=pl.format("{}_{}", "unit_id", pl.lit(n))) for n in range(70)]
    store.write("benchmark_steps", pl.concat(copies), "many")
    store.write("benchmark_messages", store.read("benchmark_messages", "ego").clear(), "many")
    environment = os.environ | {"INTERJECT_DATA": str(data), "OMP_NUM_THREADS": "1"}
    command = [*COMMAND, "untuned_base", "many.per_step"]
    _kill_after_two_units(command, environment, data)
    (journal,) = (data / "runs").glob("*.jsonl")
    assert 2 <= _units(data) < 140
    begun, *kept = [json.loads(line) for line in journal.read_text().splitlines()[: _units(data) + 1]]
    for entry in kept:  # marked, so that a unit that is run again is seen
        entry["rows"][0]["text"] = "kept"
    journal.write_text("".join(json.dumps(entry) + "\n" for entry in (begun, *kept)))
    second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert second.returncode == 0, second.stderr[-2000:]
    found = store.read("predictions", "untuned_base/many.per_step")
    assert set(found.filter(found["text"] == "kept")["unit_id"]) == {entry["unit"] for entry in kept}
    assert found["unit_id"].n_unique() == 140
    assert not journal.exists()


def _units(data):
    return sum(max(0, len(path.read_text().splitlines()) - 1) for path in (data / "runs").glob("*.jsonl"))


def test_an_assistant_described_on_the_command_line_is_run_and_scored(data, provider):
    provider.play(CLIP)
    done = interject(data, "openai:org/vlm-1", "cook.default", "--base-url", f"{provider.url}/v1")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "MPC F1" in done.stdout
    assert "calls 4" in done.stdout
    store = TableStore(data / "tables")
    assert store.has("clip_predictions", "openai_org_vlm-1/cook.default")
    assert store.read("scores", "openai_org_vlm-1/cook.default").height
    folder = data / "reports" / "openai_org_vlm-1"
    assert {path.suffix for path in folder.iterdir()} == {".json", ".html"}


def test_a_floor_on_a_benchmark_without_a_protocol_takes_the_default_one(data):
    done = interject(data, "floor_silent", "guide")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "guide.anchor" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nobody", "cook"), "no assistant 'nobody'"),
        (("floor_silent", "absent"), "no benchmark 'absent'"),
        (("floor_silent", "cook.often"), "names no protocol"),
        (("floor_silent", "cook.default"), "cannot take part"),
    ],
)
def test_what_cannot_be_run_is_one_line(data, arguments, told):
    done = interject(data, *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_names_resolve_to_settings_or_to_a_model(data):
    settings = load_settings()
    assert named_assistant(settings, "floor_silent").assistant is None
    found = named_assistant(settings, "transformers:/models/Qwen3-VL-8B")
    assert (found.experiment, found.assistant.model) == ("transformers_models_Qwen3-VL-8B", "/models/Qwen3-VL-8B")
    claude = named_assistant(settings, "anthropic:claude-sonnet-4-5", "http://localhost:1").assistant
    assert (claude.llm.backend, claude.llm.base_url) == ("anthropic", "http://localhost:1")
    with pytest.raises(InputError, match="no assistant"):
        named_assistant(settings, "gemini:x")
    store = TableStore(data / "tables")
    assert [named_protocol(settings, store, name).name for name in ("ego", "guide", "cook", "kitchen_guideme")] == [
        "ego.per_step",
        "guide.anchor",
        "cook.default",
        "kitchen_guideme.anchor",
    ]


def test_an_address_that_is_none_is_refused():
    with pytest.raises(InputError, match=r"field ASSISTANT: base_url: an address begins with http://.*given 'localhost:8000'"):
        named_assistant(load_settings(), "openai:m", "localhost:8000")


def test_a_second_process_on_the_same_run_is_told_of_the_first(data, provider):
    provider.play(CLIP, delay_s=0.7)
    one = {"units_at_once": 1, "llm": {"backend": "openai", "model": "m", "base_url": f"{provider.url}/v1"}}
    environment = os.environ | {"INTERJECT_DATA": str(data), "OMP_NUM_THREADS": "1", "INTERJECT_ASSISTANTS": json.dumps({"one": one})}
    command = [*COMMAND, "one", "cook.default"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and _units(data) < 1:
            time.sleep(0.02)
        second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert f"process {first.pid} is running one under cook.default already. Wait for it" in second.stderr
        assert "Traceback" not in second.stderr
    assert first.returncode == 0
    assert len(prompts(provider)) == 4


def test_a_second_demo_is_told_of_the_first(tmp_path):
    with only_one(tmp_path / "locks" / "demo", "running the demo on this data folder"):
        command = [*COMMAND[:-1], "demo"]
        environment = os.environ | {"INTERJECT_DATA": str(tmp_path)}
        second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert f"process {os.getpid()} is running the demo on this data folder already" in second.stderr
    assert "Traceback" not in second.stderr
    assert not (tmp_path / "tables").exists()
