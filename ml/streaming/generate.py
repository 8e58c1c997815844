"""Greedy continuation of many sequences at once. What the sequences are is the caller's business."""

from collections.abc import Sequence

import torch

from ml.streaming.layout import Sequence3D
from ml.streaming.model import StreamingModel

BATCH_SEQUENCES = 64


def continue_greedily(
    model: StreamingModel, sequences: Sequence[Sequence3D], features: Sequence[torch.Tensor], max_tokens: int
) -> list[list[int]]:
    """Token ids that follow each sequence up to its turn end (left out) or ``max_tokens``. ``features[i]`` [blocks, tokens, width]."""
    written: list[list[int]] = [[] for _ in sequences]
    order = sorted(range(len(sequences)), key=lambda index: len(sequences[index]))
    for at in range(0, len(order), BATCH_SEQUENCES):
        batch = order[at : at + BATCH_SEQUENCES]
        continued = _continue_batch(model, [sequences[index] for index in batch], [features[index] for index in batch], max_tokens)
        for index, tokens in zip(batch, continued, strict=True):
            written[index] = tokens
    return written


@torch.no_grad()
def _continue_batch(model: StreamingModel, sequences: list[Sequence3D], features: list[torch.Tensor], max_tokens: int) -> list[list[int]]:
    length, count = max(map(len, sequences)), len(sequences)
    ids = [[model.tokens.pad] * (length - len(sequence)) + sequence.ids for sequence in sequences]
    positions = torch.zeros(3, count, length, dtype=torch.long)
    mask = torch.zeros(count, length + max_tokens, dtype=torch.long, device=model.device)
    for row, sequence in enumerate(sequences):
        positions[:, row, length - len(sequence) :] = torch.tensor(sequence.positions).T
        mask[row, length - len(sequence) :] = 1
    padded = bool((mask[:, :length] == 0).any())
    cache = model.new_cache()
    hidden = model.continue_cached(cache, ids, positions, torch.cat(features), mask[:, :length] if padded else None)[:, -1]
    following = positions[:, :, -1:].amax(dim=0) + 1
    written: list[list[int]] = [[] for _ in sequences]
    open_rows = set(range(count))
    for offset in range(max_tokens):
        tokens = model.lm_head(hidden).argmax(-1).tolist()
        for row in list(open_rows):
            if tokens[row] == model.tokens.turn_end:
                open_rows.discard(row)
            else:
                written[row].append(tokens[row])
        if not open_rows or offset == max_tokens - 1:
            break
        step_mask = mask[:, : length + offset + 1] if padded else None
        hidden = model.continue_cached(cache, [[token] for token in tokens], (following + offset).expand(3, -1, -1), None, step_mask)[:, -1]
    return written
