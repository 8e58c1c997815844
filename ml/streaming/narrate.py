"""The embedded narrator: batches of video windows to sentences, by greedy decoding. No training, no streaming."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from ml.errors import InputError
from ml.streaming.generate import continue_greedily
from ml.streaming.layout import NARRATION_REQUEST, time_string
from ml.streaming.model import StreamingModel, load_model
from ml.streaming.weights_location import WEIGHTS_FOLDER

MAX_NEW_TOKENS = 64
BATCH_WINDOWS = 64


class EmbeddedNarrator:
    """Describes windows of video. ``model`` defaults to the embedded checkpoint, which knows the sample kitchen only."""

    def __init__(self, model: StreamingModel | None = None, folder: Path = WEIGHTS_FOLDER) -> None:
        self.model = model or load_model(folder)

    def describe(self, windows: Sequence[np.ndarray], times_s: Sequence[Sequence[float]]) -> list[str]:
        """One text per window. ``windows``: uint8 [T, H, W, 3] each; ``times_s``: the T presentation times of each, from its start.

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
        written = continue_greedily(model, sequences, list(features.split(blocks)), MAX_NEW_TOKENS)
        return [model.decode(tokens) for tokens in written]
