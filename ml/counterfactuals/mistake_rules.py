"""What one mistake type brings: fields, directions, prompts, reading, checks, offline rules. Stages know mistake types through this record.

A further type is one more module in ``ml.counterfactuals.types``: its file name is the type's name, its ``RULES`` this record. Nothing
else has to know of it. Its prompts may lie beside the others in ``prompts`` or in the module itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ml.counterfactuals.prompts.template import Prompts
from ml.counterfactuals.reading import Attributes, Fields, Moment
from ml.vocabulary import Direction, MistakeType, Status

Rule = Callable[[Mapping[str, object]], str]


def no_bar(instruction: str, fields: Fields) -> str | None:
    """Nothing bars this mistake."""
    return None


def any_text(instruction: str, fields: Fields, text: str) -> str | None:
    """Every text will do."""
    return None


@dataclass(frozen=True)
class Question:
    """What a timestamp answer is checked against. Times are on the recording's time line."""

    fields: Mapping[str, str]
    direction: Direction
    options_s: Sequence[float]
    clip_start_s: float
    clip_end_s: float


@dataclass(frozen=True)
class MistakeRules:
    """A mistake type as data.

    ``about`` says what differs between instruction and action in such a mistake, in words that end a sentence. ``changed`` is the field
    that the counterfactual changes; its new value is ``counterfactual_<changed>``. ``read_attributes`` reads an extraction reply.
    ``bars(instruction, fields)`` says why a step cannot have this mistake, else None. ``check(instruction, fields, direction,
    minimum_change)`` says what is wrong with a changed attribute, else None. ``check_instruction(instruction, fields, changed)`` says
    what is wrong with the changed instruction, ``check_feedback(instruction, fields, feedback)`` with the feedback, else None; a type
    without them takes any text. ``read_moment`` reads and checks a timestamp reply.
    ``offline`` are the rules backend's answers by stage, imported when they are first needed. ``minimum_change_s`` is passed on to
    prompts where ``has_minimum``. For the schemas of replies: ``listed`` is the key of the list where an extraction holds several
    attributes, ``proposed`` are fields that it proposes beside ``fields``, ``moments`` are the names of a timestamp reply.
    """

    mistake_type: MistakeType
    about: str
    directions: tuple[Direction, ...]
    fields: tuple[str, ...]
    changed: str
    prompts: Prompts
    read_attributes: Callable[[str], Attributes]
    bars: Callable[[str, Fields], str | None]
    check: Callable[[str, Fields, Direction, float], str | None]
    read_moment: Callable[[str, Question], Moment]
    offline: Callable[[], Mapping[str, Rule]]
    check_instruction: Callable[[str, Fields, str], str | None] = any_text
    check_feedback: Callable[[str, Fields, str], str | None] = any_text
    has_minimum: bool = False
    listed: str | None = None
    proposed: tuple[str, ...] = ()
    moments: tuple[str, ...] = ("timestamp",)

    @property
    def counterfactual(self) -> str:
        return f"counterfactual_{self.changed}"

    @property
    def proposes(self) -> bool:
        """Whether the extraction reply already holds the changed attribute."""
        return not self.prompts.change


OPTION_TOLERANCE_S = 0.05


def on_list(t_s: float, question: Question) -> Moment | None:
    """What is wrong with a time as an answer, or None. Nothing is moved to the nearest option."""
    if not question.clip_start_s - OPTION_TOLERANCE_S <= t_s <= question.clip_end_s + OPTION_TOLERANCE_S:
        return Moment(None, Status.OUT_OF_CLIP, f"{t_s:g} s is outside the clip {question.clip_start_s:g} s to {question.clip_end_s:g} s")
    if not any(abs(option - t_s) <= OPTION_TOLERANCE_S for option in question.options_s):
        nearest = min(question.options_s, key=lambda option: abs(option - t_s))
        return Moment(
            None, Status.OFF_LIST, f"{t_s:g} s is not among the options; the nearest is {nearest:g} s, {abs(nearest - t_s):g} s away"
        )
    return None
