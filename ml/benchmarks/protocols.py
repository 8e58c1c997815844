"""How EGO-MC-Bench feeds an assistant: per recipe step and full recipe. Gives ``predictions`` rows; scoring and assistants are elsewhere.

Every unit leaves at least one row: its messages, or a row without message (status ok: it ran and stayed silent), or a failed row.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl

from ml.benchmarks.assistants.interface import AssistantFactory, Frames, FramesProvider, LookAheadError, Times
from ml.errors import InputError
from ml.tables.declared import PREDICTIONS
from ml.vocabulary import MessageKind, Status

Progress = Callable[[int, int], None]
PER_STEP, FULL_RECIPE = "per_step", "full_recipe"
_SAID = (MessageKind.FEEDBACK, MessageKind.SUCCESS)


class RunEnd(StrEnum):
    """Where a per-step stream ends when the assistant does not say success."""

    NEXT_INSTRUCTION = "next_instruction"  # the true end of the unit
    GRACE = "grace"  # that and ``grace_s`` more
    END_OF_VIDEO = "end_of_video"  # what the published baseline does


@dataclass(frozen=True)
class RunOptions:
    run_end: RunEnd = RunEnd.NEXT_INSTRUCTION
    grace_s: float = 15.0


class _Clock:
    """The frames of one stream, handed out once and in order, and what the assistant may say now."""

    def __init__(self, provider: FramesProvider, recording_id: str, start_s: float, end_s: float) -> None:
        self._chunks = iter(provider(recording_id, start_s, end_s))
        self.recording_id, self.end_s, self.now_s, self.chunk_start_s = recording_id, end_s, start_s, start_s

    def __iter__(self) -> Iterator[tuple[Frames, Times]]:
        for frames, times_s in self._chunks:
            if len(times_s) == 0:
                continue
            if len(frames) != len(times_s):
                raise InputError(f"{len(frames)} frames with {len(times_s)} times", record=self.recording_id, field="frames")
            if times_s[0] < self.now_s - 1e-6 or (times_s[1:] < times_s[:-1]).any():
                raise InputError(f"frame times go back before {self.now_s:.3f} s", record=self.recording_id, field="times_s")
            if times_s[-1] > self.end_s + 1e-6:
                raise LookAheadError(f"{self.recording_id}: a frame at {times_s[-1]:.3f} s is past the stream's end at {self.end_s:.3f} s")
            self.chunk_start_s, self.now_s = float(times_s[0]), float(times_s[-1])
            yield frames, times_s

    def check(self, utterance: Any) -> None:
        if utterance.kind not in _SAID:
            raise InputError(
                f"an assistant said {utterance.kind!r}", record=self.recording_id, field="kind", remedy=f"Allowed: {', '.join(_SAID)}"
            )
        if utterance.t_s > self.now_s + 1e-6:
            raise LookAheadError(f"{self.recording_id}: message stamped {utterance.t_s:.3f} s, but frames end at {self.now_s:.3f} s")
        if utterance.t_s < self.chunk_start_s - 1e-6:
            raise LookAheadError(
                f"{self.recording_id}: message stamped {utterance.t_s:.3f} s after frames up to {self.now_s:.3f} s were seen"
            )


class PastFrames:
    """Frames of the stream up to now, for assistants that look back: given to those that have an ``attach`` method."""

    def __init__(self, provider: FramesProvider, clock: _Clock, start_s: float) -> None:
        self._provider, self._clock, self._start_s = provider, clock, start_s

    def between(self, start_s: float, end_s: float) -> Iterator[tuple[Frames, Times]]:
        """Chunks in [start_s, end_s]. Raises ``LookAheadError`` for an end later than the last frame observed."""
        if end_s > self._clock.now_s + 1e-6:
            raise LookAheadError(f"{self._clock.recording_id}: frames up to {end_s:.3f} s asked for at {self._clock.now_s:.3f} s")
        yield from self._provider(self._clock.recording_id, max(start_s, self._start_s), end_s)


def run_per_step(
    factory: AssistantFactory,
    benchmark_steps: pl.DataFrame,
    frames: FramesProvider,
    *,
    experiment: str,
    protocol: str,
    options: RunOptions = RunOptions(),
    finished: pl.DataFrame | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``predictions`` of an assistant that is restarted at every true instruction of ``benchmark_steps``.

    A run of a step ends at the assistant's success, else by ``options``. ``finished`` holds predictions of an earlier, stopped run: its
    recordings are not run again. A step that fails is a row with status error. Raises ``LookAheadError``.
    Source: EGO-MC-Bench section 5, per recipe step.
    """

    def run_recording(recording: pl.DataFrame) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        last_s = float(recording["end_s"].max())  # type: ignore[arg-type]
        assistant = None
        for step in recording.iter_rows(named=True):
            try:
                assistant = assistant or factory()
                end_s = _run_end(step["end_s"], last_s, options)
                rows += _stream(assistant, frames, [step], step["start_s"], end_s)
            except LookAheadError:
                raise
            except Exception as error:  # noqa: BLE001  one bad step must not stop the others
                rows.append(_failed(step["unit_id"], error))
                assistant = None
        return rows

    return _over_recordings(benchmark_steps, run_recording, experiment, protocol, finished, progress)


def run_full_recipe(
    factory: AssistantFactory,
    benchmark_steps: pl.DataFrame,
    frames: FramesProvider,
    *,
    experiment: str,
    protocol: str,
    finished: pl.DataFrame | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``predictions`` of an assistant that sees each recording in one stream and moves to the next instruction when it says success.

    The person goes on in their own time, so an assistant that misses a success follows an old instruction. ``unit_id`` of a row is the
    step that the assistant was at. Source: EGO-MC-Bench section 5, full recipe.
    """

    def run_recording(recording: pl.DataFrame) -> list[dict[str, object]]:
        steps = list(recording.iter_rows(named=True))
        try:
            return _stream(factory(), frames, steps, steps[0]["start_s"], max(step["end_s"] for step in steps))
        except LookAheadError:
            raise
        except Exception as error:  # noqa: BLE001  one bad recording must not stop the others
            return [_failed(None, error)]

    return _over_recordings(benchmark_steps, run_recording, experiment, protocol, finished, progress)


def check_run(predictions: pl.DataFrame) -> None:
    """Raise ``InputError`` when there are rows and none of them is ok: a run whose items all failed is a failed run."""
    if predictions.height and not (predictions["status"] == Status.OK).any():
        first = predictions.row(0, named=True)
        raise InputError(f"all {predictions.height} items failed, the first with: {first['reason']}", record=first["recording_id"])


def _run_end(end_s: float, last_s: float, options: RunOptions) -> float:
    match options.run_end:
        case RunEnd.NEXT_INSTRUCTION:
            return end_s
        case RunEnd.GRACE:
            return min(end_s + options.grace_s, last_s)
        case RunEnd.END_OF_VIDEO:
            return last_s


def _stream(
    assistant: Any,
    frames: FramesProvider,
    steps: Sequence[dict[str, Any]],
    start_s: float,
    end_s: float,
) -> list[dict[str, object]]:
    """Rows of one stream over ``steps``, in which each success leads to the next step and the last one ends it."""
    clock = _Clock(frames, steps[0]["recording_id"], start_s, end_s)
    if hasattr(assistant, "attach"):
        assistant.attach(PastFrames(frames, clock, start_s))
    assistant.start(steps[0]["instruction"], start_s)
    rows: list[dict[str, object]] = []
    current = 0
    for chunk, times_s in clock:
        for utterance in assistant.observe(chunk, times_s):
            clock.check(utterance)
            score = None if utterance.score is None else float(utterance.score)
            rows.append(
                {
                    "unit_id": steps[current]["unit_id"],
                    "t_s": float(utterance.t_s),
                    "kind": str(utterance.kind),
                    "text": utterance.text,
                    "score": score,
                    "status": Status.OK.value,
                    "reason": None,
                }
            )
            if utterance.kind == MessageKind.SUCCESS:
                current += 1
                if current == len(steps):
                    return rows
                assistant.give_instruction(steps[current]["instruction"], clock.now_s)
    if not rows:
        reached = {"unit_id": steps[0]["unit_id"] if len(steps) == 1 else None}
        rows.append({**reached, "t_s": None, "kind": None, "text": None, "score": None, "status": Status.OK.value, "reason": None})
    return rows


def _failed(unit_id: str | None, error: Exception) -> dict[str, object]:
    reason = f"{type(error).__name__}: {error}"
    return {"unit_id": unit_id, "t_s": None, "kind": None, "text": None, "score": None, "status": Status.ERROR.value, "reason": reason}


def _over_recordings(
    benchmark_steps: pl.DataFrame,
    run_recording: Callable[[pl.DataFrame], list[dict[str, object]]],
    experiment: str,
    protocol: str,
    finished: pl.DataFrame | None,
    progress: Progress | None,
) -> pl.DataFrame:
    parts = [] if finished is None else [finished]
    done = set() if finished is None else set(finished["recording_id"].unique())
    recordings = benchmark_steps.sort("recording_id", "position").partition_by("recording_id", maintain_order=True)
    for index, recording in enumerate(recordings, 1):
        recording_id = recording["recording_id"][0]
        if recording_id not in done:
            rows = run_recording(recording)
            common = {"experiment": experiment, "protocol": protocol, "recording_id": recording_id}
            parts.append(PREDICTIONS.rows([{**common, **row, "message_index": place} for place, row in enumerate(rows)]))
        if progress is not None:
            progress(index, len(recordings))
    return PREDICTIONS.check(pl.concat(parts)) if parts else PREDICTIONS.empty()
