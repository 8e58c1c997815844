"""Streaming checkpoints on EGO-style benchmarks from video features that are encoded once per recording.

The same rows as ``ml.benchmarks.protocols`` gives for frames, at a fraction of the time: many streams at once, each message decided on the
blocks up to it, equal to cached streaming.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl
import torch

from ml.benchmarks.ego.run_end import with_run_end
from ml.benchmarks.families import parse_protocol
from ml.benchmarks.running import Progress, Row, RunJournal, Units
from ml.errors import InputError
from ml.streaming.batch_runtime import StepStream, messages_as_they_end, stream_of
from ml.streaming.features import FeatureCache
from ml.streaming.runtime import SpeakingModel
from ml.streaming.samples import block_range, block_times
from ml.streaming.streams import Utterance
from ml.tables.declarations.results import PREDICTIONS
from ml.vocabulary import MessageKind, Status

RECIPES_AT_ONCE = 24  # 40 sample kitchen recordings take 5 % longer than with all side by side; with 16 it is 15 %


def predict_per_step(
    speaker: SpeakingModel,
    features: FeatureCache,
    benchmark_steps: pl.DataFrame,
    *,
    experiment: str,
    protocol: str,
    journal: RunJournal | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``predictions`` of a streaming model restarted at every true instruction; a step that fails is a row with its reason.

    Steps in ``journal`` are not run again, and each goes into it as it ends.
    """
    benchmark_steps = with_run_end(benchmark_steps, parse_protocol(protocol).run_end)
    steps = {str(step["unit_id"]): step for step in benchmark_steps.sort("recording_id", "position").to_dicts()}
    units = Units(list(steps), journal, progress)
    waiting = iter(units.todo)

    def draw() -> tuple[str, StepStream] | None:
        for unit in waiting:
            try:
                return unit, _stream(features, steps[unit])
            except Exception as error:  # noqa: BLE001  one bad video must not stop the others
                units.finish(unit, [_failed(unit, steps[unit], error)])
        return None

    for unit, messages in messages_as_they_end(speaker, draw):
        if isinstance(messages, Exception):
            units.finish(unit, [_failed(unit, steps[unit], messages)])
        else:
            units.finish(unit, [_row(unit, utterance) for utterance in messages.utterances] or [_row(unit, None)])
    return _predictions([(steps[unit]["recording_id"], row) for unit, rows in units.rows().items() for row in rows], experiment, protocol)


def predict_full_recipe(
    speaker: SpeakingModel,
    features: FeatureCache,
    benchmark_steps: pl.DataFrame,
    *,
    experiment: str,
    protocol: str,
    journal: RunJournal | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``predictions`` of a streaming model that sees each recording in one go and moves to the next instruction when it says success.

    Every instruction starts a stream of its own (``RuntimeSettings.keep_context`` off), so recordings are run side by side, one
    instruction of each at a time: the messages are those of ``StreamingAssistant``. Recordings in ``journal`` are not run again, each
    goes into it when it is over, and one that fails is a row with its reason. Raises ``InputError`` where the context is kept.
    """
    if speaker.settings.keep_context:
        raise InputError("full recipes are run one instruction at a time", field="keep_context", remedy="Switch it off")
    recordings = {
        str(part["recording_id"][0]): part.to_dicts()
        for part in benchmark_steps.sort("recording_id", "position").partition_by("recording_id", maintain_order=True)
    }
    units = Units(list(recordings), journal, progress)
    waiting = iter(units.todo)
    begun: dict[str, _Recipe] = {}
    going_on: deque[str] = deque()

    def draw() -> tuple[str, StepStream] | None:
        if going_on:
            return going_on[0], begun[going_on.popleft()].stream()
        for recording_id in waiting:
            steps = recordings[recording_id]
            try:
                begun[recording_id] = _recipe(features, steps)
                return recording_id, begun[recording_id].stream()
            except Exception as error:  # noqa: BLE001  one bad recording must not stop the others
                units.finish(recording_id, [_failed(None, steps[0], error)])
        return None

    for recording_id, messages in messages_as_they_end(speaker, draw, RECIPES_AT_ONCE):
        recipe = begun[recording_id]
        if isinstance(messages, Exception):
            recipe.said, recipe.is_over = [_failed(None, recipe.steps[0], messages)], True
        else:
            recipe.advance(messages.utterances)
        if recipe.is_over:
            units.finish(recording_id, begun.pop(recording_id).said or [_row(None, None)])
        else:
            going_on.append(recording_id)
    return _predictions([(recording_id, row) for recording_id, rows in units.rows().items() for row in rows], experiment, protocol)


@dataclass
class _Recipe:
    """One recording on its way through its instructions; ``seen`` counts the blocks before the current instruction."""

    steps: list[Row]
    clip: torch.Tensor
    times: list[tuple[float, float]]
    said: list[Row] = field(default_factory=list)
    current: int = 0
    seen: int = 0
    is_over: bool = False

    def stream(self) -> StepStream:
        """The rest of the recording under the current instruction."""
        return StepStream(str(self.steps[self.current]["instruction"]), self.clip[self.seen :], tuple(self.times[self.seen :]))

    def advance(self, utterances: Sequence[Utterance]) -> None:
        """To the next instruction after the block at which success was said; over at the last one, or where none was said."""
        self.said += [_row(str(self.steps[self.current]["unit_id"]), utterance) for utterance in utterances]
        if not utterances or utterances[-1].kind is not MessageKind.SUCCESS:
            self.is_over = True
            return
        self.seen = next(index for index, times in enumerate(self.times) if times[-1] >= utterances[-1].t_s) + 1
        self.current += 1
        self.is_over = self.current == len(self.steps) or self.seen >= len(self.times)


def _recipe(features: FeatureCache, steps: list[Row]) -> _Recipe:
    start_s, end_s = float(str(steps[0]["start_s"])), max(float(str(step["end_s"])) for step in steps)
    clip = features.of_clip(_video(steps[0]), start_s, end_s)
    return _Recipe(steps, clip, [block_times(block) for block in block_range(start_s, end_s)])


def _stream(features: FeatureCache, step: Row) -> StepStream:
    return stream_of(features, _video(step), str(step["instruction"]), float(str(step["start_s"])), float(str(step["end_s"])))


def _video(step: Row) -> str:
    if step["video_path"] is None:
        raise InputError("the recording has no video", record=str(step["unit_id"]))
    return str(step["video_path"])


def _row(unit: str | None, utterance: Utterance | None, status: Status = Status.OK, reason: str | None = None) -> Row:
    spoken: Row = {"t_s": None, "kind": None, "text": None, "score": None}
    if utterance is not None:
        spoken = {"t_s": float(utterance.t_s), "kind": str(utterance.kind), "text": utterance.text, "score": float(utterance.score)}
    return {"unit_id": unit, **spoken, "status": status.value, "reason": reason}


def _failed(unit: str | None, step: Row, error: Exception) -> Row:
    """The row of a step, or of a recording (``unit`` None), that could not be run."""
    if isinstance(error, InputError):
        return _row(unit, None, Status.NO_VIDEO if step["video_path"] is None else Status.BAD_VIDEO, str(error))
    return _row(unit, None, Status.ERROR, f"{type(error).__name__}: {error}")


def _predictions(rows: list[tuple[str, Row]], experiment: str, protocol: str) -> pl.DataFrame:
    places: dict[str, int] = {}
    numbered = []
    for recording_id, row in rows:
        places[recording_id] = places.get(recording_id, -1) + 1
        numbered.append(
            {"experiment": experiment, "protocol": protocol, "recording_id": recording_id, "message_index": places[recording_id], **row}
        )
    return PREDICTIONS.check(PREDICTIONS.rows(numbered))
