"""Sample-kitchen recordings as a camera file shows them: written as h264, decoded, resized. Rows and training are elsewhere."""

import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from ml.sample_kitchen.hands import Act
from ml.sample_kitchen.script import Recording, make_recording, training_recordings
from ml.sample_kitchen.truth import second_counts, second_labels, step_in_view
from ml.sample_kitchen.video_file import write_video
from ml.sample_kitchen.world import SEEN_ITEMS, KitchenSplit
from ml.streaming.tiny import FRAME_SIDE

FRAMES_PER_SECOND = 2
COUNT_CLASSES = 8
LANDING = frozenset({Act.SCOOP, Act.PLACE})
SCENES = tuple((kind, item) for kind, items in SEEN_ITEMS.items() for item in items)


@dataclass(frozen=True)
class Labels:
    """Truth of a recording per second [T]: class of the action, what can be counted, and which things are in view; -1 is unknown.

    ``landed`` [n, 2]: second at which each counted thing landed, and the step it belongs to, in time order.
    """

    actions: np.ndarray
    counts: np.ndarray
    scenes: np.ndarray
    landed: np.ndarray

    def landed_since(self, first_second: int, blocks: int) -> np.ndarray:
        """[blocks]: things landed since ``first_second`` by the last frame of each second, in the latest step that has any."""
        seen = self.landed[self.landed[:, 0] >= first_second]
        counts = np.zeros(blocks, dtype=np.int64)
        for block in range(blocks):
            by_now = seen[seen[:, 0] <= first_second + block + 1 / FRAMES_PER_SECOND]
            counts[block] = int((by_now[:, 1] == by_now[-1, 1]).sum()) if len(by_now) else 0
        return np.minimum(counts, COUNT_CLASSES - 1)


@dataclass
class Footage:
    """Recordings and their frames: ``frames[i]`` uint8 [2 * T, side, side, 3], at 0.0, 0.5, 1.0, ... s; ``labels[i]`` of T seconds."""

    recordings: list[Recording]
    frames: list[np.ndarray]
    labels: list[Labels] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.labels = [labels_of(recording) for recording in self.recordings]


def labels_of(recording: Recording) -> Labels:
    actions = second_labels(recording)
    in_view = [step_in_view(recording, second + 0.25).instruction for second in range(len(actions))]
    places = {scene: number for number, scene in enumerate(SCENES)}
    scenes = np.array([places.get((one.kind, one.item), -1) for one in in_view], dtype=np.int64)
    landed = [(action.moment_s, number) for number, step in enumerate(recording.steps) for action in step.actions if action.name in LANDING]
    counts = np.clip(second_counts(recording), 0, COUNT_CLASSES - 1)
    return Labels(actions, counts, scenes, np.array(sorted(landed), dtype=np.float64).reshape(-1, 2))


def film(recording: Recording, rate: int = FRAMES_PER_SECOND, side: int = FRAME_SIDE) -> np.ndarray:
    """Frames uint8 [2 * T, side, side, 3] of the recording's h264 file written at ``rate`` frames a second."""
    from ml.video.frames import sample_frames

    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "recording.mp4"
        write_video(recording, path, Fraction(rate))
        times = [step / FRAMES_PER_SECOND for step in range(FRAMES_PER_SECOND * int(recording.duration_s))]
        return np.stack([frame.image for frame in sample_frames(path, times, (side, side))])
    finally:
        shutil.rmtree(folder)


def film_all(recordings: list[Recording], workers: int = 2, rate: int = FRAMES_PER_SECOND) -> Footage:
    """Film recordings in ``workers`` processes."""
    if workers <= 1:
        return Footage(recordings, [film(recording, rate) for recording in recordings])
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        frames = list(pool.map(film, recordings, [rate] * len(recordings), chunksize=8))
    return Footage(recordings, frames)


def training_footage(count: int, seed: int, workers: int = 2) -> Footage:
    """``count`` clean recordings of the train split."""
    return film_all(list(training_recordings(count, seed)), workers)


def held_out_footage(split: KitchenSplit, count: int, first_seed: int, workers: int = 2, rate: int = FRAMES_PER_SECOND) -> Footage:
    """``count`` clean recordings of another split, seeds ``first_seed`` onwards."""
    return film_all([make_recording(first_seed + index, split) for index in range(count)], workers, rate)
