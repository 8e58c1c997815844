"""Streaming checkpoints on EGO-style benchmarks from video features that are encoded once per recording.

The same rows as ``ml.benchmarks.protocols`` gives for frames, at a fraction of the time: steps are judged in batches (equal to cached
streaming), full recipes by cached streaming over the recording's features in time order.
"""

from collections.abc import Callable, Iterator

import polars as pl

from ml.errors import InputError
from ml.streaming.batch_runtime import StepStream, messages_for_steps
from ml.streaming.features import FeatureCache
from ml.streaming.runtime import SpeakingModel, StreamingAssistant
from ml.streaming.samples import block_range, block_times
from ml.streaming.streams import Utterance
from ml.tables.declared import PREDICTIONS
from ml.vocabulary import MessageKind, Status

Progress = Callable[[int, int], None]
Row = dict[str, object]
STEPS_AT_ONCE = 128


def predict_per_step(
    speaker: SpeakingModel,
    features: FeatureCache,
    benchmark_steps: pl.DataFrame,
    *,
    experiment: str,
    protocol: str,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``predictions`` of a streaming model restarted at every true instruction; a step without a readable video is a failed row."""
    steps = benchmark_steps.sort("recording_id", "position").to_dicts()
    said: dict[str, list[Row]] = {}
    for start in range(0, len(steps), STEPS_AT_ONCE):
        streams: list[tuple[Row, StepStream]] = []
        for step in steps[start : start + STEPS_AT_ONCE]:
            try:
                streams.append((step, _stream(features, step)))
            except InputError as error:
                said[step["unit_id"]] = [
                    _row(step["unit_id"], None, Status.NO_VIDEO if step["video_path"] is None else Status.BAD_VIDEO, str(error))
                ]
        for (step, _), messages in zip(streams, messages_for_steps(speaker, [stream for _, stream in streams]), strict=True):
            unit = str(step["unit_id"])
            said[unit] = [_row(unit, utterance) for utterance in messages.utterances] or [_row(unit, None)]
        if progress is not None:
            progress(min(start + STEPS_AT_ONCE, len(steps)), len(steps))
    return _predictions([(step["recording_id"], row) for step in steps for row in said[step["unit_id"]]], experiment, protocol)


def predict_full_recipe(
    speaker: SpeakingModel,
    features: FeatureCache,
    benchmark_steps: pl.DataFrame,
    *,
    experiment: str,
    protocol: str,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``predictions`` of a streaming model that sees each recording in one go and moves to the next instruction when it says success."""
    recordings = benchmark_steps.sort("recording_id", "position").partition_by("recording_id", maintain_order=True)
    rows: list[tuple[str, Row]] = []
    for done, recording in enumerate(recordings, start=1):
        identifier = recording["recording_id"][0]
        try:
            rows += [(identifier, row) for row in _whole(speaker, features, recording.to_dicts())]
        except InputError as error:
            rows.append((identifier, _row(None, None, Status.BAD_VIDEO, str(error))))
        if progress is not None:
            progress(done, len(recordings))
    return _predictions(rows, experiment, protocol)


def _whole(speaker: SpeakingModel, features: FeatureCache, steps: list[Row]) -> Iterator[Row]:
    start_s, end_s = float(str(steps[0]["start_s"])), max(float(str(step["end_s"])) for step in steps)
    clip = features.of_clip(_video(steps[0]), start_s, end_s)
    assistant = StreamingAssistant(speaker)
    assistant.start(str(steps[0]["instruction"]), start_s)
    current = 0
    spoke = False
    for block, block_features in zip(block_range(start_s, end_s), clip, strict=True):
        utterance = assistant.observe_features(block_features, block_times(block))
        if utterance is None:
            continue
        spoke = True
        yield _row(str(steps[current]["unit_id"]), utterance)
        if utterance.kind is MessageKind.SUCCESS:
            current += 1
            if current == len(steps):
                return
            assistant.give_instruction(str(steps[current]["instruction"]), utterance.t_s)
    if not spoke:
        yield _row(None, None)


def _stream(features: FeatureCache, step: Row) -> StepStream:
    start_s, end_s = float(str(step["start_s"])), float(str(step["end_s"]))
    clip = features.of_clip(_video(step), start_s, end_s)
    return StepStream(str(step["instruction"]), clip, tuple(block_times(block) for block in block_range(start_s, end_s)))


def _video(step: Row) -> str:
    if step["video_path"] is None:
        raise InputError("the recording has no video", record=str(step["unit_id"]))
    return str(step["video_path"])


def _row(unit: str | None, utterance: Utterance | None, status: Status = Status.OK, reason: str | None = None) -> Row:
    spoken: Row = {"t_s": None, "kind": None, "text": None, "score": None}
    if utterance is not None:
        spoken = {"t_s": float(utterance.t_s), "kind": str(utterance.kind), "text": utterance.text, "score": float(utterance.score)}
    return {"unit_id": unit, **spoken, "status": status.value, "reason": reason}


def _predictions(rows: list[tuple[str, Row]], experiment: str, protocol: str) -> pl.DataFrame:
    places: dict[str, int] = {}
    numbered = []
    for recording_id, row in rows:
        places[recording_id] = places.get(recording_id, -1) + 1
        numbered.append(
            {"experiment": experiment, "protocol": protocol, "recording_id": recording_id, "message_index": places[recording_id], **row}
        )
    return PREDICTIONS.check(PREDICTIONS.rows(numbered))
