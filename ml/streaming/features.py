"""Video features of recordings on disk: every frame decoded and encoded once, files that are whole or absent."""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch

from ml.errors import InputError
from ml.streaming.model import StreamingModel
from ml.streaming.samples import TrainingSample, block_range, block_times

HELD_BYTES = 2 * 2**30
ENCODED_BLOCKS = 128


class FeatureCache:
    """Features [blocks, tokens, width] of a recording's one-second grid, by video file and vision tower.

    A file is written under a temporary name and renamed, so a kill leaves either a whole file or none; two writers write the same bytes.
    """

    def __init__(self, folder: Path, model: StreamingModel) -> None:
        self._folder, self._model = folder, model
        self._vision = vision_fingerprint(model)
        self._held: OrderedDict[str, torch.Tensor] = OrderedDict()
        self.encoded = 0
        folder.mkdir(parents=True, exist_ok=True)

    def of_clip(self, video_path: str, start_s: float, end_s: float) -> torch.Tensor:
        """Features of the blocks of ``block_range(start_s, end_s)``. Raises InputError where the video is shorter."""
        blocks = block_range(start_s, end_s)
        features = self.of_recording(video_path, blocks.stop)
        if len(features) < blocks.stop:
            raise InputError(f"the video ends at {len(features)} s, before the stream's end at {end_s} s", file=video_path, field="end_s")
        return features[blocks.start : blocks.stop]

    def of_recording(self, video_path: str, blocks: int) -> torch.Tensor:
        """Features of the first ``blocks`` blocks, or of as many as the video holds."""
        path = Path(video_path)
        if not path.exists():
            raise InputError("no such video", file=path)
        state = path.stat()
        key = hashlib.sha256(f"{path.resolve()}|{state.st_size}|{state.st_mtime_ns}|{self._vision}".encode()).hexdigest()[:32]
        held = self._held.get(key)
        if held is None:
            held = self._read(key)
        if held is None or (len(held) < blocks and not self._is_whole(key)):
            held = self._encode(key, path, blocks)
        self._held[key] = held
        self._held.move_to_end(key)
        while len(self._held) > 1 and sum(tensor.nbytes for tensor in self._held.values()) > HELD_BYTES:
            self._held.popitem(last=False)
        return held

    def prepare(self, samples: Iterable[TrainingSample], progress: Callable[[int, int], None] | None = None) -> list[tuple[str, str]]:
        """Encode what ``samples`` need, each recording once. Returns (video path, reason) of those that cannot be read."""
        needed: dict[str, int] = {}
        for sample in samples:
            stop = block_range(sample.start_s, sample.end_s).stop
            needed[sample.video_path] = max(needed.get(sample.video_path, 0), stop)
        failed = []
        for done, (video_path, blocks) in enumerate(needed.items(), start=1):
            try:
                self.of_recording(video_path, blocks)
            except (InputError, OSError) as error:
                failed.append((video_path, str(error)))
            if progress is not None:
                progress(done, len(needed))
        return failed

    def _read(self, key: str) -> torch.Tensor | None:
        path = self._folder / f"{key}.npy"
        if not path.exists():
            return None
        return torch.from_numpy(np.load(path)).to(self._model.device)

    def _is_whole(self, key: str) -> bool:
        return (self._folder / f"{key}.whole").exists()

    def _encode(self, key: str, path: Path, blocks: int) -> torch.Tensor:
        from ml.video.frames import sample_frames

        patches = self._model.patches
        times = [t_s for block in range(blocks) for t_s in block_times(block)]
        parts: list[torch.Tensor] = []
        pending: list[np.ndarray] = []
        seen, began = 0, path.stat()
        for frame in sample_frames(path, times, (patches.width, patches.height)):
            pending.append(frame.image)
            seen += 1
            if len(pending) == ENCODED_BLOCKS * self._model.frames_per_block:
                parts.append(self._model.encode_video(np.stack(pending)))
                pending = []
        if len(pending) >= self._model.frames_per_block:
            parts.append(self._model.encode_video(np.stack(pending)))
        if path.stat().st_mtime_ns != began.st_mtime_ns or path.stat().st_size != began.st_size:
            raise InputError("the video changed while it was read", file=path, remedy="Run again")
        self.encoded += 1
        features = torch.cat(parts) if parts else self._model.encode_video(np.zeros((0, patches.height, patches.width, 3), np.uint8))
        array = features.to(torch.float16 if features.dtype == torch.bfloat16 else features.dtype).cpu().numpy()
        temporary = self._folder / f".{key}.{os.getpid()}.npy"
        np.save(temporary, array)
        os.replace(temporary, self._folder / f"{key}.npy")
        if seen < len(times):
            (self._folder / f"{key}.whole").touch()
        return features


def vision_fingerprint(model: StreamingModel) -> str:
    """Hash of what decides features: the vision tower's weights and the patch settings."""
    digest = hashlib.sha256(repr(model.patches).encode())
    for name, tensor in sorted(model.core.visual.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
