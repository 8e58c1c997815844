"""What an assistant may know at a moment: frames up to now, and no reference text that is said later. Runs no protocol."""

from collections.abc import Callable, Iterator, Sequence

from ml.benchmarks.assistants.interface import Frames, FramesProvider, LookAheadError, Times

Now = Callable[[], float]


class PastFrames:
    """The stream up to now, for assistants that look back: given to those that have an ``attach`` method.

    ``references`` are (time, text) of the reference messages, which never reach an assistant before their time.
    """

    def __init__(
        self, provider: FramesProvider, recording_id: str, start_s: float, now: Now, references: Sequence[tuple[float, str]] = ()
    ) -> None:
        self._provider, self._recording_id, self._start_s, self._now = provider, recording_id, start_s, now
        self._references = [(t_s, text.strip()) for t_s, text in references if text.strip()]
        self._said: set[str] = set()

    def between(self, start_s: float, end_s: float) -> Iterator[tuple[Frames, Times]]:
        """Chunks in [start_s, end_s]. Raises ``LookAheadError`` for an end later than the last frame observed."""
        now_s = self._now()
        if end_s > now_s + 1e-6:
            raise LookAheadError(f"{self._recording_id}: frames up to {end_s:.3f} s asked for at {now_s:.3f} s")
        yield from self._provider(self._recording_id, max(start_s, self._start_s), end_s)

    def note_said(self, text: str) -> None:
        """The assistant said this: it may come back to it."""
        self._said.add(text.strip())

    def check_text(self, text: str) -> None:
        """Raise ``LookAheadError`` where a text that reaches the assistant holds a reference message later than now.

        What the assistant has said itself in the same words is no such text.
        """
        now_s = self._now()
        for t_s, reference in self._references:
            if t_s > now_s + 1e-6 and reference in text and reference not in self._said:
                raise LookAheadError(f"{self._recording_id}: at {now_s:.3f} s a text holds what is said at {t_s:.3f} s: {reference!r}")
