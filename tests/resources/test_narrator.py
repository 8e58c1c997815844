"""The narrator that the settings name: Claude through the same client as every other model, with its spend."""

import pytest

from ml.narration.stage import narrate_recording
from ml.settings import load_settings
from resources.narrator import NarratorModel, open_narrator
from tests.ml.llm.provider import Provider
from tests.ml.video.films import make_film


def test_claude_narrates_from_pictures_and_its_cost_is_told(provider: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    provider.play({"kind": "text", "text": "The person stirs.", "times": 0})
    chosen = {"backend": "anthropic", "model": "claude-haiku-4-5", "base_url": provider.url, "frames_per_second": 0.4}
    model = NarratorModel()
    model._narrator = open_narrator(load_settings(data=tmp_path, narration=chosen))
    path = make_film(tmp_path / "a.mp4", 150, 10)
    rows = narrate_recording("raw_videos/film", path, 15.0, model.get)
    assert rows["text"].to_list() == ["The person stirs."] * 2
    assert rows["narrator"][0] == "anthropic/claude-haiku-4-5"
    blocks = provider.calls()[0]["body"]["messages"][0]["content"]
    assert [block["type"] for block in blocks] == ["image"] * 4 + ["text"]
    told = model.spend()
    assert told["run calls"] == 2
    assert told["run money usd"] == pytest.approx(2 * (10 * 1.0 + 5 * 5.0) / 1e6)


def test_a_model_that_runs_here_costs_nothing():
    assert NarratorModel().spend() == {}
