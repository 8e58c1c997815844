"""LLM judges: a 0..5 grade of an answer (GuideMe) and three yes/no criteria (Cook-MRE). Failures are counted, never read as a low grade."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from string import Template
from typing import Protocol

from ml.benchmarks.assistants.polling import read_yes_no
from ml.llm.parsed import Parsed, Said, text_of, unparsable
from ml.llm.replies import read_option
from ml.llm.requests import Reply, Request
from ml.vocabulary import Status

_NUMBER = r"(?<![\w.,/-])(-?\d+(?:\.\d+)?)(?![\w/]|\.\d|,\d)"
_OUT_OF = re.compile(
    r"(?<![\w.,/–—-])(?<!\d\s[-–—]\s)(?<!\bto\s)(-?\d+(?:\.\d+)?)\s*(?:/|out of|of)\s*(\d+(?:\.\d+)?)(?![\w/]|\.\d)", re.IGNORECASE
)
_RANGE = re.compile(r"(\d+(?:\.\d+)?)[ \t]*(?:[-–—]|\bto\b)[ \t]*(\d+(?:\.\d+)?)", re.IGNORECASE)
_LABELLED = re.compile(rf"\b(?:score|grade|rating|mark|points?)\b\W{{0,4}}(?:is|of|:|=)?\W{{0,4}}{_NUMBER}", re.IGNORECASE)
_FOR_A = re.compile(rf"\b(?:for|give|gives|deserves|get|gets|earns)\s+(?:it\s+)?(?:an?\s+){_NUMBER}", re.IGNORECASE)

GRADE_PROMPT = """Compare what an assistant said to a person with what it should have said at that moment.
Situation: $context
The assistant said: $said
It should have said: $reference

Grade from 0 to 5 how well the one does the work of the other: is it about the same thing, is it true as far as the reference shows, does
it lead to the same next action? 5: as useful as the reference. 0: of no use or wrong. Other words for the same thing lose nothing.
Answer with one whole number from 0 to 5 and nothing else."""

PRESENCE_PROMPT = """A cook was asked to do this: $instruction
A model watched the clip and wrote:
$answer

Does the model say that the cook did NOT follow the instruction? Answer YES if it says so, NO if it says that the cook followed it."""

TYPE_PROMPT = """A cook was asked to do this: $instruction
What the cook really did: $original
The two differ in one element: the $element. A model watched the clip and wrote:
$answer

Does the model place the difference in the $element? Answer YES or NO."""

OBSERVATION_PROMPT = """What a cook really did: $original
A model watched the clip and wrote:
$answer

Does the model describe the same $element as the first line? A kitchen synonym or a sensible wider term counts; repeating what was only
asked for does not. Answer YES or NO."""

FAILURE_PROMPT = """A cook was asked to do this: $instruction
What the cook really did: $original
The two differ in the $element. A model watched the clip and wrote:
$answer

The model did not get it right. Why? Choose one:
A. It says what was asked for as if it had been seen; nothing in it comes from the clip.
B. It describes the clip, but names a wrong action, thing, tool or place.
C. It describes rightly what was done, but draws the wrong conclusion from it.
D. What it describes is too vague to tell the two apart.
E. Something else.
Answer with one letter and nothing else."""


def prompt_hash(*prompts: str) -> str:
    """Short hash of judge prompts, to be kept with their results."""
    return sha256("\x1f".join(prompts).encode()).hexdigest()[:12]


GRADE_HASH = prompt_hash(GRADE_PROMPT)
CRITERIA_HASH = prompt_hash(PRESENCE_PROMPT, TYPE_PROMPT, OBSERVATION_PROMPT, FAILURE_PROMPT)


@dataclass(frozen=True)
class JudgedBy:
    """Who judged a result: part of its options hash. Judges run at temperature 0."""

    model: str
    prompts: str


class Answers(Protocol):
    """What is needed of ``ml.llm.client.Client``."""

    def run(self, requests: Sequence[Request]) -> list[Reply]: ...


def read_grade(said: Said, scale: float = 5.0) -> Parsed[float]:
    """The grade of a judge's reply as a share 0..1 of its scale.

    "4/5" and "4.5 out of 5" bring their own scale. Otherwise the number called the grade counts, else the only one; out of 0..``scale``,
    not a number, none, several or a range ("3-4") are unparsable. Nothing is clipped.
    """
    text = text_of(said)
    if isinstance(text, Parsed):
        return text
    labelled = _from_object(text)
    if labelled is not None:
        return _share(labelled, scale, text)
    text = re.sub(rf"\b0\s*(?:[-–—]|to)\s*{scale:g}\b(?!\.\d)", " ", text, flags=re.IGNORECASE)  # the judge names the scale
    ratios = {(float(top), float(bottom)) for top, bottom in _OUT_OF.findall(text)}
    if len(ratios) == 1:
        top, bottom = ratios.pop()
        return _share(top, bottom, text) if bottom > 0 else unparsable("a scale of zero", text)
    if ratios:
        return unparsable("several grades", text)
    text = _RANGE.sub(lambda one: " a range " if float(one[1]) < float(one[2]) else one[0], text)
    for pattern in (_LABELLED, _FOR_A):
        found = {float(number) for number in pattern.findall(text)}
        if len(found) == 1:
            return _share(found.pop(), scale, text)
    numbers = {float(number) for number in re.findall(_NUMBER, text)}
    if len(numbers) != 1:
        return unparsable("several numbers" if numbers else "no number", text)
    return _share(numbers.pop(), scale, text)


def _from_object(text: str) -> float | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if isinstance(value, dict):
        named = [value[key] for key in value if str(key).lower() in ("score", "grade", "rating")]
        value = named[0] if len(named) == 1 else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _share(value: float, scale: float, text: str) -> Parsed[float]:
    if not 0 <= value <= scale:  # also false for NaN
        return unparsable(f"{value:g} is not on the scale 0..{scale:g}", text)
    return Parsed(value / scale, Status.OK)


@dataclass(frozen=True)
class QualityJudge:
    """GuideMe's judge as ``ml.benchmarks.guideme.scores.Judge``: (said, reference) pairs to 0..5, None where it failed."""

    client: Answers
    context: str = "an assistant guides a person through a task while watching"

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        requests = []
        for index, (said, reference) in enumerate(pairs):
            inputs: dict[str, object] = {"context": self.context, "said": said, "reference": reference}
            requests.append(_request(str(index), "judge_quality", GRADE_PROMPT, inputs, 16))
        grades = [read_grade(reply, 5.0).value for reply in self.client.run(requests)]
        return [None if grade is None else 5.0 * grade for grade in grades]


@dataclass(frozen=True)
class CriteriaCase:
    """A Cook-MRE answer to judge. ``element`` and ``original`` are None and unused where type and observation are not judged."""

    key: str
    instruction: str
    answer: str
    element: str | None = None
    original: str | None = None
    asks_presence: bool = True


@dataclass(frozen=True)
class FailureCase:
    """An answer on a mistake sample that did not pass."""

    key: str
    instruction: str
    answer: str
    element: str
    original: str


@dataclass(frozen=True)
class Criteria:
    """``claims_mistake``, and for a sample with a deviation whether its element and what is really seen were named; None: judge failed."""

    claims_mistake: bool | None
    type_right: bool | None
    observation_right: bool | None
    failed: int


def judge_criteria(client: Answers, cases: Sequence[CriteriaCase]) -> dict[str, Criteria]:
    """Three binary judgements per sample with a deviation, one per correct sample; by key. Each criterion has a request of its own.

    ``failed`` counts the judgements that could not be read.
    """
    requests: list[Request] = []
    for case in cases:
        inputs: dict[str, object] = {
            "instruction": case.instruction,
            "answer": case.answer,
            "element": case.element or "",
            "original": case.original or "",
        }
        if case.asks_presence:
            requests.append(_request(f"presence\x1f{case.key}", "judge_presence", PRESENCE_PROMPT, inputs, 8))
        if case.element is not None:
            requests.append(_request(f"type\x1f{case.key}", "judge_type", TYPE_PROMPT, inputs, 8))
            requests.append(_request(f"observation\x1f{case.key}", "judge_observation", OBSERVATION_PROMPT, inputs, 8))
    verdicts = {reply.key: read_yes_no(reply).is_yes for reply in client.run(requests)}
    judged: dict[str, Criteria] = {}
    for case in cases:
        names = (*(("presence",) if case.asks_presence else ()), *(("type", "observation") if case.element is not None else ()))
        found = {name: verdicts[f"{name}\x1f{case.key}"] for name in names}
        failed = sum(value is None for value in found.values())
        judged[case.key] = Criteria(found.get("presence"), found.get("type"), found.get("observation"), failed)
    return judged


def judge_failures(client: Answers, cases: Sequence[FailureCase], kinds: Sequence[str]) -> dict[str, str | None]:
    """Kind of failure per case, by key; None where the judge gave no letter. ``kinds`` are in the order of the prompt's letters."""
    requests = [
        _request(
            case.key,
            "judge_failure",
            FAILURE_PROMPT,
            {"instruction": case.instruction, "answer": case.answer, "element": case.element, "original": case.original},
            8,
        )
        for case in cases
    ]
    letters = "ABCDE"[: len(kinds)]
    found = {reply.key: read_option(reply, letters).value for reply in client.run(requests)}
    return {key: None if letter is None else kinds[letters.index(letter)] for key, letter in found.items()}


def _request(key: str, task: str, template: str, inputs: dict[str, object], max_tokens: int) -> Request:
    prompt = Template(template).safe_substitute({name: str(value) for name, value in inputs.items()})
    return Request(key, task, inputs, "", prompt, max_tokens=max_tokens, temperature=0.0)
