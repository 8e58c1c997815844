"""GuideMe's assistants: at each instant the word Silent or an utterance, from the last seconds of video and the dialogue so far."""

from collections.abc import Callable
from dataclasses import dataclass, field
from string import Template

from ml.benchmarks.assistants import prompts
from ml.benchmarks.assistants.asking import Answers, answered, ask, listed_times
from ml.benchmarks.assistants.interface import Answered
from ml.llm.requests import Request

SILENT = "Silent"


@dataclass(frozen=True)
class Said:
    """One turn of the dialogue so far."""

    t_s: float
    speaker: str
    text: str


@dataclass(frozen=True)
class Moment:
    """What an assistant gets at one instant. ``knowledge`` is empty unless the protocol shows it; images are JPEG, in time order.

    ``check_text`` refuses a text that holds what the reference says later, but for what stands in ``knowledge`` and ``dialogue``.
    """

    now_s: float
    knowledge: str
    window_s: float
    images: tuple[bytes, ...]
    times_s: tuple[float, ...]
    dialogue: tuple[Said, ...]
    check_text: Callable[[str], None] = field(default=lambda text: None, compare=False)


Answer = Callable[[Moment], Answered]
"""What is said at a moment: "Silent" or an utterance; without text where it failed."""
AnswerFactory = Callable[[], Answer]


@dataclass(frozen=True)
class PerSecondAssistant:
    """Asks a vision model for the word Silent or an utterance."""

    client: Answers
    max_tokens: int = 128
    temperature: float = 0.0

    def __call__(self, moment: Moment) -> Answered:
        dialogue = "\n".join(f"[{turn.t_s:g} s] {turn.speaker}: {turn.text}" for turn in moment.dialogue) or "nothing"
        knowledge = f"What is known about the task:\n{moment.knowledge}\n" if moment.knowledge else ""
        inputs: dict[str, object] = {
            "knowledge": knowledge,
            "window_s": f"{moment.window_s:g}",
            "now_s": f"{moment.now_s:g}",
            "times": listed_times(moment.times_s),
            "dialogue": dialogue,
        }
        prompt = Template(prompts.PER_SECOND).safe_substitute(inputs)
        moment.check_text(prompt)
        request = Request(
            f"guide@{moment.now_s:g}", "guide", inputs, "", prompt, moment.images, max_tokens=self.max_tokens, temperature=self.temperature
        )
        return answered(ask(self.client, [request])[0])
