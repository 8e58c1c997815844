"""Pictures of a recording at any times. Drawing is in `scenes`; files are in `video_file`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ml.errors import InputError
from ml.sample_kitchen import props
from ml.sample_kitchen.canvas import NOISE_LIMIT, Canvas
from ml.sample_kitchen.scene import Scene
from ml.sample_kitchen.scenes import SCENES
from ml.sample_kitchen.script import Recording
from ml.sample_kitchen.truth import step_in_view

Frame = NDArray[np.uint8]
BASE_SURFACE: Final = 256
NOISE_FRAMES: Final = 7


def render_frames(recording: Recording, times_s: Sequence[float] | NDArray[np.float64], size: int) -> Frame:
    """The pictures at `times_s` as uint8 [T, size, size, 3]. `size` must divide 256 or be at least 256.

    Times need no order; ascending times are quickest, because still parts are kept while a step is in view.
    """
    frames = np.empty((len(times_s), size, size, 3), dtype=np.uint8)
    for index, frame in enumerate(iter_frames(recording, times_s, size)):
        frames[index] = frame
    return frames


def iter_frames(recording: Recording, times_s: Sequence[float] | NDArray[np.float64], size: int) -> Iterator[Frame]:
    """The same, one picture [size, size, 3] at a time."""
    unit = BASE_SURFACE if size < BASE_SURFACE else 2 * size
    if unit % size:
        raise InputError(f"size {size} does not divide {BASE_SURFACE}", field="size", remedy="Use 32, 64, 128 or at least 256")
    canvas = Canvas(recording.look, unit)
    props.counter(canvas)
    empty = canvas.image
    noise = _noise(recording, size)
    scene: Scene | None = None
    kept: dict[object, Image.Image] = {}
    for at_s in map(float, times_s):
        step = step_in_view(recording, at_s)
        if scene is None or scene.step is not step:
            scene, kept = SCENES[step.instruction.kind](step), {}
        state = scene.state(at_s)
        if state not in kept:
            canvas.load(empty)
            scene.still(canvas, at_s)
            kept[state] = canvas.image
        still = kept[state]
        if scene.active(at_s) is None:
            canvas.image = still
        else:
            canvas.load(still)
            scene.moving(canvas, at_s)
        photo = np.asarray(canvas.photo(at_s, unit // size))
        # Inks keep NOISE_LIMIT away from 0 and 255, so that adding modulo 256 cannot wrap.
        yield photo + noise[int(at_s * 1000) % NOISE_FRAMES]


def _noise(recording: Recording, size: int) -> Frame:
    """A few noise pictures [n, size, size, 3] modulo 256: a fixed pattern and a part that changes. Averaged down for small sizes."""
    side = max(size, BASE_SURFACE // 2)
    rng = np.random.default_rng([recording.seed, 7])
    fixed = rng.normal(0, recording.look.noise, (1, side, side, 1))
    changing = rng.normal(0, 0.4 * recording.look.noise, (NOISE_FRAMES, side, side, 1))
    factor = side // size
    both = (fixed + changing).reshape(NOISE_FRAMES, size, factor, size, factor, 1).mean(axis=(2, 4))
    limited = np.clip(np.rint(both), -NOISE_LIMIT, NOISE_LIMIT).astype(np.int8).view(np.uint8)
    return np.repeat(limited, 3, axis=3)
