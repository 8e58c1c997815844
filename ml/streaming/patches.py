"""Frames to the patch rows that the vision tower reads: resizing and layout. No model and no tokens here.

The layout is that of transformers' Qwen2-VL / Qwen3-VL image and video processors. It is written out because the library's video
processor needs torchvision; ``tests/ml/streaming/test_patches.py`` holds the two bit-equal on images.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch.nn import functional

from ml.errors import InputError


@dataclass(frozen=True)
class PatchSettings:
    """How pixels become patches. ``height`` and ``width`` in pixels, both multiples of ``patch_size * merge_size``."""

    height: int
    width: int
    patch_size: int = 16
    temporal_patch_size: int = 2
    merge_size: int = 2
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)

    def __post_init__(self) -> None:
        unit = self.patch_size * self.merge_size
        if self.height % unit or self.width % unit or self.height <= 0 or self.width <= 0:
            raise InputError(
                f"frame size {self.width}x{self.height} is not a multiple of {unit}", field="height, width", remedy="Round both sides"
            )

    @property
    def grid(self) -> tuple[int, int]:
        """Patches per frame, (rows, columns)."""
        return self.height // self.patch_size, self.width // self.patch_size

    @property
    def tokens_per_block(self) -> int:
        """Placeholder tokens of one block (one group of ``temporal_patch_size`` frames)."""
        rows, columns = self.grid
        return rows * columns // self.merge_size**2


def resize_frames(frames: np.ndarray, height: int, width: int) -> np.ndarray:
    """Frames uint8 [T, H, W, 3] resized to [T, height, width, 3]: area average when shrinking, bilinear when growing."""
    if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.uint8:
        raise InputError(f"frames have shape {frames.shape} and type {frames.dtype}", field="frames", remedy="Give uint8 [T, H, W, 3]")
    if frames.shape[1:3] == (height, width) or not len(frames):
        return frames if len(frames) else np.zeros((0, height, width, 3), np.uint8)
    shrinks = frames.shape[1] >= height and frames.shape[2] >= width
    pixels = torch.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2).float()
    if shrinks:
        resized = functional.interpolate(pixels, (height, width), mode="area")
    else:
        resized = functional.interpolate(pixels, (height, width), mode="bilinear", antialias=True)
    return resized.round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()


def patchify(frames: torch.Tensor, settings: PatchSettings) -> torch.Tensor:
    """Frames uint8 [T, height, width, 3] to patch rows float32 [blocks * patches, 3 * temporal * patch * patch].

    T must be a multiple of ``temporal_patch_size``: a stream holds a frame back until its block is complete.
    """
    count, height, width, channels = frames.shape
    temporal, patch, merge = settings.temporal_patch_size, settings.patch_size, settings.merge_size
    if count % temporal or (height, width, channels) != (settings.height, settings.width, 3):
        raise InputError(
            f"frames have shape {tuple(frames.shape)}",
            field="frames",
            remedy=f"Give a multiple of {temporal} frames of {settings.height}x{settings.width}x3",
        )
    rows, columns = settings.grid
    parts = frames.permute(0, 3, 1, 2).reshape(
        count // temporal, temporal, channels, rows // merge, merge, patch, columns // merge, merge, patch
    )
    ordered = parts.permute(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(count // temporal * rows * columns, channels, temporal * patch * patch)
    table = _value_table(settings.mean, settings.std)
    if (table == table[0]).all():
        values = np.take(table[0], ordered.numpy())
    else:
        values = np.stack([np.take(table[channel], ordered[:, channel].numpy()) for channel in range(channels)], axis=1)
    return torch.from_numpy(values).flatten(1)


@lru_cache
def _value_table(mean: tuple[float, ...], std: tuple[float, ...]) -> np.ndarray:
    """The normalised float32 value of each byte [3, 256], in the library's order and types of arithmetic so that results are bit-equal."""
    scaled = (np.arange(256, dtype=np.float64) * (1 / 255)).astype(np.float32)
    return np.stack([(scaled - np.float32(m)) / np.float32(s) for m, s in zip(mean, std, strict=True)])
