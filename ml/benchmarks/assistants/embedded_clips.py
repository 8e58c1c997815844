"""Cook-MRE with the embedded base model: it describes the clip, and words of the description are held against the instruction.

It knows the sample kitchen only, and so do the sentence patterns here.
"""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ml.benchmarks.assistants.asking import Answers, answered, ask, listed_times
from ml.benchmarks.assistants.clips import ClipQuestion
from ml.benchmarks.assistants.interface import Answered
from ml.llm.calls import Answer
from ml.llm.images import ImageLimits
from ml.llm.local import AS_THEY_ARE
from ml.llm.requests import Request
from ml.narration.embedded import WindowDescriber
from ml.vocabulary import Status

_TOOL = re.compile(r"\bwith an? (\w+)")
_LOCATION = re.compile(r"\b(?:in|on|to|into|onto) the (\w+)")
_COUNTED = re.compile(r"\bof (\w+)")
_NAMED = re.compile(r"^\W*(?:the person )?\w+ the (\w+)", re.IGNORECASE)
_VERB = re.compile(r"^\W*(?:the person )?(\w+)", re.IGNORECASE)


class EmbeddedDescriber:
    """The embedded narrator as a ``ml.llm.local.LocalModel``: pictures in, a description out. ``weights`` names them in the cache key."""

    provider = "embedded"
    model = "embedded"
    min_prefix_tokens: int | None = None

    def __init__(self, narrator: WindowDescriber, weights: str) -> None:
        self._narrator = narrator
        self.parameters: Mapping[str, object] = {"weights": weights}
        self.image_limits: ImageLimits = AS_THEY_ARE

    def answer(self, request: Request) -> Answer:
        from PIL import Image

        times_s: tuple[float, ...] = request.inputs["times_s"]  # type: ignore[assignment]
        frames = np.stack([np.asarray(Image.open(io.BytesIO(image)).convert("RGB")) for image in request.images])
        text = self._narrator.describe([frames], [times_s])[0].strip()
        return Answer(Status.OK, text) if text else Answer(Status.EMPTY, None, "the model ended without a word")


@dataclass(frozen=True)
class EmbeddedClips:
    """A yes where every element that both texts name is the same, else a no that names the first that differs."""

    client: Answers

    def __call__(self, question: ClipQuestion) -> list[Answered]:
        inputs: dict[str, object] = {"times_s": question.times_s}
        request = Request(question.key, "describe_clip", inputs, "", listed_times(question.times_s), question.images)
        described = answered(ask(self.client, [request])[0])
        if described.text is None:
            return [described] * len(question.hints)
        return [Answered(verdict(question.instruction, described.text, hint)) for hint in question.hints]


def verdict(instruction: str, description: str, hint: str | None = None) -> str:
    """Yes or no with the description and, for a no, what differs. ``hint`` looks at one element only."""
    asked = elements_of(instruction)
    seen = [elements_of(sentence) for sentence in re.split(r"(?<=\.)\s+", description) if sentence.strip()]
    for element in asked if hint is None else (hint,):
        found = [sentence[element] for sentence in seen if element in sentence]
        if element in asked and found and not any(_same(asked[element], word) for word in found):
            return f"No. {description} The {element} differs: asked for was {asked[element]}, seen is {found[0]}."
    return f"Yes. {description}"


def elements_of(sentence: str) -> dict[str, str]:
    """Verb, ingredient, tool and location of an instruction or a description, as far as it names them."""
    found: dict[str, str] = {}
    ingredient = _COUNTED.search(sentence) or _NAMED.search(sentence)
    for element, match in (
        ("verb", _VERB.search(sentence)),
        ("ingredient", ingredient),
        ("tool", _TOOL.search(sentence)),
        ("location", _LOCATION.search(sentence)),
    ):
        if match is not None:
            found[element] = match[1].casefold()
    return found


def _same(asked: str, seen: str) -> bool:
    return seen in (asked, f"{asked}s", f"{asked}es")
