"""Experiments from the settings to stored predictions: over HTTP with pictures, through transformers, embedded, and floors."""

import base64
import io
import json
from itertools import pairwise

import polars as pl
import pytest
from PIL import Image

from ml.embeddings.encoder import embedded_model_folder
from ml.errors import InputError
from ml.settings import load_settings
from ml.streaming.checkpoint_files import ADAPTER_CONFIG_FILE, ADAPTER_FILE, HEAD_FILE, THRESHOLDS_FILE, seal
from ml.tables.store import TableStore
from resources.assistants import Assistants
from resources.checkpoints import Checkpoints
from resources.scoring import Scorers
from tests.resources.conftest import answers, predict, served, text_of

NOT_YET = answers("Is this step finished", "NO. It has just begun.")
NO_MISTAKE = answers("Has the person made a mistake", "NO.")
SILENT = answers("the single word Silent", "Silent.")
CLIP = answers("taken evenly from one short clip", "No. They do something else.")


def pictures(body):
    """Decoded pictures of a request of either provider."""
    found = []
    for part in body["messages"][-1]["content"]:
        data = part["image_url"]["url"].partition(",")[2] if part["type"] == "image_url" else part.get("source", {}).get("data")
        if data:
            found.append(Image.open(io.BytesIO(base64.b64decode(data))))
    return found


@pytest.mark.parametrize("backend", ["openai", "anthropic"])
def test_turns_over_http_are_asked_every_five_seconds_with_pictures(assistants, provider, backend):
    data = assistants(m=served(provider, backend, max_images=8))
    feedback = answers("Has the person made a mistake", "YES. Use a whisk instead, please.", 1)
    provider.play(NOT_YET, feedback, NO_MISTAKE)
    found, usage = predict(data, "m", "ego.per_step.true_end")
    calls = provider.calls()
    steps = TableStore(data / "tables").read("benchmark_steps", "ego")
    polls = sum(int((end - start) / 5 + 1e-9) for start, end in steps.select("start_s", "end_s").iter_rows())
    assert len(calls) == 2 * polls == usage["calls"]
    assert found.filter(found["kind"] == "feedback")["text"].to_list() == ["Use a whisk instead, please."]
    for call in calls:
        shown = pictures(call["body"])
        assert 1 <= len(shown) <= 8
        assert all(max(picture.size) <= 448 for picture in shown)
    later = [text_of(c["body"]) for c in calls if "Has the person made a mistake" in text_of(c["body"])][1:]
    assert "Use a whisk instead" in later[0]  # given back, so that it is not said again


def test_guideme_over_http_asks_at_every_anchor_with_the_window_and_true_history(assistants, provider, monkeypatch):
    data = assistants(m=served(provider))
    provider.play(SILENT)
    found, _ = predict(data, "m", "guide.anchor-window30")
    assert set(found["said"]) == {"Silent."}
    bodies = {float(text_of(c["body"]).split("second ")[1].split(" ")[0]): c["body"] for c in provider.calls()}
    assert sorted(bodies) == found["t_s"].to_list()
    turns = TableStore(data / "tables").read("benchmark_turns", "guide").filter(pl.col("speaker") == "assistant")
    for now_s, body in bodies.items():
        assert len(pictures(body)) == min(30, int(now_s) + (now_s < 30))
        for t_s, text in turns.select("t_s", "text").iter_rows():
            assert (f"[{t_s:g} s] assistant: {text}" in text_of(body)) == (t_s < now_s)

    def rates():
        scores = Scorers(data=str(data)).score("m", "guide.anchor-window30", TableStore(data / "tables"))
        return {metric: value for metric, group, value in scores.select("metric", "group", "value").iter_rows() if group == "all"}

    assert rates()["cs"] + rates()["nr"] == 0  # the released scorer knows no full stop after the word
    monkeypatch.setenv("INTERJECT_BENCHMARKS__GUIDEME_PROFILE", "development")
    assert rates()["cs"] + rates()["nr"] == pytest.approx(100.0)


def test_own_history_holds_what_was_said_and_no_reference(assistants, provider):
    data = assistants(m=served(provider))
    said = answers("the single word Silent", "Keep going.")
    provider.play({**SILENT, "times": 2}, said)
    found, _ = predict(data, "m", "guide.anchor-own")
    texts = [text_of(call["body"]) for call in provider.calls()]
    assert ["Keep going." in text for text in texts] == [False, False, False] + [True] * (len(texts) - 3)
    assert not any("Good, " in text for text in texts)
    assert found.height == len(texts)


@pytest.mark.parametrize("backend", ["openai", "anthropic"])
def test_single_clips_over_http_with_and_without_hint(assistants, provider, backend, monkeypatch):
    data = assistants(m=served(provider, backend))
    provider.play(CLIP, {**CLIP, "when": "Look at one thing only"})
    plain, _ = predict(data, "m", "cook.default")
    assert [len(pictures(call["body"])) for call in provider.calls()] == [16] * 4
    hinted, _ = predict(data, "m", "cook.hint")
    clips = TableStore(data / "tables").read("benchmark_clips", "cook")
    asked = sum(1 if one else len(elements) for one, elements in clips.select("element", "elements").iter_rows())
    assert (plain.height, hinted.height) == (4, asked)
    everything, usage = predict(data, "m", "cook.hint-all")
    assert everything.height == clips["elements"].list.len().sum()
    assert usage["calls"] == everything.height - asked  # own hints were answered before
    monkeypatch.setenv("INTERJECT_BENCHMARKS__OPTIONS", json.dumps({"cook_mre": ["mistake_prompts=all"]}))
    under_all = Scorers(data=str(data)).score("m", "cook.hint-all", TableStore(data / "tables"))
    assert under_all.filter((under_all["metric"] == "mpc_f1") & (under_all["group"] == "all"))["value"][0] == 0  # claims one under each
    with pytest.raises(InputError, match="hint-all"):
        Scorers(data=str(data)).score("m", "cook.hint", TableStore(data / "tables"))
    monkeypatch.delenv("INTERJECT_BENCHMARKS__OPTIONS")
    scores = Scorers(data=str(data)).score("m", "cook.default", TableStore(data / "tables"))
    assert scores.filter((scores["metric"] == "mpc_f1") & (scores["group"] == "all"))["value"][0] > 0.5


def test_temperature_pictures_of_a_clip_and_the_simple_prompt_are_settings(assistants, provider):
    data = assistants(
        plain=served(provider), drawn=served(provider, temperature=0.1, clip_frames="ends"), small=served(provider, detailed_prompt=False)
    )
    provider.play(CLIP)
    predict(data, "plain", "cook.default")
    bodies = [call["body"] for call in provider.calls()]
    provider.play(CLIP)
    predict(data, "drawn", "cook.default")
    others = [call["body"] for call in provider.calls()]
    assert {body["temperature"] for body in bodies} == {0.0}
    assert {body["temperature"] for body in others} == {0.1}
    assert all("at these seconds of it: 0.0," in text_of(body) for body in others)
    assert not {text_of(body) for body in bodies} & {text_of(body) for body in others}
    provider.play(
        NOT_YET, answers("Has the person done something", "YES. Use a whisk instead, please.", 1), answers("Has the person", "NO.")
    )
    predict(data, "small", "ego.per_step.true_end")
    asked = [text_of(c["body"]) for c in provider.calls() if "Has the person done something" in text_of(c["body"])]
    assert "- technique:" not in asked[0]
    assert "Use a whisk instead" in asked[1]  # given back under the simple prompt too


def test_options_and_bertscore_of_the_settings_reach_stored_scores(data, monkeypatch):
    store = TableStore(data / "tables")
    predict(data, "floor_always_speak", "ego.per_step")
    plain = Scorers(data=str(data)).score("floor_always_speak", "ego.per_step", store)
    monkeypatch.setenv("INTERJECT_BENCHMARKS__OPTIONS", json.dumps({"ego": ["half_window_s=1"]}))
    monkeypatch.setenv("INTERJECT_BENCHMARKS__BERTSCORE", json.dumps({"model": str(embedded_model_folder()), "layers": 2}))
    other = Scorers(data=str(data)).score("floor_always_speak", "ego.per_step", store)
    assert "bertscore" not in set(plain["metric"])
    assert "bertscore" in set(other["metric"])
    assert set(plain["options_hash"]).isdisjoint(other["options_hash"])
    monkeypatch.setenv("INTERJECT_BENCHMARKS__OPTIONS", json.dumps({"ego": ["window=1"]}))
    with pytest.raises(InputError, match="no option 'window'"):
        load_settings()


def test_a_second_run_repeats_no_call_and_units_run_side_by_side(assistants, provider):
    data = assistants(m=served(provider, units_at_once=3))
    provider.play(CLIP, delay_s=0.3)
    first, usage = predict(data, "m", "cook.default")
    assert provider.peak() == 3
    again, repeated = predict(data, "m", "cook.default")
    assert again.equals(first)
    assert (usage["calls"], repeated["calls"], repeated["cache_hits"]) == (4, 0, 4)
    assert not list((data / "runs").glob("*.jsonl"))


def test_a_failed_answer_is_a_row_and_a_wrong_key_ends_the_run(assistants, provider):
    data = assistants(m=served(provider, units_at_once=1))
    provider.play({"kind": "status", "status": 400, "body": {"error": {"message": "picture too odd"}}, "times": 1}, CLIP)
    found, _ = predict(data, "m", "cook.default")
    assert sorted(found["status"].to_list()) == ["error", "ok", "ok", "ok"]
    assert "picture too odd" in found.filter(found["status"] == "error")["reason"][0]
    provider.play({"kind": "status", "status": 401, "body": {"error": {"message": "bad key"}}, "times": 0})
    with pytest.raises(InputError, match="bad key"):
        predict(data, "m", "cook.hint")
    assert len(provider.calls()) == 1


def test_a_run_of_which_every_item_failed_is_a_failed_run_and_stores_nothing(assistants, provider):
    data = assistants(m=served(provider))
    provider.play({"kind": "status", "status": 400, "body": {"error": {"message": "no pictures here"}}, "times": 0})
    with pytest.raises(InputError, match="all 4 items failed"):
        predict(data, "m", "cook.default")
    assert not TableStore(data / "tables").has("clip_predictions", "m/cook.default")


def test_a_budget_stops_before_the_call_and_a_larger_one_goes_on(assistants, provider):
    llm = served(provider)["llm"]
    data = assistants(m={"llm": {**llm, "budget_calls": 2}, "units_at_once": 1})
    provider.play(CLIP)
    with pytest.raises(InputError, match="budget is spent"):
        predict(data, "m", "cook.default")
    assert len(provider.calls()) == 2
    assistants(m={"llm": llm, "units_at_once": 1})
    found, usage = predict(data, "m", "cook.default")
    assert found["status"].to_list() == ["ok"] * 4
    assert usage["calls"] == 2


def test_the_embedded_model_answers_clips_offline_and_keeps_its_descriptions(data):
    found, usage = predict(data, "embedded_clips", "cook.default")
    assert set(found["status"]) == {"ok"}
    assert all(answer.startswith(("Yes. ", "No. ")) for answer in found["answer"])
    _, again = predict(data, "embedded_clips", "cook.hint")
    assert usage["calls"] >= 1
    assert again["calls"] == 0


def test_floors_of_every_family(data):
    silent, _ = predict(data, "floor_silent", "guide.anchor")
    assert set(silent["said"]) == {"Silent"}
    talking, _ = predict(data, "floor_always_speak", "guide.dense")
    assert "Silent" not in set(talking["said"])
    alert, _ = predict(data, "floor_alert_every_10s", "guide.dense")
    spoken = alert.filter(alert["said"] != "Silent")["t_s"].to_list()
    assert {b - a for a, b in pairwise(spoken)} == {10.0}
    scorers, store = Scorers(data=str(data)), TableStore(data / "tables")
    for experiment, expected in (("floor_always_mistake", 0.0), ("floor_always_correct", None)):
        predict(data, experiment, "cook.default")
        scores = scorers.score(experiment, "cook.default", store)
        value = scores.filter((scores["metric"] == "full_pass") & (scores["group"] == "all"))["value"][0]
        clips = store.read("benchmark_clips", "cook")
        assert value == (expected if expected is not None else clips["element"].null_count() / clips.height)


@pytest.mark.parametrize(
    ("experiment", "protocol"),
    [
        ("floor_always_mistake", "guide.anchor"),
        ("floor_duration_timer", "cook.hint"),
        ("untuned_base", "cook.default"),
        ("embedded_clips", "ego.per_step"),
        ("comist_plus", "cook.default"),
    ],
)
def test_who_cannot_take_part_is_refused(data, experiment, protocol):
    assert not load_settings().takes_part(experiment, protocol)
    with pytest.raises(InputError, match="cannot take part"):
        predict(data, experiment, protocol)


def test_an_absent_benchmark_and_an_unknown_experiment_are_named(data):
    with pytest.raises(InputError, match="'absent' is not in benchmark_clips"):
        predict(data, "floor_always_correct", "absent.default")
    with pytest.raises(InputError, match="no experiment 'nobody'"):
        predict(data, "nobody", "cook.default")


def test_nothing_is_written_where_a_video_changed_during_the_run(assistants, provider):
    data = assistants(m=served(provider))
    provider.play(CLIP)
    told = iter(["before", "after"])
    store = TableStore(data / "tables")
    with pytest.raises(InputError, match="changed during the run, so nothing is written"):
        Assistants(data=str(data)).predict("m", "cook.default", store, lambda done, total: None, lambda: next(told))
    assert not store.has("clip_predictions", "m/cook.default")


@pytest.mark.parametrize(
    ("experiment", "protocol"),
    [
        ("floor_alert_every_10s", "ego.full_recipe"),
        ("floor_silent", "guide.dense"),
        ("floor_always_mistake", "cook.default"),
        ("untuned_base", "ego.per_step"),
    ],
)
def test_floors_and_checkpoints_keep_finished_units_for_the_same_inputs_only(data, experiment, protocol):
    store, files = TableStore(data / "tables"), data / "runs"

    def ended(done, total):
        if done == 1:
            raise KeyboardInterrupt

    def run(progress, made_from):
        Assistants(data=str(data)).predict(experiment, protocol, store, progress, lambda: made_from)

    with pytest.raises(KeyboardInterrupt):
        run(ended, "one")
    (journal,) = files.glob("*.jsonl")
    assert len(journal.read_text().splitlines()) == 2
    seen = []
    run(lambda done, total: seen.append(done), "one")
    assert seen[0] == 1
    assert not journal.exists()
    with pytest.raises(KeyboardInterrupt):
        run(ended, "one")
    seen.clear()
    run(lambda done, total: seen.append(done), "another")
    assert seen[0] == 0


def test_a_checkpoint_tuned_anew_does_not_go_on_with_rows_of_the_old_one(data):
    """The same mix and settings, so the same fingerprint, but other weights."""
    folder = Checkpoints(data=str(data)).folder("comist_plus")
    folder.mkdir(parents=True)
    journals = []
    for weights in (b"old", b"new", b"new"):
        for name in (ADAPTER_FILE, ADAPTER_CONFIG_FILE, HEAD_FILE, THRESHOLDS_FILE):
            (folder / name).write_bytes(weights)
        seal(folder, "made")
        journals.append(Assistants(data=str(data)).journal("comist_plus", "ego.per_step", "made"))
        assert ("unit" in journals[-1].finished) == (len(journals) == 3)
        journals[-1].keep("unit", [{"status": "ok"}])


def test_what_cannot_be_run_leaves_no_journal(data):
    with pytest.raises(InputError, match="'absent' is not in benchmark_steps"):
        predict(data, "floor_silent", "absent.per_step")
    assert not list((data / "runs").glob("*.jsonl"))
