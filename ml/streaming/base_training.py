"""Training of the embedded base model on sample-kitchen rows: batches, losses, the loop, and what is written at the end.

The base is a narrator. Besides narration it is trained on rows that set an instruction beside a video or a narration (``base_rows``), so
that fine-tuning starts from a language model that can compare the two. It has no speak/silent head, and no adapter is shipped.
Run by ``measure/train_base_model.py``.
"""

import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from string import digits
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ml.sample_kitchen.truth import second_classes
from ml.streaming.base_rows import BaseRow, comparison_rows, fixed_phrases, narration_row, text_row, vocabulary_sentences
from ml.streaming.footage import COUNT_CLASSES, SCENES, Footage
from ml.streaming.layout import Sequence3D, time_string
from ml.streaming.model import StreamingModel, wrap
from ml.streaming.tiny import build_network, build_tokenizer

SECONDS_PER_BLOCK = 1.0
FRAME_STEP_S = 0.5
NUMBER_WEIGHT = 4.0  # one token in twelve is a number, and it is the hard one


@dataclass(frozen=True)
class Phase:
    """Optimizer steps with one blend of rows. ``counted_share``: comparison pairs that are drawn among steps with a number."""

    steps: int
    narration_rows: int
    comparison_pairs: int
    text_rows: int
    peak_rate: float
    counted_share: float = 0.0


@dataclass(frozen=True)
class BaseTrainingSettings:
    """Of the embedded model only. Rates and shares were chosen on held-out recordings; the steps bound the time.

    The second phase sets more instructions beside what is seen, most of them with a number: to hold a count against an asked number is
    what comes last.
    """

    seed: int = 0
    vision_steps: int = 2000
    vision_blocks: int = 192
    vision_rate: float = 2e-3
    phases: tuple[Phase, ...] = (Phase(2200, 14, 6, 6, 1.5e-3), Phase(700, 8, 10, 4, 8e-4, counted_share=0.5))
    final_share: float = 0.02
    warmup_steps: int = 60
    weight_decay: float = 0.02
    auxiliary_weight: float = 1.0
    comparison_weight: float = 0.6
    text_weight: float = 0.2
    clip_norm: float = 1.0


@dataclass
class Row:
    """A row as tokens. ``targets``: (index whose hidden state predicts, token id, weight)."""

    sequence: Sequence3D
    targets: list[tuple[int, int, float]]
    clip: tuple[int, int, int]
    frames: np.ndarray | None
    actions: np.ndarray
    counts: np.ndarray
    landed: np.ndarray


def number_tokens(model: StreamingModel) -> frozenset[int]:
    """Tokens that hold a digit."""
    return frozenset(token for text, token in model.tokenizer.get_vocab().items() if set(text) & set(digits))


def tokenise(row: BaseRow, model: StreamingModel, footage: Footage, numbers: frozenset[int]) -> Row:
    """Token sequence, prediction targets, frames and labels of a row."""
    sequence = model.sequence()
    targets: list[tuple[int, int, float]] = []

    def reply(text: str) -> None:
        for index in sequence.add_reply(text):
            targets.append((index - 1, sequence.ids[index], NUMBER_WEIGHT if sequence.ids[index] in numbers else 1.0))

    if row.request is None:
        sequence.open_user_turn()
    else:
        sequence.add_request(row.request)
    after = dict(row.replies)
    for block in range(row.blocks):
        at = row.offset_s + block * SECONDS_PER_BLOCK
        sequence.add_block(block, time_string((at, at + FRAME_STEP_S), 0.0))
        if block in after:
            reply(after[block])
    if row.ask is not None:
        sequence.ask(row.ask)
    if -1 in after:
        reply(after[-1])
    clip = (row.recording, row.first_second, row.blocks)
    if not row.blocks:
        nothing = np.zeros(0, np.int64)
        return Row(sequence, targets, clip, None, nothing, nothing, nothing)
    seconds = slice(row.first_second, row.first_second + row.blocks)
    frames = footage.frames[row.recording][2 * row.first_second : 2 * (row.first_second + row.blocks)]
    labels = footage.labels[row.recording]
    landed = labels.landed_since(row.first_second, row.blocks)
    return Row(sequence, targets, clip, frames, labels.actions[seconds], labels.counts[seconds], landed)


class AuxiliaryHeads(nn.Module):
    """What happens, what can be counted and how much has landed by each second, read from the hidden state at ``<|vision_end|>``.

    How much has landed since the row began is what the language model must keep count of. Thrown away after training.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.action = nn.Linear(hidden, len(second_classes()))
        self.count = nn.Linear(hidden, COUNT_CLASSES)
        self.landed = nn.Linear(hidden, COUNT_CLASSES)

    def loss(self, states: torch.Tensor, actions: torch.Tensor, counts: torch.Tensor, landed: torch.Tensor) -> torch.Tensor:
        action = functional.cross_entropy(self.action(states), actions, ignore_index=-1)
        count = functional.cross_entropy(self.count(states), counts)
        return action + 0.5 * count + functional.cross_entropy(self.landed(states), landed)


def pretrain_vision(
    model: StreamingModel, footage: Footage, settings: BaseTrainingSettings, report: Callable[[dict[str, Any]], None] = lambda row: None
) -> None:
    """Teach the vision tower to tell single seconds apart: what is done, what can be counted, which things are in view.

    A block costs a quarter of what it costs inside a language model's sequence, and blocks drawn at random are more varied than windows.
    The linear heads on the concatenated tokens of a block are thrown away.
    """
    torch.manual_seed(settings.seed)
    generator = np.random.default_rng(settings.seed)
    places = np.array([(index, second) for index, frames in enumerate(footage.frames) for second in range(len(frames) // 2)])
    sizes = (len(second_classes()), COUNT_CLASSES, len(SCENES))
    width = model.patches.tokens_per_block * model.hidden_size
    heads = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, size)) for size in sizes)
    optimizer = torch.optim.AdamW(
        [*model.core.visual.parameters(), *heads.parameters()],
        lr=settings.vision_rate,
        betas=(0.9, 0.98),
        weight_decay=settings.weight_decay,
    )
    recent: list[list[float]] = []
    began = time.monotonic()
    for step in range(1, settings.vision_steps + 1):
        share = min(1.0, step / settings.warmup_steps) * max(settings.final_share, 1 - step / settings.vision_steps)
        for group in optimizer.param_groups:
            group["lr"] = settings.vision_rate * share
        chosen = places[generator.integers(0, len(places), settings.vision_blocks)]
        frames = np.concatenate([footage.frames[index][2 * second : 2 * second + 2] for index, second in chosen])
        features = model.encode_blocks(torch.from_numpy(frames)).flatten(1)
        labels = [footage.labels[index] for index, _ in chosen]
        truths = [
            torch.tensor([int(values[second]) for values, (_, second) in zip(column, chosen, strict=True)])
            for column in ([one.actions for one in labels], [one.counts for one in labels], [one.scenes for one in labels])
        ]
        losses = [functional.cross_entropy(head(features), truth, ignore_index=-1) for head, truth in zip(heads, truths, strict=True)]
        optimizer.zero_grad(set_to_none=True)
        torch.stack(losses).sum().backward()
        nn.utils.clip_grad_norm_(model.core.visual.parameters(), settings.clip_norm)
        optimizer.step()
        recent.append([loss.item() for loss in losses])
        if step % 100 == 0:
            means = dict(zip(("action", "count", "scene"), map(float, np.mean(recent[-100:], axis=0).round(4)), strict=True))
            report({"vision_step": step, "elapsed_s": round(time.monotonic() - began, 1), **means})


def forward_rows(rows: list[Row], model: StreamingModel, auxiliary: AuxiliaryHeads) -> tuple[torch.Tensor, torch.Tensor]:
    """(text loss, auxiliary loss) of rows; the auxiliary loss is 0 for rows without video."""
    # The rows of a comparison pair show the same frames; they are encoded once.
    shown = {row.clip: row.frames for row in rows if row.frames is not None}
    features: list[torch.Tensor | None] = [None] * len(rows)
    if shown:
        encoded = model.encode_blocks(torch.from_numpy(np.concatenate(list(shown.values()))))
        parts = dict(zip(shown, encoded.split([len(frames) // model.frames_per_block for frames in shown.values()]), strict=True))
        features = [parts.get(row.clip) for row in rows]
    hidden, _ = model.hidden_states([row.sequence for row in rows], features)
    places = torch.tensor([(number, index) for number, row in enumerate(rows) for index, _, _ in row.targets])
    wanted = torch.tensor([token for row in rows for _, token, _ in row.targets])
    weights = torch.tensor([weight for row in rows for _, _, weight in row.targets])
    each = functional.cross_entropy(model.lm_head(hidden[places[:, 0], places[:, 1]]), wanted, reduction="none")
    text_loss = (each * weights).sum() / weights.sum()
    ends = torch.tensor([(number, index) for number, row in enumerate(rows) for index in row.sequence.block_ends])
    if not len(ends):
        return text_loss, torch.zeros(())
    actions = torch.from_numpy(np.concatenate([row.actions for row in rows]))
    counts = torch.from_numpy(np.concatenate([row.counts for row in rows]))
    landed = torch.from_numpy(np.concatenate([row.landed for row in rows]))
    return text_loss, auxiliary.loss(hidden[ends[:, 0], ends[:, 1]], actions, counts, landed)


def train_base(
    footage: Footage,
    settings: BaseTrainingSettings,
    *,
    report: Callable[[dict[str, Any]], None] = lambda row: None,
    check: Callable[[StreamingModel, int], dict[str, Any]] | None = None,
    check_every: int = 250,
    start: StreamingModel | None = None,
) -> StreamingModel:
    """Train from random weights and return the model. Same seed, footage and thread count: same weights.

    ``report`` gets a row every 50 steps; ``check`` is called every ``check_every`` steps with the model in evaluation mode. ``start`` is a
    model as the first phase left it; only the later phases are run on it, with the result of the unbroken run.
    """
    torch.manual_seed(settings.seed)
    if start is None:
        tokenizer = build_tokenizer(vocabulary_sentences(footage.recordings), fixed_phrases())
        model = wrap(build_network(tokenizer, seed=settings.seed), tokenizer, name="embedded")
        pretrain_vision(model, footage, settings, report)
    else:
        model = start
        model.network.requires_grad_(True)
    for number, phase in enumerate(settings.phases):
        if number:
            torch.manual_seed(settings.seed + number)
        if number or start is None:
            rng = random.Random(f"{settings.seed}-{number}" if number else settings.seed)
            _train_phase(model, footage, settings, phase, rng, report, check, check_every)
    model.network.eval()
    return model


def _train_phase(
    model: StreamingModel,
    footage: Footage,
    settings: BaseTrainingSettings,
    phase: Phase,
    rng: random.Random,
    report: Callable[[dict[str, Any]], None],
    check: Callable[[StreamingModel, int], dict[str, Any]] | None,
    check_every: int,
) -> None:
    numbers = number_tokens(model)
    auxiliary = AuxiliaryHeads(model.hidden_size)
    parameters = [*model.network.parameters(), *auxiliary.parameters()]
    decayed = [parameter for parameter in parameters if parameter.ndim > 1]
    plain = [parameter for parameter in parameters if parameter.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=phase.peak_rate, betas=(0.9, 0.98))
    recent: list[list[float]] = []
    began = time.monotonic()
    model.network.train()
    for step in range(1, phase.steps + 1):
        share = min(1.0, step / settings.warmup_steps) * max(settings.final_share, 1 - step / phase.steps)
        for group in optimizer.param_groups:
            group["lr"] = phase.peak_rate * share
        narrations = [narration_row(footage.recordings, rng) for _ in range(phase.narration_rows)]
        pairs = [comparison_rows(footage.recordings, rng, phase.counted_share) for _ in range(phase.comparison_pairs)]
        words = [text_row(footage.recordings, rng) for _ in range(phase.text_rows)]
        optimizer.zero_grad(set_to_none=True)
        losses: list[float] = []
        # One forward and backward per kind: rows of one kind are of like length, and less is held at a time.
        kinds = ((narrations, 1.0), ([row for pair in pairs for row in pair], settings.comparison_weight), (words, settings.text_weight))
        for rows, weight in kinds:
            text_loss, auxiliary_loss = forward_rows([tokenise(row, model, footage, numbers) for row in rows], model, auxiliary)
            (weight * (text_loss + settings.auxiliary_weight * auxiliary_loss)).backward()
            losses += [text_loss.item(), auxiliary_loss.item()]
        nn.utils.clip_grad_norm_(parameters, settings.clip_norm)
        optimizer.step()
        recent.append(losses[:5])
        if step % 50 == 0:
            means = np.mean(recent[-50:], axis=0).round(4)
            names = ("narration", "narration_seconds", "comparison", "comparison_seconds", "words")
            report({"step": step, "elapsed_s": round(time.monotonic() - began, 1), **dict(zip(names, map(float, means), strict=True))})
        if check is not None and (step % check_every == 0 or step == phase.steps):
            model.network.eval()
            report({"step": step, **check(model, step)})
            model.network.train()


def write_base(model: StreamingModel, folder: Path, made_by: dict[str, Any]) -> Path:
    """Weights, config and tokenizer in the transformers layout, with ``made_by.json`` saying how they came about."""
    folder.mkdir(parents=True, exist_ok=True)
    model.network.save_pretrained(folder, safe_serialization=True)
    model.tokenizer.save_pretrained(folder)
    path = folder / "made_by.json"
    path.write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    return path


def settings_as_json(settings: BaseTrainingSettings) -> dict[str, Any]:
    return asdict(settings)
