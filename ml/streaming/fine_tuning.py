"""Fine-tuning for streaming: LoRA on the language model and the speak/silent head, resumable at any step.

After EGO-MC-Bench section 5 and appendix G: the head predicts speak or stay silent at every ``<|vision_end|>``; where it speaks the
language model writes the message. The vision tower stays as it is, so its features are made once (``features``).
Samples and targets are in ``samples``, batches in ``batches``, thresholds in ``thresholds``.
"""

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ml.errors import InputError
from ml.streaming.adapter import add_lora, lora_parameters, untouched_matrices, write_adapter
from ml.streaming.batches import BatchPlan, Draw
from ml.streaming.fast_cpu import flushed_denormals
from ml.streaming.features import FeatureCache
from ml.streaming.head import SpeakHead, speak_loss
from ml.streaming.model import StreamingModel
from ml.streaming.run_state import LogRow, RunFolder
from ml.streaming.samples import BuiltSample, Refusal, TrainingSample, build_sample, check_samples
from ml.streaming.settings import Decay, FineTuneSettings

ADAPTER_CHECK_STEP = 3
MOST_UNREADABLE = 0.01  # share of samples that may be left out because their video is gone
Progress = Callable[[int, int], None]


@dataclass
class Tuned:
    """A tuned model in memory: network with its adapter, and its head."""

    model: StreamingModel
    head: SpeakHead


@dataclass(frozen=True)
class FineTuneResult:
    """``folder`` holds adapter and head; ``refused`` samples were left out; ``log`` is the whole run's, over all sittings."""

    folder: Path
    steps: int
    elapsed_s: float
    samples: int
    refused: tuple[Refusal, ...]
    log: tuple[LogRow, ...]


@dataclass
class Losses:
    """Loss terms of one batch. ``total`` carries the gradient."""

    total: torch.Tensor
    speak: float
    reply: float
    kind: float


def fine_tune(
    base: StreamingModel,
    samples: Sequence[TrainingSample],
    features: FeatureCache,
    settings: FineTuneSettings,
    folder: Path,
    progress: Progress | None = None,
) -> tuple[Tuned, FineTuneResult]:
    """Tune ``base`` (changed in place) on ``samples`` and write adapter and head to ``folder``.

    Killed at any moment, the same call continues from the last saved step and draws the batches that the unbroken run would have drawn;
    after the last step too, until ``forget_state``. Raises InputError when no sample is usable, when more than one and 1 % of them have
    no readable video, or the adapter gets no gradient; FloatingPointError after ``max_bad_steps`` steps in a row
    whose loss or gradient is not finite, naming their samples.
    """
    unreadable = dict(features.prepare(samples))
    refused = [Refusal(sample.sample_id, unreadable[sample.video_path]) for sample in samples if sample.video_path in unreadable]
    if len(refused) > max(1, MOST_UNREADABLE * len(samples)):
        raise InputError(
            f"{len(refused)} of {len(samples)} samples have no readable video, the first because of: {refused[0].reason}",
            file="training_mix",
            record=refused[0].sample_id,
            remedy="Put the videos back, or materialize video_probe and what follows",
        )
    kept, more = check_samples([sample for sample in samples if sample.video_path not in unreadable], base, settings)
    if not kept:
        raise InputError("no training sample has a readable video", record=refused[0].sample_id if refused else None)
    run = RunFolder(folder, run_fingerprint(base, kept, settings))
    tuned = new_tuned(base, settings)
    trained = [parameter for _, parameter in lora_parameters(tuned.model.network)]
    optimizer = torch.optim.AdamW(
        [
            {"params": trained, "lr": settings.learning_rate, "peak": settings.learning_rate},
            {"params": list(tuned.head.parameters()), "lr": settings.head_learning_rate, "peak": settings.head_learning_rate},
        ],
        weight_decay=settings.weight_decay,
        betas=(0.9, 0.98),
    )
    plan = BatchPlan(kept, settings)
    done, spent_s = 0, 0.0
    state = run.load()
    if state is not None:
        _restore(state, tuned, optimizer)
        done, spent_s = int(state["step"]), float(state["elapsed_s"])
    with flushed_denormals():
        spent_s = _train(tuned, optimizer, plan, features, settings, run, done, spent_s, progress)
    tuned.model.network.eval()
    tuned.head.eval()
    write_adapter(tuned.model, tuned.head, folder)
    return tuned, FineTuneResult(folder, settings.steps, spent_s, len(kept), (*refused, *more), tuple(run.log()))


def _train(
    tuned: Tuned,
    optimizer: torch.optim.Optimizer,
    plan: BatchPlan,
    features: FeatureCache,
    settings: FineTuneSettings,
    run: RunFolder,
    done: int,
    spent_s: float,
    progress: Progress | None,
) -> float:
    """Steps ``done + 1`` to the last, saved and logged in ``run``; returns the seconds spent over all sittings."""
    trained = [parameter for _, parameter in lora_parameters(tuned.model.network)]
    began = time.monotonic()
    bad: list[str] = []
    bad_steps = 0
    window: list[tuple[float, float, float, float]] = []
    tuned.model.network.train()
    tuned.head.train()
    for step in range(done + 1, settings.steps + 1):
        share = rate_share(step, settings)
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * share
        torch.manual_seed(settings.seed * 1_000_003 + step)
        draws = plan.batch(step)
        optimizer.zero_grad(set_to_none=True)
        parts = []
        for part in _micro_batches(draws, settings.accumulation):
            losses = batch_losses(part, tuned, features, settings)
            (losses.total * (len(part) / len(draws))).backward()
            parts.append((losses.total.item(), losses.speak, losses.reply, losses.kind))
        norm = float(nn.utils.clip_grad_norm_([*trained, *tuned.head.parameters()], settings.clip_norm))
        if math.isfinite(norm) and all(math.isfinite(part[0]) for part in parts):
            optimizer.step()
            bad, bad_steps = [], 0
            window.append(tuple(np.mean(parts, axis=0)))
        else:
            bad_steps += 1
            bad += [draw.sample.sample_id for draw in draws]
            if bad_steps >= settings.max_bad_steps:
                raise FloatingPointError(f"loss or gradient not finite in {bad_steps} steps up to step {step}; samples: {', '.join(bad)}")
        if step == min(ADAPTER_CHECK_STEP, settings.steps) and not bad_steps:
            untouched = untouched_matrices(tuned.model.network)
            if untouched:
                raise InputError(f"{len(untouched)} LoRA matrices get no gradient, e.g. {untouched[0]}", remedy="Check target modules")
        elapsed_s = spent_s + time.monotonic() - began
        if window and (step % settings.log_every == 0 or step == settings.steps):
            means = np.mean(window, axis=0)
            values = dict(zip(("loss", "speak_loss", "reply_loss", "kind_loss"), map(float, means), strict=True))
            run.append([LogRow(step, name, round(value, 6), round(elapsed_s, 3)) for name, value in values.items()])
            window = []
        if step % settings.save_every == 0 or step == settings.steps:
            run.save(_state(step, elapsed_s, tuned, optimizer))
        if progress is not None:
            progress(step, settings.steps)
    return spent_s + time.monotonic() - began


def new_tuned(base: StreamingModel, settings: FineTuneSettings) -> Tuned:
    """A fresh adapter and head on ``base``."""
    model = add_lora(base, settings.lora_rank, settings.lora_alpha, settings.lora_dropout, settings.seed)
    if settings.gradient_checkpointing:
        # Not reentrant: the reentrant form gives no gradient at all when its inputs (frozen embeddings) need none.
        model.core.language_model.activation_checkpointing_enable({"use_reentrant": False})
    torch.manual_seed(settings.seed + 1)
    return Tuned(model, SpeakHead(model.hidden_size).to(model.device))


def batch_losses(draws: Sequence[Draw], tuned: Tuned, features: FeatureCache, settings: FineTuneSettings) -> Losses:
    """Loss of a batch. Finite also for a batch without any speak target or reply."""
    model = tuned.model
    built = [build_sample(draw.sample, model, settings, draw.delays) for draw in draws]
    clips = [
        features.of_clip(draw.sample.video_path, draw.sample.start_s, draw.sample.end_s)[: len(sample.sequence.blocks)]
        for draw, sample in zip(draws, built, strict=True)
    ]
    hidden, _ = _autocast_hidden(model, built, clips)
    device = hidden.device
    ends = torch.tensor([(row, index) for row, sample in enumerate(built) for index in sample.sequence.block_ends], device=device)
    at_ends = hidden[ends[:, 0], ends[:, 1]]
    speak = speak_loss(
        tuned.head(at_ends),
        torch.tensor([value for sample in built for value in sample.speak], device=device),
        torch.tensor([value for sample in built for value in sample.weights], device=device),
        balance=settings.balance,
        positive_weight=settings.positive_weight,
    )
    places = [(row, index, token, weight) for row, sample in enumerate(built) for index, token, weight in sample.replies]
    offsets = np.cumsum([0, *(len(sample.sequence.block_ends) for sample in built)])
    kinds = [(int(offsets[row]) + index, token) for row, sample in enumerate(built) for index, token in sample.kinds]
    reply = kind = speak.new_zeros(())
    if places:
        rows, indices, tokens, weights = (list(column) for column in zip(*places, strict=True))
        scores = model.lm_head(hidden[rows, indices]).float()
        each = functional.cross_entropy(scores, torch.tensor(tokens, device=device), reduction="none")
        factors = torch.tensor(weights, device=device)
        reply = (each * factors).sum() / factors.sum()
    if kinds and settings.kind_weight:
        pair = torch.tensor([model.tokens.feedback, model.tokens.success], device=device)
        logits = model.lm_head(at_ends[[place for place, _ in kinds]]).float()[:, pair]
        wanted = torch.tensor([int(token == model.tokens.success) for _, token in kinds], device=device)
        kind = functional.cross_entropy(logits, wanted)
    total = settings.head_weight * speak + reply + settings.kind_weight * kind
    return Losses(total, speak.item(), reply.item(), kind.item())


def _autocast_hidden(model: StreamingModel, built: Sequence[BuiltSample], clips: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    context: Any = torch.autocast("cuda", torch.bfloat16) if model.device.type == "cuda" else nullcontext()
    with context:
        return model.hidden_states([sample.sequence for sample in built], clips)


def rate_share(step: int, settings: FineTuneSettings) -> float:
    """Share of the peak rate at ``step``: linear warm-up, then decay to ``final_share`` at the last step."""
    if step <= settings.warmup_steps:
        return step / max(1, settings.warmup_steps)
    done = (step - settings.warmup_steps) / max(1, settings.steps - settings.warmup_steps)
    falling = 1 - done if settings.decay is Decay.LINEAR else 0.5 * (1 + math.cos(math.pi * done))
    return settings.final_share + (1 - settings.final_share) * falling


def run_fingerprint(base: StreamingModel, samples: Sequence[TrainingSample], settings: FineTuneSettings) -> str:
    """What a run is made from: base weights, samples, settings (not how often it saves or logs)."""
    digest = hashlib.sha256()
    chosen = {name: value for name, value in asdict(settings).items() if name not in ("save_every", "log_every")}
    digest.update(repr(sorted(chosen.items())).encode())
    digest.update(repr(sorted(asdict(sample).items() for sample in samples)).encode())
    for name, tensor in sorted(base.core.language_model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().float().sum(dtype=torch.float64).cpu().numpy().tobytes())
    return digest.hexdigest()


def _micro_batches(draws: Sequence[Draw], parts: int) -> list[Sequence[Draw]]:
    size = math.ceil(len(draws) / max(1, parts))
    return [draws[at : at + size] for at in range(0, len(draws), size)]


def _state(step: int, elapsed_s: float, tuned: Tuned, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    return {
        "step": step,
        "elapsed_s": elapsed_s,
        "adapter": {name: parameter.detach().cpu() for name, parameter in lora_parameters(tuned.model.network)},
        "head": tuned.head.state_dict(),
        "optimizer": optimizer.state_dict(),
    }


def _restore(state: dict[str, Any], tuned: Tuned, optimizer: torch.optim.Optimizer) -> None:
    parameters = dict(lora_parameters(tuned.model.network))
    if set(parameters) != set(state["adapter"]):
        raise InputError("the saved state has other adapter parameters", remedy="Remove the run's folder to start afresh")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(state["adapter"][name])
    tuned.head.load_state_dict(state["head"])
    optimizer.load_state_dict(state["optimizer"])
