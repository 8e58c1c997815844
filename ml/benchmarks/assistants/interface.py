"""What an assistant is for the benchmarks: it observes frames in time order and speaks by itself. Holds no assistant and no protocol."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ml.vocabulary import MessageKind, Status

Frames = NDArray[np.uint8]  # [k, height, width, 3]
Times = NDArray[np.float64]  # [k] seconds on the recording's time line, ascending


SAID_KINDS = (MessageKind.FEEDBACK, MessageKind.SUCCESS, MessageKind.CLARIFICATION)
"""What an assistant may say on EGO-MC-Bench; clarifications, answers to the person, are scored only where the option asks for it."""


class LookAheadError(RuntimeError):
    """Something later than now was asked for or handed out. It ends the whole run: such a score is worth nothing."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What an assistant says: ``t_s`` is the time of the decision, ``score`` its probability, if it has one."""

    t_s: float
    kind: Literal["feedback", "success", "clarification"]
    text: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A free answer to one question; ``text`` is None where there is none, and ``reason`` says why."""

    text: str | None
    status: Status = Status.OK
    reason: str | None = None


class Assistant(Protocol):
    """One stream at a time. ``start`` forgets the stream before.

    Two things that it may have: ``attach(past)`` gets the stream so far, for looking back; ``outcomes``, a Counter of the statuses of its
    model's answers, lets those that could not be read be counted.
    """

    def start(self, instruction: str, start_s: float) -> None: ...

    def observe(self, frames: Frames, times_s: Times) -> Sequence[Any]:
        """Utterances (``t_s``, ``kind``, ``text``, ``score``) decided on these frames, stamped no earlier and no later than them."""
        ...

    def give_instruction(self, text: str, t_s: float) -> None:
        """The next instruction, in the middle of a stream."""
        ...


AssistantFactory = Callable[[], Assistant]
FramesProvider = Callable[[str, float, float], Iterable[tuple[Frames, Times]]]
"""``(recording_id, start_s, end_s)`` to chunks of frames in time order. A chunk is what an assistant sees before it may speak: keep it at
one decision (a frame, or the pair of frames of one second)."""


def ticks(interval_s: float = 1.0) -> FramesProvider:
    """Frames without pixels, [1, 0, 0, 3] at ``start + n * interval``: for assistants that only watch the clock."""
    blank = np.zeros((1, 0, 0, 3), np.uint8)

    def provide(recording_id: str, start_s: float, end_s: float) -> Iterable[tuple[Frames, Times]]:
        count = int(np.floor((end_s - start_s) / interval_s + 1e-9))
        for index in range(1, count + 1):
            yield blank, np.array([start_s + index * interval_s])

    return provide
