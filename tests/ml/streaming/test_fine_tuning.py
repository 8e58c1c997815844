import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from ml.errors import InputError
from ml.streaming.adapter import lora_parameters, read_adapter, untouched_matrices
from ml.streaming.batches import Draw
from ml.streaming.checkpoint_files import ADAPTER_FILE, HEAD_FILE
from ml.streaming.features import FeatureCache
from ml.streaming.fine_tuning import batch_losses, fine_tune, new_tuned, rate_share
from ml.streaming.run_state import STATE_FILE, forget_state
from ml.streaming.settings import FineTuneSettings, embedded_fine_tuning

SETTINGS = embedded_fine_tuning(steps=6, batch_size=4, save_every=2, log_every=1, lora_rank=4, lora_alpha=8, warmup_steps=2)

# Stops itself with SIGKILL in the middle of a run, as a machine would.
KILLED_RUN = """
import json, os, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from ml.streaming.features import FeatureCache
from ml.streaming.fine_tuning import fine_tune
from ml.streaming.model import load_model
from ml.streaming.samples import TrainingSample
from ml.streaming.settings import embedded_fine_tuning

work, kill_at = Path(sys.argv[1]), int(sys.argv[2])
rows = json.loads((work / "samples.json").read_text())
samples = [TrainingSample(**{**row, "messages": tuple(map(tuple, row["messages"]))}) for row in rows]
model = load_model(work / "base")
def progress(step, steps):
    if step == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
settings = embedded_fine_tuning(steps=6, batch_size=4, save_every=2, log_every=1, lora_rank=4, lora_alpha=8, warmup_steps=2)
fine_tune(model, samples, FeatureCache(work / "features", model), settings, work / "run", progress)
"""


def tune(make_model, samples, tmp_path, settings=SETTINGS, name="run"):
    model = make_model()
    return fine_tune(model, samples, FeatureCache(tmp_path / "features", model), settings, tmp_path / name)


@pytest.fixture
def tuned(make_model, samples, tmp_path):
    return tune(make_model, samples, tmp_path)


def test_adapter_and_head_are_written_together_and_load_to_the_same_outputs(tuned, make_model, samples, tmp_path):
    made, result = tuned
    assert (result.folder / ADAPTER_FILE).exists()
    assert (result.folder / HEAD_FILE).exists()
    features = FeatureCache(tmp_path / "features", made.model)
    clip = features.of_clip(samples[0].video_path, samples[0].start_s, samples[0].end_s)
    sequence = made.model.sequence()
    sequence.add_request("Peel the apple.")
    for block in range(len(clip)):
        sequence.add_block(block, f"<{block}.2 seconds>")
    with torch.no_grad():
        expected = made.head(made.model.hidden_states([sequence], [clip])[0][0, sequence.block_ends])
        base_states = make_model().hidden_states([sequence], [clip])[0]
        for merge in (False, True):
            model, head = read_adapter(make_model(), result.folder, merge=merge)
            hidden = model.hidden_states([sequence], [clip])[0]
            torch.testing.assert_close(head(hidden[0, sequence.block_ends]), expected, atol=2e-5, rtol=1e-4)
            assert not torch.allclose(hidden, base_states, atol=1e-4)


def test_the_adapter_is_on_the_language_model_alone_and_moves(tuned):
    made, _ = tuned
    names = [name for name, _ in lora_parameters(made.model.network)]
    assert not [name for name in names if "visual" in name]
    for module in ("linear_attn.in_proj_qkv", "linear_attn.in_proj_a", "linear_attn.out_proj", "self_attn.q_proj", "mlp.down_proj"):
        assert [name for name in names if module in name]
    assert untouched_matrices(made.model.network) == []


def test_gradient_checkpointing_still_trains_every_matrix(make_model, samples, tmp_path):
    made, _ = tune(make_model, samples, tmp_path, replace(SETTINGS, steps=3, gradient_checkpointing=True))
    assert untouched_matrices(made.model.network) == []


def test_every_step_is_logged_once_with_finite_losses(tuned):
    _, result = tuned
    losses = [row for row in result.log if row.metric == "loss"]
    assert [row.step for row in losses] == [1, 2, 3, 4, 5, 6]
    assert all(torch.isfinite(torch.tensor(row.value)) for row in result.log)
    assert {row.metric for row in result.log} == {"loss", "speak_loss", "reply_loss", "kind_loss"}


def test_a_killed_run_continues_to_the_same_result(make_model, samples, tmp_path):
    model = make_model()
    model.network.save_pretrained(tmp_path / "base")
    model.tokenizer.save_pretrained(tmp_path / "base")
    (tmp_path / "samples.json").write_text(json.dumps([asdict(sample) for sample in samples]))
    done = subprocess.run(
        [sys.executable, "-c", KILLED_RUN, str(tmp_path), "5"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    assert (tmp_path / "run" / STATE_FILE).exists()
    steps_done: list[int] = []
    again = make_model()
    features = FeatureCache(tmp_path / "features", again)
    fine_tune(again, samples, features, SETTINGS, tmp_path / "run", lambda step, _: steps_done.append(step))
    assert steps_done == [5, 6]
    assert features.encoded == 0
    whole = fine_tune(model, samples, FeatureCache(tmp_path / "features", model), SETTINGS, tmp_path / "whole")[1]
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if row["metric"] == "loss"] == [1, 2, 3, 4, 5, 6]
    for row, expected_row in zip(rows, whole.log, strict=True):
        assert (row["step"], row["metric"]) == (expected_row.step, expected_row.metric)
        assert row["value"] == pytest.approx(expected_row.value, abs=2e-5)
    from safetensors.torch import load_file

    resumed, unbroken = load_file(tmp_path / "run" / ADAPTER_FILE), load_file(tmp_path / "whole" / ADAPTER_FILE)
    assert resumed.keys() == unbroken.keys()
    for name, tensor in resumed.items():
        torch.testing.assert_close(tensor, unbroken[name], atol=1e-5, rtol=1e-4)
    kept: list[int] = []
    fine_tune(make_model(), samples, features, SETTINGS, tmp_path / "run", lambda step, _: kept.append(step))
    assert kept == []  # what comes after the tuning may fail and be repeated without it
    forget_state(tmp_path / "run")
    assert not (tmp_path / "run" / STATE_FILE).exists()


def test_leftovers_of_another_run_are_not_continued(make_model, samples, tmp_path):
    tune(make_model, samples, tmp_path, replace(SETTINGS, steps=2))
    _, result = tune(make_model, samples, tmp_path, replace(SETTINGS, steps=2, seed=1))
    assert [row.step for row in result.log if row.metric == "loss"] == [1, 2]


def test_a_batch_without_anything_to_say_has_a_finite_loss(make_model, samples, tmp_path):
    model = make_model()
    tuned = new_tuned(model, SETTINGS)
    silent = [Draw(replace(sample, messages=()), ()) for sample in samples[:3]]
    losses = batch_losses(silent, tuned, FeatureCache(tmp_path / "features", model), SETTINGS)
    losses.total.backward()
    assert bool(torch.isfinite(losses.total))
    assert losses.reply == 0.0
    assert all(bool(torch.isfinite(p.grad).all()) for _, p in lora_parameters(tuned.model.network) if p.grad is not None)


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_samples(make_model, samples, tmp_path):
    model = make_model()
    with torch.no_grad():
        model.core.language_model.norm.weight.fill_(float("inf"))
    with pytest.raises(FloatingPointError, match=r"not finite in 3 steps up to step 3; samples: .*0/0"):
        fine_tune(model, samples[:2], FeatureCache(tmp_path / "features", model), SETTINGS, tmp_path / "run")


@pytest.mark.parametrize("spoil", ["prefix", "missing", "shape"])
def test_an_adapter_that_does_not_match_is_refused(tuned, make_model, spoil):
    from safetensors.torch import load_file, save_file

    path = tuned[1].folder / ADAPTER_FILE
    stored = load_file(path)
    name = next(iter(stored))
    tensor = stored.pop(name)
    if spoil == "prefix":
        stored = {key.replace("base_model.model.", "", 1): value for key, value in {name: tensor, **stored}.items()}
    elif spoil == "shape":
        stored[name] = tensor[:1]
    save_file(stored, path)
    with pytest.raises(InputError, match="do not match this base"):
        read_adapter(make_model(), path.parent)


def test_a_checkpoint_without_its_head_is_refused(tuned, make_model):
    (tuned[1].folder / HEAD_FILE).unlink()
    with pytest.raises(InputError, match=f"{HEAD_FILE} is missing"):
        read_adapter(make_model(), tuned[1].folder)


def test_a_missing_video_refuses_its_samples_only(make_model, samples, tmp_path):
    gone = replace(samples[0], sample_id="gone", video_path=str(tmp_path / "none.mp4"))
    _, result = tune(make_model, [*samples, gone], tmp_path, replace(SETTINGS, steps=2))
    assert [refusal.sample_id for refusal in result.refused] == ["gone"]
    assert result.samples == len(samples)


def test_rates_warm_up_and_end_near_zero():
    for settings in (SETTINGS, FineTuneSettings()):
        assert rate_share(settings.warmup_steps, settings) == 1.0
        assert rate_share(settings.steps, settings) == pytest.approx(settings.final_share)
        assert rate_share(1, settings) <= 0.5


def test_features_are_made_once_per_recording(make_model, samples, tmp_path):
    model = make_model()
    first = FeatureCache(tmp_path / "features", model)
    assert first.prepare(samples) == []
    assert first.encoded == 2
    again = FeatureCache(tmp_path / "features", model)
    again.prepare(samples)
    assert again.encoded == 0
    assert torch.equal(again.of_recording(samples[0].video_path, 5), first.of_recording(samples[0].video_path, 5))
    assert FeatureCache(tmp_path / "features", make_model(seed=1)).prepare(samples) == []


def test_a_stream_past_the_end_of_its_video_is_refused(make_model, samples, tmp_path):
    with pytest.raises(InputError, match="the video ends at"):
        FeatureCache(tmp_path / "features", make_model()).of_clip(samples[0].video_path, 0.0, 1000.0)
