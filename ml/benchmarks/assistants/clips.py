"""Cook-MRE's assistants: a free answer on a single clip, without and with the element to look at."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template

from ml.benchmarks.assistants import prompts
from ml.benchmarks.assistants.asking import Answers, answered, ask, listed_times
from ml.benchmarks.assistants.interface import Answered
from ml.llm.requests import Request


@dataclass(frozen=True)
class ClipQuestion:
    """One clip with an instruction and the hints to ask with (None: without). Times count from the start of the clip.

    ``frames_at`` gives further pictures and refuses times outside the clip; ``check_text`` refuses a text that holds the reference.
    """

    key: str
    instruction: str
    hints: tuple[str | None, ...]
    images: tuple[bytes, ...]
    times_s: tuple[float, ...]
    frames_at: Callable[[Sequence[float]], tuple[bytes, ...]]
    check_text: Callable[[str], None]


ClipAnswer = Callable[[ClipQuestion], Sequence[Answered]]
"""One answer per hint, in order."""


@dataclass(frozen=True)
class SingleClipAssistant:
    """Asks a vision model about the frames of a clip, once per hint."""

    client: Answers
    max_tokens: int = 512
    temperature: float = 0.0

    def __call__(self, question: ClipQuestion) -> list[Answered]:
        requests = []
        for hint in question.hints:
            inputs: dict[str, object] = {
                "instruction": question.instruction,
                "element": hint or "",
                "frames": len(question.images),
                "times": listed_times(question.times_s),
            }
            prompt = Template(prompts.SINGLE_CLIP if hint is None else prompts.SINGLE_CLIP_HINTED).safe_substitute(inputs)
            question.check_text(prompt)
            key = f"{question.key}\x1f{hint or ''}"
            requests.append(
                Request(key, "single_clip", inputs, "", prompt, question.images, max_tokens=self.max_tokens, temperature=self.temperature)
            )
        return [answered(reply) for reply in ask(self.client, requests)]
