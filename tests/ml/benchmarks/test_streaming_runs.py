"""Batched runs say what cached streaming says, on real videos of the sample kitchen and the embedded base."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

from ml.benchmarks.running import RunJournal
from ml.benchmarks.streaming_runs import predict_full_recipe, predict_per_step
from ml.sample_kitchen.script import make_recording
from ml.sample_kitchen.video_file import write_video
from ml.sample_kitchen.wording import instruction_text
from ml.sample_kitchen.world import KitchenSplit
from ml.streaming.features import FeatureCache
from ml.streaming.model import load_model
from ml.streaming.runtime import StreamingAssistant
from ml.streaming.samples import block_range, block_times
from ml.streaming.untuned import UntunedSpeaker
from ml.streaming.weights_location import WEIGHTS_FOLDER
from ml.tables.declarations.benchmarks import BENCHMARK_STEPS

SEEDS = (9_001, 9_002)


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    rows = []
    for seed in SEEDS:
        recording = make_recording(seed, KitchenSplit.EVALUATION)
        path = folder / f"{seed}.mp4"
        write_video(recording, path, Fraction(4))
        for step in recording.steps:
            rows.append(
                {
                    "benchmark": "b",
                    "unit_id": f"r{seed}/{step.index}",
                    "recording_id": f"r{seed}",
                    "position": step.index,
                    "start_s": step.start_s,
                    "end_s": step.end_s,
                    "instruction": instruction_text(step.instruction),
                    "mistake_type": None,
                    "video_path": str(path),
                }
            )
    speaker = UntunedSpeaker(load_model(WEIGHTS_FOLDER))
    return BENCHMARK_STEPS.rows(rows), speaker, FeatureCache(folder / "features", speaker.model)


def streamed(speaker, features, steps, one_stream):
    """(unit, kind, time, text) by cached streaming, block after block."""
    said = []
    groups = [[step] for step in steps] if not one_stream else [[s for s in steps if s["recording_id"] == f"r{seed}"] for seed in SEEDS]
    for group in groups:
        assistant = StreamingAssistant(speaker)
        assistant.start(group[0]["instruction"], group[0]["start_s"])
        current, end_s = 0, max(step["end_s"] for step in group)
        clip = features.of_clip(group[0]["video_path"], group[0]["start_s"], end_s)
        for block, block_features in zip(block_range(group[0]["start_s"], end_s), clip, strict=True):
            utterance = assistant.observe_features(block_features, block_times(block))
            if utterance is None:
                continue
            said.append((group[current]["unit_id"], str(utterance.kind), utterance.t_s, utterance.text))
            if utterance.kind == "success":
                current += 1
                if current == len(group):
                    break
                assistant.give_instruction(group[current]["instruction"], utterance.t_s)
    return said


def spoken(frame):
    return list(frame.filter(frame["kind"].is_not_null()).select("unit_id", "kind", "t_s", "text").iter_rows())


@pytest.mark.parametrize("one_stream", [False, True], ids=["per_step", "full_recipe"])
def test_batched_runs_equal_cached_streaming(benchmark, one_stream):
    steps, speaker, features = benchmark
    run = predict_full_recipe if one_stream else predict_per_step
    batched = spoken(run(speaker, features, steps, experiment="e", protocol="b.full_recipe" if one_stream else "b.per_step.true_end"))
    assert batched == streamed(speaker, features, steps.to_dicts(), one_stream)
    assert batched


def test_a_step_without_video_is_a_failed_row(benchmark):
    steps, speaker, features = benchmark
    blind = steps.with_columns(video_path=None).cast(dict(BENCHMARK_STEPS.polars_schema))
    frame = predict_per_step(speaker, features, blind, experiment="e", protocol="b.per_step")
    assert set(frame["status"]) == {"no_video"}
    assert frame.height == steps.height
    whole = predict_full_recipe(speaker, features, blind, experiment="e", protocol="b.full_recipe")
    assert set(whole["status"]) == {"no_video"}


class Spoilt:
    """Features of which those of one video cannot be read, or do not fit the model."""

    def __init__(self, features, spoilt, how):
        self.features, self.spoilt, self.how = features, spoilt, how

    def of_clip(self, video_path, start_s, end_s):
        clip = self.features.of_clip(video_path, start_s, end_s)
        if self.spoilt not in video_path:
            return clip
        if self.how == "unreadable":
            raise RuntimeError("the decoder gave up")
        return clip[..., :3]


@pytest.mark.parametrize("how", ["unreadable", "unfitting"])
@pytest.mark.parametrize("run", [predict_per_step, predict_full_recipe])
def test_what_one_recording_raises_is_its_own_failed_row(benchmark, run, how):
    steps, speaker, features = benchmark
    named = {"experiment": "e", "protocol": "b.full_recipe" if run is predict_full_recipe else "b.per_step"}
    found = run(speaker, Spoilt(features, str(SEEDS[0]), how), steps, **named)
    bad = found.filter(found["recording_id"] == f"r{SEEDS[0]}")
    assert set(bad["status"]) == {"error"}
    assert bad["reason"].str.starts_with("RuntimeError: ").all()
    assert bad.height == (1 if run is predict_full_recipe else steps.filter(steps["recording_id"] == f"r{SEEDS[0]}").height)
    good = run(speaker, features, steps.filter(steps["recording_id"] != f"r{SEEDS[0]}"), **named)
    assert found.filter(found["recording_id"] != f"r{SEEDS[0]}").drop("score").equals(good.drop("score"))


@pytest.mark.parametrize("run", [predict_per_step, predict_full_recipe])
def test_a_run_that_was_ended_goes_on_with_what_its_journal_lacks(benchmark, run, tmp_path):
    steps, speaker, features = benchmark
    named = {"experiment": "e", "protocol": "b.full_recipe" if run is predict_full_recipe else "b.per_step"}
    seen, path = [], tmp_path / "run.jsonl"

    def end_early(done, total):
        seen.append(done)
        if done == total - 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(speaker, features, steps, **named, journal=RunJournal(path, "v1"), progress=end_early)
    assert seen == list(range(len(seen)))  # one after the other, from nothing on
    journal = RunJournal(path, "v1")
    kept = set(journal.finished)
    assert len(kept) == len(seen) - 1
    opened = []
    watched = SimpleNamespace(of_clip=lambda *clip: opened.append(clip) or features.of_clip(*clip))
    resumed = run(speaker, watched, steps, **named, journal=journal)
    assert len(opened) == 1
    assert resumed.drop("score").equals(run(speaker, features, steps, **named).drop("score"))
