"""Assistants that see nothing: the floors that a score must be read against. They only watch the clock."""

from dataclasses import dataclass, field

from ml.benchmarks.assistants.clips import ClipAnswer
from ml.benchmarks.assistants.interface import Answered, AssistantFactory, Frames, Times, Utterance
from ml.benchmarks.assistants.per_second import SILENT, AnswerFactory, Moment

ALERT_TEXT = "Check the instruction again, something may be off."
SUCCESS_TEXT = "Success: the step is done."

TIMER = "floor_duration_timer"


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
        TIMER: lambda: DurationTimer(median_duration_s),
    }


def guideme_floors() -> dict[str, AnswerFactory]:
    """The floors of the GuideMe protocols by experiment name."""
    return {
        "floor_silent": lambda: lambda moment: Answered(SILENT),
        "floor_always_speak": lambda: lambda moment: Answered(ALERT_TEXT),
        "floor_alert_every_10s": PerSecondAlert,
    }


@dataclass
class PerSecondAlert:
    """Says the same at the first instant and then every ``interval_s`` seconds."""

    interval_s: float = 10.0
    text: str = ALERT_TEXT
    _next_s: float = field(default=float("-inf"), init=False)

    def __call__(self, moment: Moment) -> Answered:
        if moment.now_s < self._next_s - 1e-9:
            return Answered(SILENT)
        self._next_s = moment.now_s + self.interval_s
        return Answered(self.text)


ALWAYS_MISTAKE_TEXT = "No. The cook does something else than what was asked."
ALWAYS_CORRECT_TEXT = "Yes. The cook does what was asked."


def cook_floors() -> dict[str, ClipAnswer]:
    """The floors of the Cook-MRE protocols by experiment name."""
    return {
        "floor_always_mistake": lambda question: [Answered(ALWAYS_MISTAKE_TEXT)] * len(question.hints),
        "floor_always_correct": lambda question: [Answered(ALWAYS_CORRECT_TEXT)] * len(question.hints),
    }
