"""How EGO-MC-Bench feeds an assistant: per recipe step and full recipe. Gives ``predictions`` rows; scoring and assistants are elsewhere.

Every unit leaves at least one row: its messages, or a row without message (status ok: it ran and stayed silent), or a failed row.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from ml.benchmarks.assistants.interface import SAID_KINDS, AssistantFactory, Frames, FramesProvider, LookAheadError, Times
from ml.benchmarks.assistants.past import PastFrames
from ml.benchmarks.ego.run_end import with_run_end
from ml.benchmarks.families import parse_protocol
from ml.benchmarks.running import STOPS_THE_RUN, Progress, Row, RunJournal, run_units
from ml.errors import InputError
from ml.tables.declarations.results import PREDICTIONS
from ml.vocabulary import MessageKind, Status

PER_STEP, FULL_RECIPE = "per_step", "full_recipe"


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
        if utterance.kind not in SAID_KINDS:
            raise InputError(
                f"an assistant said {utterance.kind!r}", record=self.recording_id, field="kind", remedy=f"Allowed: {', '.join(SAID_KINDS)}"
            )
        if utterance.t_s > self.now_s + 1e-6:
            raise LookAheadError(f"{self.recording_id}: message stamped {utterance.t_s:.3f} s, but frames end at {self.now_s:.3f} s")
        if utterance.t_s < self.chunk_start_s - 1e-6:
            raise LookAheadError(
                f"{self.recording_id}: message stamped {utterance.t_s:.3f} s after frames up to {self.now_s:.3f} s were seen"
            )


def run_per_step(
    factory: AssistantFactory,
    benchmark_steps: pl.DataFrame,
    frames: FramesProvider,
    *,
    experiment: str,
    protocol: str,
    references: pl.DataFrame | None = None,
    workers: int = 1,
    journal: RunJournal | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``predictions`` of an assistant that is restarted at every true instruction of ``benchmark_steps``.

    A run of a step ends at the assistant's success, else where ``protocol`` says (``families``). Recordings run ``workers`` at a time,
    those in ``journal`` not again. A step that fails is a row with status error, one of which answers could not be read has an unparsable
    row too. ``references`` (``benchmark_messages``) are what no text that reaches the assistant may hold before its time. Raises
    ``LookAheadError``, and ``AssistantUnusableError`` where no step could be run.
    Source: EGO-MC-Bench section 5, per recipe step.
    """

    told = _references(references, benchmark_steps)
    benchmark_steps = with_run_end(benchmark_steps, parse_protocol(protocol).run_end)

    def run_recording(recording: pl.DataFrame) -> list[Row]:
        rows: list[Row] = []
        assistant = None
        for step in recording.iter_rows(named=True):
            try:
                assistant = assistant or factory()
                rows += _stream(assistant, frames, [step], step["start_s"], step["end_s"], told.get(step["recording_id"], ()))
            except STOPS_THE_RUN:
                raise
            except Exception as error:  # noqa: BLE001  one bad step must not stop the others
                rows.append(_failed(step["unit_id"], error))
                assistant = None
        return rows

    return _over_recordings(benchmark_steps, run_recording, experiment, protocol, workers, journal, progress)


def run_full_recipe(
    factory: AssistantFactory,
    benchmark_steps: pl.DataFrame,
    frames: FramesProvider,
    *,
    experiment: str,
    protocol: str,
    references: pl.DataFrame | None = None,
    workers: int = 1,
    journal: RunJournal | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``predictions`` of an assistant that sees each recording in one stream and moves to the next instruction when it says success.

    The person goes on in their own time, so an assistant that misses a success follows an old instruction. ``unit_id`` of a row is the
    step that the assistant was at. Source: EGO-MC-Bench section 5, full recipe.
    """

    told = _references(references, benchmark_steps)

    def run_recording(recording: pl.DataFrame) -> list[Row]:
        steps = list(recording.iter_rows(named=True))
        try:
            end_s = max(step["end_s"] for step in steps)
            return _stream(factory(), frames, steps, steps[0]["start_s"], end_s, told.get(steps[0]["recording_id"], ()))
        except STOPS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001  one bad recording must not stop the others
            return [_failed(None, error)]

    return _over_recordings(benchmark_steps, run_recording, experiment, protocol, workers, journal, progress)


def _stream(
    assistant: Any,
    frames: FramesProvider,
    steps: Sequence[dict[str, Any]],
    start_s: float,
    end_s: float,
    references: Sequence[tuple[float, str]] = (),
) -> list[Row]:
    """Rows of one stream over ``steps``, in which each success leads to the next step and the last one ends it.

    A step of which answers could not be read has an unparsable row beside what was said; alone where no answer could be read.
    """
    clock = _Clock(frames, steps[0]["recording_id"], start_s, end_s)
    past = PastFrames(frames, clock.recording_id, start_s, lambda: clock.now_s, references)
    if hasattr(assistant, "attach"):
        assistant.attach(past)
    past.check_text(steps[0]["instruction"])
    assistant.start(steps[0]["instruction"], start_s)
    rows: list[Row] = []
    answers = _Answers(assistant)
    current = 0
    for chunk, times_s in clock:
        said = assistant.observe(chunk, times_s)
        answers.count(steps[current]["unit_id"])
        for utterance in said:
            clock.check(utterance)
            past.note_said(utterance.text or "")
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
                    return rows + answers.unreadable_rows()
                past.check_text(steps[current]["instruction"])
                assistant.give_instruction(steps[current]["instruction"], clock.now_s)
    if not rows and not answers.none_was_readable:
        rows.append(_wordless(steps[0]["unit_id"] if len(steps) == 1 else None, Status.OK))
    return rows + answers.unreadable_rows()


class _Answers:
    """Answers by step and status, of assistants that count them in ``outcomes``."""

    def __init__(self, assistant: Any) -> None:
        self._assistant = assistant
        self._before = self._now()
        self._of: dict[str, Counter[Status]] = {}

    def count(self, unit_id: str) -> None:
        """What was answered since the last call was asked for this step."""
        now = self._now()
        if now != self._before:
            self._of.setdefault(unit_id, Counter()).update(now - self._before)
            self._before = now

    @property
    def none_was_readable(self) -> bool:
        return bool(self._of) and not any(found[Status.OK] for found in self._of.values())

    def unreadable_rows(self) -> list[Row]:
        rows = []
        for unit_id, found in self._of.items():
            bad = {status: count for status, count in sorted(found.items()) if status != Status.OK}
            if bad:
                kinds = ", ".join(f"{status} {count}" for status, count in bad.items())
                reason = f"{sum(bad.values())} of {found.total()} answers could not be read: {kinds}"
                rows.append(_wordless(unit_id, Status.UNPARSABLE, reason))
        return rows

    def _now(self) -> Counter[Status]:
        return Counter(getattr(self._assistant, "outcomes", None))


def _wordless(unit_id: str | None, status: Status, reason: str | None = None) -> Row:
    return {"unit_id": unit_id, "t_s": None, "kind": None, "text": None, "score": None, "status": status.value, "reason": reason}


def _failed(unit_id: str | None, error: Exception) -> Row:
    return _wordless(unit_id, Status.ERROR, f"{type(error).__name__}: {error}")


def _references(messages: pl.DataFrame | None, benchmark_steps: pl.DataFrame) -> dict[str, list[tuple[float, str]]]:
    """(time, text) of the reference messages by recording, but for texts that stand in one of its instructions, which are handed over."""
    if messages is None:
        return {}
    spoken = messages.filter(pl.col("kind").is_in([kind.value for kind in SAID_KINDS]))
    placed = spoken.join(benchmark_steps.select("unit_id", "recording_id"), on="unit_id").select("recording_id", "t_s", "text")
    found: dict[str, list[tuple[float, str]]] = {}
    instructions = {
        key[0]: part["instruction"].to_list() for key, part in benchmark_steps.partition_by("recording_id", as_dict=True).items()
    }
    for recording_id, t_s, text in placed.iter_rows():
        if not any(text.strip() in instruction for instruction in instructions[recording_id]):
            found.setdefault(recording_id, []).append((t_s, text))
    return found


def _over_recordings(
    benchmark_steps: pl.DataFrame,
    run_recording: Callable[[pl.DataFrame], list[Row]],
    experiment: str,
    protocol: str,
    workers: int,
    journal: RunJournal | None,
    progress: Progress | None,
) -> pl.DataFrame:
    recordings = {
        str(part["recording_id"][0]): part
        for part in benchmark_steps.sort("recording_id", "position").partition_by("recording_id", maintain_order=True)
    }
    made = run_units(list(recordings), lambda key: run_recording(recordings[key]), workers=workers, journal=journal, progress=progress)
    rows = [
        {"experiment": experiment, "protocol": protocol, "recording_id": recording_id, **row, "message_index": place}
        for recording_id, own in made.items()
        for place, row in enumerate(own)
    ]
    return PREDICTIONS.check(PREDICTIONS.rows(rows))
