"""Which samples make which batch: a pure function of the samples, the settings and the step, so that a resumed run draws the same."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ml.errors import InputError
from ml.streaming.samples import TrainingSample, block_range
from ml.streaming.settings import FineTuneSettings
from ml.vocabulary import MessageKind


@dataclass(frozen=True)
class Draw:
    """A sample in a batch with the delay in blocks of each of its replies."""

    sample: TrainingSample
    delays: tuple[int, ...]


class BatchPlan:
    """Batches of like length. A clip is drawn by the summed weight of its samples; of a drawn clip a clean and a counterfactual sample
    stand side by side where it has both (``paired``)."""

    def __init__(self, samples: Sequence[TrainingSample], settings: FineTuneSettings) -> None:
        if not samples:
            raise InputError("no training samples", remedy="Check the mix and its split")
        self._settings = settings
        groups: dict[object, list[TrainingSample]] = defaultdict(list)
        for sample in samples:
            groups[sample.clip if settings.paired else sample.sample_id].append(sample)
        self._groups = list(groups.values())
        self._weights = [sum(sample.weight for sample in group) for group in self._groups]
        if settings.even_types:
            self._weights = _even_over_types(self._groups, self._weights)
        self._epochs: dict[int, list[list[TrainingSample]]] = {}

    def batch(self, step: int) -> list[Draw]:
        """The batch of optimizer step ``step`` (1, 2, ...)."""
        index = step - 1
        epoch = 0
        while True:
            batches = self._epoch(epoch)
            if index < len(batches):
                break
            index -= len(batches)
            epoch += 1
        rng = random.Random(f"delays-{self._settings.seed}-{step}")
        longest = self._settings.max_delay_blocks
        return [Draw(sample, tuple(rng.randint(0, longest) for _ in sample.messages)) for sample in batches[index]]

    def _epoch(self, epoch: int) -> list[list[TrainingSample]]:
        if epoch not in self._epochs:
            self._epochs = {epoch: self._make_epoch(epoch)} | {n: b for n, b in self._epochs.items() if n == 0}
        return self._epochs[epoch]

    def _make_epoch(self, epoch: int) -> list[list[TrainingSample]]:
        rng = random.Random(f"epoch-{self._settings.seed}-{epoch}")
        drawn = self._systematic(rng)
        rng.shuffle(drawn)
        chosen = [self._twins(self._groups[index], rng) for index in drawn]
        span = self._settings.batch_size * self._settings.length_buckets
        batches: list[list[TrainingSample]] = []
        pool: list[list[TrainingSample]] = []
        for twins in chosen:
            pool.append(twins)
            if sum(map(len, pool)) >= span:
                batches += self._cut(pool)
                pool = []
        batches += self._cut(pool)
        # Small last batches would count as much as full ones.
        full = [batch for batch in batches if 2 * len(batch) >= self._settings.batch_size] or batches[:1]
        rng.shuffle(full)
        return full

    def _systematic(self, rng: random.Random) -> list[int]:
        """As many draws as clips, each clip as near to its expected number as whole numbers allow."""
        total, count = sum(self._weights), len(self._weights)
        at, drawn, reached = rng.random(), [], 0.0
        for index, weight in enumerate(self._weights):
            reached += weight / total * count
            while at < reached:
                drawn.append(index)
                at += 1.0
        return drawn or [rng.randrange(count)]

    def _twins(self, group: list[TrainingSample], rng: random.Random) -> list[TrainingSample]:
        clean = [sample for sample in group if not has_feedback(sample)]
        wrong = [sample for sample in group if has_feedback(sample)]
        return [rng.choices(part, [sample.weight for sample in part])[0] for part in (clean, wrong) if part]

    def _cut(self, pool: list[list[TrainingSample]]) -> list[list[TrainingSample]]:
        ordered = sorted(pool, key=lambda twins: len(block_range(twins[0].start_s, twins[0].end_s)))
        batches: list[list[TrainingSample]] = []
        current: list[TrainingSample] = []
        for twins in ordered:
            if current and len(current) + len(twins) > self._settings.batch_size:
                batches.append(current)
                current = []
            current = current + twins
        return [*batches, current] if current else batches


def _even_over_types(groups: Sequence[Sequence[TrainingSample]], weights: Sequence[float]) -> list[float]:
    """Weights with every mistake type of a dataset at the same sum, and the dataset's sum as before; groups without a type keep theirs.

    A group's type is the first by name of its samples' types.
    """
    kinds = [(group[0].dataset, min((s.mistake_type for s in group if s.mistake_type), default=None)) for group in groups]
    sums: dict[tuple[str, str | None], float] = defaultdict(float)
    for kind, weight in zip(kinds, weights, strict=True):
        sums[kind] += weight
    typed: dict[str, list[float]] = defaultdict(list)
    for (dataset, mistake_type), total in sums.items():
        if mistake_type is not None:
            typed[dataset].append(total)
    return [
        weight if kind[1] is None else weight * (sum(typed[kind[0]]) / len(typed[kind[0]])) / sums[kind]
        for kind, weight in zip(kinds, weights, strict=True)
    ]


def has_feedback(sample: TrainingSample) -> bool:
    return any(kind == MessageKind.FEEDBACK for _, kind, _ in sample.messages)
