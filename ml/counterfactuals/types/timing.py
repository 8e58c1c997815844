"""Timing mistakes: a shorter or longer time. A step that ends by "until ..." has none."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from ml.counterfactuals.durations import Duration, read_duration
from ml.counterfactuals.mistake_rules import OPTION_TOLERANCE_S, MistakeRules, Question, Rule, on_list
from ml.counterfactuals.prompts.timing import PROMPTS
from ml.counterfactuals.reading import Attributes, Fields, Moment, one_attribute, timestamp_fields
from ml.counterfactuals.said import check_time_feedback, check_time_instruction
from ml.vocabulary import Direction, MistakeType, Status

FIELDS: Final = ("kitchen_item", "amount_of_time", "food_item")
EARLY_SHARE: Final = 0.25
LATE_SHARE: Final = 0.25
_CONDITION: Final = re.compile(r"\b(?:or\s+)?(?:just\s+)?(?:until|till|or as needed|or when|or once)\b[^.;)]*", re.IGNORECASE)


def read_attributes(reply: str) -> Attributes:
    return one_attribute(reply, ("amount_of_time",), FIELDS, "the step states no time")


def bars(instruction: str, fields: Fields) -> str | None:
    """A condition in the sentence of the duration: no clock tells that such a step went wrong."""
    amount = fields["amount_of_time"]
    at = max(instruction.find(amount), 0)
    start = max(instruction.rfind(". ", 0, at), instruction.rfind("; ", 0, at)) + 1
    stops = [place for mark in (". ", "; ") if (place := instruction.find(mark, at)) >= 0]
    sentence = instruction[start : min(stops, default=len(instruction))]
    condition = _CONDITION.search(sentence)
    return f"the step ends by a condition: {condition[0].strip()!r}" if condition else None


def check(instruction: str, fields: Fields, direction: Direction, minimum_change_s: float) -> str | None:
    """The new time must lie outside the whole range by at least the minimum, on the right side."""
    old, new = read_duration(fields["amount_of_time"]), read_duration(fields["counterfactual_amount_of_time"])
    if old is None or new is None:
        return f"{fields['counterfactual_amount_of_time'] if new is None else fields['amount_of_time']!r} states no time"
    change = old.low_s - new.high_s if direction is Direction.SMALLER else new.low_s - old.high_s
    if new.low_s <= 0 or change <= 0:
        return f"{new.text!r} is not {direction} than {old.text!r}"
    return (
        None if change >= minimum_change_s else f"{new.text!r} differs from {old.text!r} by only {change:g} s, not {minimum_change_s:g} s"
    )


def read_moment(reply: str, question: Question) -> Moment:
    """``{"start_timestamp", "critical_timestamp"}``: the feedback time must be an option and fit the stated durations.

    Smaller: at least the asked time after the start, and no later than the options make needful. Greater: about the performed time after
    it, when cooking ends. The start must lie in the clip; it need not be an option, since a timer tells it better.
    """
    moment = timestamp_fields(reply, ("start_timestamp", "critical_timestamp"))
    if not moment.given:
        return moment
    start_s, t_s = moment.given["start_timestamp"], moment.given["critical_timestamp"]
    if wrong := on_list(t_s, question):
        return Moment(None, wrong.status, wrong.reason, start_s)
    if not question.clip_start_s - 0.05 <= start_s <= question.clip_end_s + 0.05:
        return Moment(None, Status.OUT_OF_CLIP, f"the cooking start {start_s:g} s is outside the clip", start_s)
    is_smaller = question.direction is Direction.SMALLER
    name = "counterfactual_amount_of_time" if is_smaller else "amount_of_time"
    stated = read_duration(question.fields.get(name, ""))
    if stated is None:
        return Moment(None, Status.INCONSISTENT, f"{name} states no time", start_s)
    earliest_s, latest_s = _bounds(stated, start_s, question, is_smaller=is_smaller)
    told = f"{t_s:g} s is {t_s - start_s:g} s after the start {start_s:g} s"
    if t_s < earliest_s - OPTION_TOLERANCE_S:
        return Moment(None, Status.INCONSISTENT, f"{told}, less than {stated.text!r}", start_s)
    if t_s > latest_s + OPTION_TOLERANCE_S:
        return Moment(None, Status.INCONSISTENT, f"{told}, far more than {stated.text!r}", start_s)
    return Moment(t_s, start_s=start_s)


def _bounds(stated: Duration, start_s: float, question: Question, *, is_smaller: bool) -> tuple[float, float]:
    """First and last second at which the feedback of a stated time may be due.

    An option is the middle of a slot, so that a moment lies up to half a slot from it; of a short time that is too much, and a share of
    it counts. A time that is over in the clip after the last option has that one. Late: the first option from then on is up to a slot
    away, and the start is known to a slot. A person who cooks about so long as told may take longer, by a share again.
    """
    options = sorted(question.options_s)
    slot_s = max((b - a for a, b in pairwise(options)), default=question.clip_end_s - question.clip_start_s)
    due_s = start_s + stated.low_s
    earliest_s = due_s - min(slot_s / 2, EARLY_SHARE * stated.low_s)
    if due_s <= question.clip_end_s:
        earliest_s = min(earliest_s, max(options[-1], start_s))
    late_s = 2 * slot_s if is_smaller else max(2 * slot_s, LATE_SHARE * stated.high_s)
    return earliest_s, start_s + stated.high_s + late_s


def offline() -> Mapping[str, Rule]:
    """The rules backend's answers."""
    from ml.counterfactuals.rules import functions, timestamps, wording

    return {
        "extract": functions.extract_timing,
        "change": functions.change_timing,
        "instruct": functions.instruct_timing,
        "feedback": wording.timing_feedback,
        "timestamp": timestamps.timestamp_timing,
    }


RULES: Final = MistakeRules(
    mistake_type=MistakeType.TIMING,
    about="how long something is cooked or left",
    directions=(Direction.SMALLER, Direction.GREATER),
    fields=FIELDS,
    changed="amount_of_time",
    prompts=PROMPTS,
    read_attributes=read_attributes,
    bars=bars,
    check=check,
    read_moment=read_moment,
    offline=offline,
    check_instruction=check_time_instruction,
    check_feedback=check_time_feedback,
    has_minimum=True,
    moments=("start_timestamp", "critical_timestamp"),
)
