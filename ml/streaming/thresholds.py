"""The two thresholds of the decision rule, picked on validation streams, and where they are kept. Benchmark scores are elsewhere."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ml.errors import InputError
from ml.streaming.batch_runtime import StepStream, block_probabilities, stream_of
from ml.streaming.checkpoint_files import THRESHOLDS_FILE
from ml.streaming.features import FeatureCache
from ml.streaming.runtime import SpeakingModel
from ml.streaming.samples import TrainingSample
from ml.streaming.settings import Thresholds
from ml.streaming.streams import StreamVoice
from ml.vocabulary import MessageKind

GRID = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
FALSE_SUCCESS_PENALTY = 0.5


@dataclass(frozen=True)
class FirstMessageScore:
    """Of each stream's first message only: mistake F1 and completion accuracy within ``window_s``, success said where a mistake was due.

    ``f1`` takes as recall the mean over mistake types, so that thresholds do not give up a type that is rare or hard to tell.
    """

    f1: float
    completion: float
    false_success: float
    streams: int

    @property
    def merit(self) -> float:
        return self.f1 + self.completion - FALSE_SUCCESS_PENALTY * self.false_success


def require_validation(samples: Sequence[TrainingSample], features: FeatureCache) -> None:
    """Raise ``InputError`` where thresholds could not be picked on the samples. Their features are to be prepared."""
    if not validation_streams(samples, features)[1]:
        raise _no_validation()


def _no_validation() -> InputError:
    return InputError(
        "no validation sample with exactly one message and a readable video", file="training_mix", remedy="Give the mix a validation split"
    )


def validation_streams(samples: Sequence[TrainingSample], features: FeatureCache) -> tuple[list[StepStream], list[TrainingSample]]:
    """Streams of samples with one message due, and those samples. A sample whose video cannot be read is left out."""
    streams, used = [], []
    for sample in samples:
        if len(sample.messages) != 1:
            continue
        try:
            stream = stream_of(features, sample.video_path, sample.instruction, sample.start_s, sample.end_s)
        except InputError:
            continue
        if stream.times_s:
            streams.append(stream)
            used.append(sample)
    return streams, used


def pick_thresholds(
    speaker: SpeakingModel, samples: Sequence[TrainingSample], features: FeatureCache, window_s: float = 3.0
) -> tuple[Thresholds, FirstMessageScore]:
    """Thresholds with the best merit on validation samples, and their score. Raises InputError without usable samples.

    Judged on each stream's first message, so one forward serves the whole grid. Ties go to the higher thresholds.
    """
    streams, used = validation_streams(samples, features)
    if not used:
        raise _no_validation()
    return best_thresholds(speaker, streams, used, block_probabilities(speaker, streams), window_s)


def best_thresholds(
    speaker: SpeakingModel,
    streams: Sequence[StepStream],
    samples: Sequence[TrainingSample],
    probabilities: Sequence[tuple[list[float], list[float]]],
    window_s: float = 3.0,
) -> tuple[Thresholds, FirstMessageScore]:
    """``pick_thresholds`` on probabilities of speaking and of feedback, block by block, that are known already."""
    best: tuple[float, float, float] | None = None
    for feedback in GRID:
        for success in GRID:
            score = score_first_messages(
                replace(speaker, thresholds=Thresholds(feedback, success)), streams, samples, probabilities, window_s
            )
            candidate = (round(score.merit, 9), feedback, success)
            best = candidate if best is None or candidate > best else best
    assert best is not None
    chosen = Thresholds(best[1], best[2])
    return chosen, score_first_messages(replace(speaker, thresholds=chosen), streams, samples, probabilities, window_s)


def score_first_messages(
    speaker: SpeakingModel,
    streams: Sequence[StepStream],
    samples: Sequence[TrainingSample],
    probabilities: Sequence[tuple[list[float], list[float]]],
    window_s: float,
) -> FirstMessageScore:
    said_feedback = completed = due_success = false_success = 0
    due: Counter[str | None] = Counter()
    hits: Counter[str | None] = Counter()
    for stream, sample, (speak, feedback) in zip(streams, samples, probabilities, strict=True):
        voice = StreamVoice(speaker.thresholds, speaker.settings)
        first = None
        for times, p_speak, p_feedback in zip(stream.times_s, speak, feedback, strict=True):
            decision = voice.consider(times[-1], p_speak, p_feedback)
            if decision is not None:
                first = (times[-1], decision.kind)
                break
        due_s, kind, _ = sample.messages[0]
        near = first is not None and abs(first[0] - due_s) <= window_s + 1e-9
        said_feedback += first is not None and first[1] is MessageKind.FEEDBACK
        if kind == MessageKind.FEEDBACK:
            due[sample.mistake_type] += 1
            hits[sample.mistake_type] += near and first is not None and first[1] is MessageKind.FEEDBACK
            false_success += first is not None and first[1] is MessageKind.SUCCESS
        else:
            due_success += 1
            completed += near and first is not None and first[1] is MessageKind.SUCCESS
    recall = sum(hits[name] / count for name, count in due.items()) / max(1, len(due))
    precision = hits.total() / max(1, said_feedback)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return FirstMessageScore(f1, completed / max(1, due_success), false_success / max(1, due.total()), len(samples))


def write_thresholds(folder: Path, thresholds: Thresholds, score: FirstMessageScore) -> None:
    temporary = folder / f".{THRESHOLDS_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps({**asdict(thresholds), "validation": asdict(score)}, indent=2) + "\n", encoding="utf-8")
    os.replace(temporary, folder / THRESHOLDS_FILE)


def read_thresholds(folder: Path) -> Thresholds:
    path = folder / THRESHOLDS_FILE
    if not path.exists():
        raise InputError("the checkpoint has no thresholds", file=path, remedy="Pick them on validation samples")
    stored = json.loads(path.read_text(encoding="utf-8"))
    return Thresholds(float(stored["feedback"]), float(stored["success"]))
