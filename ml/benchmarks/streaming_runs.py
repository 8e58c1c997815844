"""Streaming checkpoints on EGO-style benchmarks from video features that are encoded once per recording.

The same rows as ``ml.benchmarks.protocols`` gives for frames, at a fraction of the time: many streams at once, each message decided on the
blocks up to it, equal to cached streaming.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl
import torch

from ml.benchmarks.ego.run_end import with_run_end
from ml.benchmarks.families import parse_protocol
from ml.errors import InputError
from ml.streaming.batch_runtime import StepStream, messages_for_steps
from ml.streaming.features import FeatureCache
from ml.streaming.runtime import SpeakingModel
from ml.streaming.samples import block_range, block_times
from ml.streaming.streams import Utterance
from ml.tables.declarations.results import PREDICTIONS
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
    benchmark_steps = with_run_end(benchmark_steps, parse_protocol(protocol).run_end)
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
    """``predictions`` of a streaming model that sees each recording in one go and moves to the next instruction when it says success.

    Every instruction starts a stream of its own (``RuntimeSettings.keep_context`` off), so the recordings are run side by side, one
    instruction of each at a time: the messages are those of ``StreamingAssistant``. Raises ``InputError`` where the context is kept.
    """
    if speaker.settings.keep_context:
        raise InputError("full recipes are run one instruction at a time", field="keep_context", remedy="Switch it off")
    recordings = [
        part.to_dicts() for part in benchmark_steps.sort("recording_id", "position").partition_by("recording_id", maintain_order=True)
    ]
    said: list[list[Row]] = [[] for _ in recordings]
    runs: list[_Recipe] = []
    for place, steps in enumerate(recordings):
        try:
            runs.append(_recipe(features, place, steps))
        except InputError as error:
            said[place] = [_row(None, None, Status.BAD_VIDEO, str(error))]
    active = runs
    while active:
        streams = [StepStream(run.instruction, run.clip[run.seen :], tuple(run.times[run.seen :])) for run in active]
        for run, messages in zip(active, messages_for_steps(speaker, streams), strict=True):
            said[run.place] += [_row(run.unit, utterance) for utterance in messages.utterances]
            run.advance(messages.utterances)
        active = [run for run in active if not run.is_over]
        if progress is not None:
            progress(len(recordings) - len(active), len(recordings))
    rows = [(str(steps[0]["recording_id"]), row) for steps, own in zip(recordings, said, strict=True) for row in own or [_row(None, None)]]
    return _predictions(rows, experiment, protocol)


@dataclass
class _Recipe:
    """One recording on its way through its instructions; ``seen`` counts the blocks before the current instruction."""

    place: int
    steps: list[Row]
    clip: torch.Tensor
    times: list[tuple[float, float]]
    current: int = 0
    seen: int = 0
    is_over: bool = False

    @property
    def instruction(self) -> str:
        return str(self.steps[self.current]["instruction"])

    @property
    def unit(self) -> str:
        return str(self.steps[self.current]["unit_id"])

    def advance(self, utterances: Sequence[Utterance]) -> None:
        """To the next instruction after the block at which success was said; over at the last one, or where none was said."""
        if not utterances or utterances[-1].kind is not MessageKind.SUCCESS:
            self.is_over = True
            return
        self.seen = next(index for index, times in enumerate(self.times) if times[-1] >= utterances[-1].t_s) + 1
        self.current += 1
        self.is_over = self.current == len(self.steps) or self.seen >= len(self.times)


def _recipe(features: FeatureCache, place: int, steps: list[Row]) -> _Recipe:
    start_s, end_s = float(str(steps[0]["start_s"])), max(float(str(step["end_s"])) for step in steps)
    clip = features.of_clip(_video(steps[0]), start_s, end_s)
    return _Recipe(place, steps, clip, [block_times(block) for block in block_range(start_s, end_s)])


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
