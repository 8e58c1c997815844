"""The embedded narrator: batches of video windows to sentences, by greedy decoding. No training, no streaming."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from ml.errors import InputError
from ml.streaming.layout import NARRATION_REQUEST, time_string
from ml.streaming.model import StreamingModel, load_model
from ml.streaming.tiny import WEIGHTS_FOLDER

MAX_NEW_TOKENS = 64
BATCH_WINDOWS = 64


class EmbeddedNarrator:
    """Describes windows of video. ``model`` defaults to the embedded checkpoint, which knows the sample kitchen only."""

    def __init__(self, model: StreamingModel | None = None, folder: Path = WEIGHTS_FOLDER) -> None:
        self.model = model or load_model(folder)

    def describe(self, windows: Sequence[np.ndarray], times_s: Sequence[Sequence[float]]) -> list[str]:
        """One text per window. ``windows``: uint8 [T, H, W, 3] each; ``times_s``: the T presentation times of each, from the window's start.

        Windows of different length may be mixed. A window needs ``frames_per_block`` frames at least; the last odd frame is not used.
        """
        if len(windows) != len(times_s):
            raise InputError(f"{len(windows)} windows but {len(times_s)} lists of times", field="times_s")
        texts = [""] * len(windows)
        by_blocks: dict[int, list[int]] = {}
        for index, (frames, times) in enumerate(zip(windows, times_s, strict=True)):
            blocks = len(frames) // self.model.frames_per_block
            if len(frames) != len(times) or not blocks:
                raise InputError(f"{len(frames)} frames and {len(times)} times", record=f"window {index}", field="windows")
            by_blocks.setdefault(blocks, []).append(index)
        for blocks, members in by_blocks.items():
            for at in range(0, len(members), BATCH_WINDOWS):
                batch = members[at : at + BATCH_WINDOWS]
                described = self._describe([windows[index] for index in batch], [times_s[index] for index in batch], blocks)
                for index, text in zip(batch, described, strict=True):
                    texts[index] = text
        return texts

    @torch.no_grad()
    def _describe(self, windows: list[np.ndarray], times_s: list[Sequence[float]], blocks: int) -> list[str]:
        model, size = self.model, self.model.frames_per_block
        frames = np.concatenate([model.fit_frames(window[: blocks * size]) for window in windows])
        features = model.encode_video(frames)
        sequences = []
        for times in times_s:
            sequence = model.sequence()
            sequence.open_user_turn()
            for block in range(blocks):
                sequence.add_block(block, time_string(times[block * size : (block + 1) * size], 0.0))
            sequence.ask(NARRATION_REQUEST)
            sequences.append(sequence)
        return greedy(model, [sequence.ids for sequence in sequences], [sequence.positions for sequence in sequences], features)


@torch.no_grad()
def greedy(
    model: StreamingModel, prompts: list[list[int]], positions: list[list[tuple[int, int, int]]], features: torch.Tensor
) -> list[str]:
    """Greedy continuations of equally built prompts. Prompts of unequal token count are decoded in groups of equal count."""
    texts = [""] * len(prompts)
    groups: dict[int, list[int]] = {}
    for index, prompt in enumerate(prompts):
        groups.setdefault(len(prompt), []).append(index)
    per_prompt = features.shape[0] // len(prompts)
    for members in groups.values():
        cache = model.new_cache()
        chosen = torch.cat([features[index * per_prompt : (index + 1) * per_prompt] for index in members])
        places = torch.tensor([positions[index] for index in members]).permute(2, 0, 1)
        hidden = model.continue_cached(cache, [prompts[index] for index in members], places, chosen)[:, -1]
        following = places[:, :, -1:].amax(dim=0) + 1
        written: list[list[int]] = [[] for _ in members]
        open_rows = set(range(len(members)))
        for offset in range(MAX_NEW_TOKENS):
            tokens = model.lm_head(hidden).argmax(-1).tolist()
            for row in list(open_rows):
                if tokens[row] == model.tokens.turn_end:
                    open_rows.discard(row)
                else:
                    written[row].append(tokens[row])
            if not open_rows:
                break
            step_positions = (following + offset).expand(3, -1, -1)
            hidden = model.continue_cached(cache, [[token] for token in tokens], step_positions, None)[:, -1]
        for row, index in enumerate(members):
            texts[index] = model.decode(written[row])
    return texts
