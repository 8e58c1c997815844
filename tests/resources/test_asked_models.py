"""Models behind assistants of kind narration: what a narrator and its helper make of a benchmark, what fails, and what is kept."""

import json

import pytest

from ml.errors import InputError
from ml.setting_sections.benchmarks import Assistant
from ml.tables.store import TableStore
from ml.video.windows import Window, WindowFrames
from resources.asked_models import opened
from tests.ml.narration.tiny_models import build, plain_frames
from tests.resources.conftest import answers, predict, served, text_of


def test_narrations_and_their_helper_over_http(assistants, provider):
    llm = served(provider)["llm"]
    data = assistants(m={"kind": "narration", "llm": llm, "helper": llm})
    told = answers("Write one to four plain sentences", "The person stirs.")
    helper = answers("is this step finished", "NO")
    mistake = answers("has the person done something", "YES. Fold it.")
    provider.play(told, helper, mistake)
    found, usage = predict(data, "m", "ego.per_step")
    assert set(found["text"]) == {"Fold it."}
    assert usage["calls"] == len(provider.calls())  # the narrator's among them
    assert usage["model"] == "vlm, vlm"
    asked = [text_of(call["body"]) if isinstance(call["body"]["messages"][-1]["content"], list) else call["body"]["messages"][-1]["content"]
             for call in provider.calls()]  # fmt: skip
    assert any("The person stirs." in text and "Its notes" in text for text in asked)


@pytest.mark.parametrize("is_listening", [True, False])
def test_a_dead_narrator_with_a_live_helper_is_a_failed_run(assistants, provider, is_listening):
    helper = served(provider)["llm"]
    narrator = helper if is_listening else {**helper, "base_url": "http://127.0.0.1:9/v1", "retry_total_s": 1}
    data = assistants(m={"kind": "narration", "llm": narrator, "helper": helper})
    refused = {"kind": "status", "status": 400, "when": "Write one to four", "body": {"error": {"message": "no pictures here"}}, "times": 0}
    provider.play(refused, answers("", "NO"))
    with pytest.raises(InputError, match=f"all 2 items failed.*{'no pictures here' if is_listening else 'no connection'}"):
        predict(data, "m", "ego.per_step")
    assert not TableStore(data / "tables").has("predictions", "m/ego.per_step")
    assert not any("no narration" in json.dumps(call["body"]) for call in provider.calls())


def test_a_narrator_without_a_key_ends_the_run(assistants, provider):
    llm = served(provider)["llm"]
    data = assistants(m={"kind": "narration", "llm": llm, "helper": llm})
    provider.play({"kind": "status", "status": 401, "when": "Write one to four", "body": {"error": {"message": "bad key"}}, "times": 0})
    with pytest.raises(InputError, match=r"narrator: .*bad key.*Mend this and run again; paid replies are kept$"):
        predict(data, "m", "ego.per_step")


def test_a_local_narrator_narrates_no_window_twice(assistants, provider):
    data = assistants(m={"kind": "narration", "backend": "embedded", "helper": served(provider)["llm"]})
    provider.play(answers("", "NO"))
    found, usage = predict(data, "m", "ego.per_step")
    asked = len(provider.calls())
    narrated = usage["calls"] - asked
    assert asked >= narrated > 1
    again, repeated = predict(data, "m", "ego.per_step")
    assert again.equals(found)
    assert (repeated["calls"], repeated["cache_hits"]) == (0, usage["calls"] + usage["cache_hits"])
    assert len(provider.calls()) == asked


def test_texts_of_a_transformers_narrator_are_kept_by_its_weights(assistants, provider, tmp_path):
    build(tmp_path / "model")
    helper = served(provider)["llm"]
    chosen = Assistant(kind="narration", backend="transformers", model=str(tmp_path / "model"), device="cpu", helper=helper)
    window = WindowFrames(Window(0, 0.0, 2.0), (0.0, 2.0), plain_frames((220, 20, 20), 2))

    def narrated():
        with opened(chosen, tmp_path) as model:
            return model.narrator.describe([window]), model.usage()

    first, used = narrated()
    again, repeated = narrated()
    assert again == first
    assert [(one["calls"], one["cache_hits"]) for one in (used, repeated)] == [(1, 0), (0, 1)]
    build(tmp_path / "model")  # written anew
    assert narrated()[1]["calls"] == 1
