"""Assistants that see nothing: the floors that a score must be read against. They only watch the clock."""

from dataclasses import dataclass, field

from ml.benchmarks.assistants.interface import AssistantFactory, Frames, Times, Utterance

ALERT_TEXT = "Check the instruction again, something may be off."
SUCCESS_TEXT = "Success: the step is done."


@dataclass
class AlwaysSilent:
    """Never speaks."""

    def start(self, instruction: str, start_s: float) -> None:
        pass

    def observe(self, frames: Frames, times_s: Times) -> list[Utterance]:
        return []

    def give_instruction(self, text: str, t_s: float) -> None:
        pass


@dataclass
class AlwaysSpeak:
    """Gives feedback on every chunk of frames."""

    text: str = ALERT_TEXT

    def start(self, instruction: str, start_s: float) -> None:
        pass

    def observe(self, frames: Frames, times_s: Times) -> list[Utterance]:
        return [Utterance(float(times_s[-1]), "feedback", self.text)] if len(times_s) else []

    def give_instruction(self, text: str, t_s: float) -> None:
        pass


@dataclass
class AlertEvery:
    """Gives the same feedback every ``interval_s`` seconds of a step."""

    interval_s: float = 10.0
    text: str = ALERT_TEXT
    _next_s: float = field(default=0.0, init=False)

    def start(self, instruction: str, start_s: float) -> None:
        self._next_s = start_s + self.interval_s

    def observe(self, frames: Frames, times_s: Times) -> list[Utterance]:
        said = []
        for t in times_s:
            if t >= self._next_s - 1e-9:
                said.append(Utterance(float(t), "feedback", self.text))
                while self._next_s <= t + 1e-9:
                    self._next_s += self.interval_s
        return said

    def give_instruction(self, text: str, t_s: float) -> None:
        self.start(text, t_s)


@dataclass
class DurationTimer:
    """Says success a fixed time after the instruction: ``duration_s`` is the median duration of the training steps."""

    duration_s: float
    text: str = SUCCESS_TEXT
    _due_s: float | None = field(default=None, init=False)

    def start(self, instruction: str, start_s: float) -> None:
        self._due_s = start_s + self.duration_s

    def observe(self, frames: Frames, times_s: Times) -> list[Utterance]:
        for t in times_s:
            if self._due_s is not None and t >= self._due_s - 1e-9:
                self._due_s = None
                return [Utterance(float(t), "success", self.text)]
        return []

    def give_instruction(self, text: str, t_s: float) -> None:
        self.start(text, t_s)


def ego_floors(median_duration_s: float) -> dict[str, AssistantFactory]:
    """The floors of the EGO protocols by experiment name."""
    return {
        "floor_silent": AlwaysSilent,
        "floor_always_speak": AlwaysSpeak,
        "floor_alert_every_10s": AlertEvery,
        "floor_duration_timer": lambda: DurationTimer(median_duration_s),
    }
