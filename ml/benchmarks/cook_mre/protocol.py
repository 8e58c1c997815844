"""How Cook-MRE asks an assistant: 16 frames of one clip, a free answer, without and with hint. Judging and scoring stand beside."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl

from ml.benchmarks.assistants.clips import ClipAnswer, ClipQuestion
from ml.benchmarks.assistants.interface import Answered, LookAheadError
from ml.benchmarks.cook_mre.samples import NO_HINT, CookSample, hints_of
from ml.benchmarks.families import Family, Hints, parse_protocol
from ml.benchmarks.footage import DEFAULT_BOX, clip_images, video_end_s
from ml.benchmarks.running import STOPS_THE_RUN, Progress, Row, RunJournal, run_units
from ml.errors import InputError
from ml.tables.declarations.results import CLIP_PREDICTIONS
from ml.vocabulary import Status

FRAMES = 16


class FrameRule(StrEnum):
    """Which 16 times of a clip: the middles of equal parts, or evenly from end to end."""

    MIDPOINTS = "midpoints"
    ENDS = "ends"


@dataclass(frozen=True)
class ClipPictures:
    """What of a clip is shown. ``box`` None shows nothing: for assistants that look at no picture."""

    frames: int = FRAMES
    rule: FrameRule = FrameRule.MIDPOINTS
    box: tuple[int, int] | None = DEFAULT_BOX


def uniform_times(start_s: float, end_s: float, count: int = FRAMES, rule: FrameRule = FrameRule.MIDPOINTS) -> list[float]:
    """``count`` times in a clip, seconds."""
    if rule is FrameRule.ENDS:
        return [float(t) for t in np.linspace(start_s, end_s, count)]
    return [start_s + (index + 0.5) * (end_s - start_s) / count for index in range(count)]


def clip_question(sample: CookSample, asked: Hints, pictures: ClipPictures) -> ClipQuestion:
    """What an assistant gets to know of a sample: never its class, its element (but as a hint) or what is really seen."""

    def check_text(text: str) -> None:
        if sample.original not in sample.instruction and sample.original in text:
            raise LookAheadError(f"{sample.sample_id}: a text holds what the clip really shows: {sample.original!r}")

    hints = hints_of(sample, asked)
    if pictures.box is None:
        return ClipQuestion(sample.sample_id, sample.instruction, hints, (), (), lambda times_s: (), check_text)
    path, start_s, box = sample.video_path, sample.start_s, pictures.box
    if path is None:
        raise InputError("the clip has no video", record=sample.sample_id, field="video_path", remedy="Name `videos` in the source")
    end_s = sample.end_s if sample.end_s is not None else video_end_s(path)
    times_s = uniform_times(start_s, end_s, pictures.frames, pictures.rule)

    def frames_at(wanted_s: Sequence[float]) -> tuple[bytes, ...]:
        return clip_images(path, start_s, end_s, [start_s + t_s for t_s in wanted_s], box)

    images = clip_images(path, start_s, end_s, times_s, box)
    return ClipQuestion(sample.sample_id, sample.instruction, hints, images, tuple(t - start_s for t in times_s), frames_at, check_text)


def predict_cook(
    answer: ClipAnswer,
    samples: Sequence[CookSample],
    *,
    experiment: str,
    protocol: str,
    pictures: ClipPictures = ClipPictures(),
    workers: int = 1,
    journal: RunJournal | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``clip_predictions`` of an assistant on every sample, ``workers`` at a time; those in ``journal`` are not run again.

    A failed answer is a row with its status, so is a clip that cannot be read. Raises ``LookAheadError``, and ``AssistantUnusableError``
    where nothing could be asked.
    """
    chosen = parse_protocol(protocol)
    if chosen.family is not Family.COOK_MRE:
        raise InputError("this is no Cook-MRE protocol", record=protocol, field="protocol")
    by_id = {sample.sample_id: sample for sample in samples}

    def run_one(sample_id: str) -> list[Row]:
        sample = by_id[sample_id]
        hints = hints_of(sample, chosen.hints)
        try:
            said = list(answer(clip_question(sample, chosen.hints, pictures)))
        except STOPS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001  one bad clip must not stop the others
            status = Status.BAD_VIDEO if isinstance(error, InputError) else Status.ERROR
            said = [Answered(None, status, f"{type(error).__name__}: {error}")] * len(hints)
        return [
            {"hint": hint or NO_HINT, "answer": found.text, "status": found.status.value, "reason": found.reason}
            for hint, found in zip(hints, said, strict=True)
        ]

    made = run_units(list(by_id), run_one, workers=workers, journal=journal, progress=progress)
    rows = [
        {"experiment": experiment, "protocol": protocol, "sample_id": sample_id, **row} for sample_id, own in made.items() for row in own
    ]
    return CLIP_PREDICTIONS.check(CLIP_PREDICTIONS.rows(rows))
