"""What is true of a recording: narrations of windows, a label for every second, and the moment any counterfactual shows.

All of it is computed from the script, never from pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ml.sample_kitchen.hands import Act, Action, apparent_after
from ml.sample_kitchen.script import Recording, Step
from ml.sample_kitchen.wording import THIRD, WAITS, feedback_text, plural
from ml.sample_kitchen.world import (
    MISTAKE_TYPE,
    SEEN_ITEMS,
    TIMER_SEGMENT_S,
    VALUES,
    Instruction,
    Kind,
    Value,
    alternatives,
    direction,
    unit_of,
)
from ml.vocabulary import Direction, MistakeType

MIN_OVERLAP_S: Final = 0.8
FRAME_GAP_S: Final = 0.5  # a narrator sees two frames a second; what lands after the last of them is not shown
_COUNTED: Final = {Act.SCOOP: 1, Act.PLACE: 1, Act.UNSCOOP: -1, Act.UNPLACE: -1}
_WORKS: Final = frozenset({Act.BEAT, Act.TIN, Act.WASH, Act.CUT, Act.MIX})


@dataclass(frozen=True)
class Event:
    """Something a narrator would mention: verb and object, the exact attribute if it has one, seconds of it in the window."""

    start_s: float
    overlap_s: float
    verb: str
    object: str
    attribute: Value | None
    text: str

    @property
    def action(self) -> tuple[str, str]:
        return self.verb, self.object


@dataclass(frozen=True)
class WindowNarration:
    """The narration of a window. `main` is the event that fills most of it; `told` the one or two events in `text`."""

    text: str
    main: Event | None
    told: tuple[Event, ...]


@dataclass(frozen=True)
class Counterfactual:
    """An instruction that the step did not follow. `apparent_s` is None only together with a reason."""

    instruction: Instruction
    mistake_type: MistakeType
    direction: Direction
    apparent_s: float | None
    reason: str
    feedback: str


def window_narration(recording: Recording, start_s: float, end_s: float) -> WindowNarration:
    """The true narration of [start_s, end_s): the two events that fill most of it, in time order.

    A number is what has landed by the window's last frame, half a second before its end.
    """
    events = [event for step in recording.steps for event in _events(step, start_s, end_s)]
    if not events:
        return WindowNarration(WAITS, None, ())
    by_length = sorted(events, key=lambda event: -event.overlap_s)
    told = tuple(sorted(by_length[:2], key=lambda event: event.start_s))
    return WindowNarration(" ".join(event.text for event in told), by_length[0], told)


def _events(step: Step, start_s: float, end_s: float) -> list[Event]:
    item = step.instruction.item
    events: list[Event] = []
    for add, remove in ((Act.SCOOP, Act.UNSCOOP), (Act.PLACE, Act.UNPLACE)):
        for name in (add, remove):
            landed = [a for a in step.actions if a.name is name and start_s <= a.moment_s <= end_s - FRAME_GAP_S]
            if landed:
                events.append(_counted(name, item, landed, start_s, end_s))
    for what in _WORKS:
        # The parts of one piece of work with a rest between them are one event.
        parts = [a for a in step.actions if a.name is what and a.overlap(start_s, end_s) > 0]
        for value in dict.fromkeys(a.value for a in parts):
            same = [a for a in parts if a.value == value]
            overlap = sum(a.overlap(start_s, end_s) for a in same)
            if overlap >= MIN_OVERLAP_S:
                verb, text = _work(what, item, value)
                events.append(Event(same[0].start_s, overlap, verb, item, value, text))
    for action in step.actions:
        overlap = action.overlap(start_s, end_s)
        if overlap >= MIN_OVERLAP_S and (event := _single(action, item, overlap, start_s, end_s)):
            events.append(event)
    return events


def _counted(name: Act, item: str, landed: list[Action], start_s: float, end_s: float) -> Event:
    noun, place = (unit_of(item), "bowl") if name in (Act.SCOOP, Act.UNSCOOP) else ("slice", "plate")
    amount = f"{plural(len(landed), noun)} of {item}"
    match name:
        case Act.SCOOP:
            verb, text = "add", f"The person adds {amount} to the {place}."
        case Act.PLACE:
            verb, text = "put", f"The person puts {amount} on the {place}."
        case _:
            verb, text = "remove", f"The person takes {amount} out again."
    return Event(landed[0].start_s, sum(a.overlap(start_s, end_s) for a in landed), verb, item, len(landed), text)


def _work(name: Act, item: str, value: Value) -> tuple[str, str]:
    if name is Act.BEAT:
        return "beat", f"The person beats the {item} with a {value}."
    if name is Act.TIN:
        return str(value), "The person greases the tin with butter." if value == "grease" else "The person lines the tin with paper."
    where = " in the bowl" if name is Act.MIX else ""
    return str(value), f"The person {THIRD[str(value)]} the {item}{where}."


def _single(action: Action, item: str, overlap: float, start_s: float, end_s: float) -> Event | None:
    match action.name:
        case Act.AWAY:
            return Event(action.start_s, overlap, "put away", item, None, f"The person puts the {item} away.")
        case Act.BRING:
            return Event(action.start_s, overlap, "bring", item, None, f"The person brings the {item} back.")
        case Act.CLEAR:
            return Event(action.start_s, overlap, "clear", "tin", None, "The person clears the tin.")
        case Act.KNOB if action.moment_s < end_s:
            return Event(action.start_s, overlap, "turn", item, action.value, f"The person turns the burner to {action.value}.")
        case Act.COOK:
            shown = timer_shows(action, min(end_s, action.end_s))
            return Event(action.start_s, overlap, "cook", item, shown, f"The person cooks the {item}, the timer shows {shown} seconds.")
        case Act.PUT_ON:
            return Event(action.start_s, overlap, "put on", item, None, f"The person puts the {item} on the burner.")
        case Act.TAKE_OFF:
            return Event(action.start_s, overlap, "take off", item, None, f"The person takes the {item} off the burner.")
        case Act.WIPE:
            return Event(action.start_s, overlap, "wipe", "counter", None, "The person wipes the counter.")
        case Act.CUP:
            return Event(action.start_s, overlap, "lift", "cup", None, "The person lifts a cup.")
        case _:
            return None


def timer_shows(cooking: Action, at_s: float) -> int:
    """Seconds on the timer at `at_s`: whole segments only."""
    elapsed = cooking.from_share + (min(at_s, cooking.end_s) - cooking.start_s)
    return int(elapsed / TIMER_SEGMENT_S + 1e-6) * TIMER_SEGMENT_S


def counterfactuals(step: Step) -> tuple[Counterfactual, ...]:
    """Every other value that the instruction could have asked for, with the moment at which the video contradicts it.

    A step with a mistake of its own contradicts its instruction already; its counterfactuals carry a reason and no moment.
    """
    made = []
    for changed in alternatives(step.instruction):
        apparent_s, reason = (None, "the step has a mistake of its own") if step.mistake else (_apparent(step, changed), "")
        made.append(
            Counterfactual(
                changed,
                MISTAKE_TYPE[step.instruction.kind],
                direction(step.instruction, changed),
                apparent_s,
                reason,
                feedback_text(changed, step.performed),
            )
        )
    return tuple(made)


def _apparent(step: Step, changed: Instruction) -> float:
    assert step.success_s is not None
    match changed.kind:
        case Kind.SCOOP | Kind.PLACE:
            landed = [a.moment_s for a in step.actions if a.name in (Act.SCOOP, Act.PLACE)]
            return landed[int(changed.value)] if int(changed.value) < len(landed) else step.success_s
        case Kind.COOK:
            cooking = next(a for a in step.actions if a.name is Act.COOK)
            if int(changed.value) < int(step.performed.value):
                return round(cooking.start_s + int(changed.value) + TIMER_SEGMENT_S, 3)
            return step.success_s
        case Kind.KNOB:
            return next(a.moment_s for a in step.actions if a.name is Act.KNOB)
        case _:
            work = next(a for a in step.actions if a.name in _WORKS)
            return round(work.start_s + apparent_after(changed.kind, work), 3)


IDLE_CLASS: Final = "idle"


@cache
def second_classes() -> tuple[str, ...]:
    """Names of the per-second classes, in label order: what is done, to what, how."""
    names = [IDLE_CLASS, "wipe counter", "lift cup", "clear tin", "hold tool", "rest tool"]
    for kind, items in SEEN_ITEMS.items():
        for item in items:
            match kind:
                case Kind.SCOOP | Kind.PLACE:
                    names += [f"{verb} {item}" for verb in (kind, f"un{kind}", "away", "bring")]
                case Kind.COOK:
                    names += [f"{verb} {item}" for verb in ("put_on", "cook", "take_off")]
                case _:
                    names += [f"{kind} {value} {item}" for value in VALUES[kind]]
    return tuple(dict.fromkeys(names))


def second_class(action: Action | None) -> str:
    """The class name of an action; None is idle."""
    if action is None:
        return IDLE_CLASS
    match action.name:
        case Act.WIPE:
            return "wipe counter"
        case Act.CUP:
            return "lift cup"
        case Act.CLEAR:
            return "clear tin"
        case Act.HOLD | Act.REST:
            return f"{action.name} tool"
        case Act.BEAT | Act.TIN | Act.WASH | Act.CUT | Act.MIX | Act.KNOB:
            return f"{action.name} {action.value} {action.item}"
        case _:
            return f"{action.name} {action.item}"


def second_labels(recording: Recording) -> NDArray[np.int64]:
    """Label [T] of each second: index in `second_classes()` of the action that fills most of it, -1 for things never trained on.

    T is the number of whole or begun seconds. A second is what its two frames at 0.0 and 0.5 s see, hence [s - 0.25, s + 0.75).
    """
    index = {name: label for label, name in enumerate(second_classes())}
    seconds = int(np.ceil(recording.duration_s))
    labels = np.zeros(seconds, dtype=np.int64)
    actions = recording.actions
    for second in range(seconds):
        low, high = second - 0.25, second + 0.75
        best = max(actions, key=lambda action: action.overlap(low, high), default=None)
        if best is not None and best.overlap(low, high) >= 0.4:
            labels[second] = index.get(second_class(best), -1)
    return labels


def second_counts(recording: Recording) -> NDArray[np.int64]:
    """What can be counted in the picture [T] at s + 0.5: measures in the bowl, slices on the plate, timer segments; else 0."""
    seconds = int(np.ceil(recording.duration_s))
    counts = np.zeros(seconds, dtype=np.int64)
    for second in range(seconds):
        at = second + 0.5
        step = step_in_view(recording, at)
        if step.instruction.kind is Kind.COOK:
            begun = [a for a in step.actions if a.name is Act.COOK and a.start_s <= at]
            counts[second] = timer_shows(begun[-1], at) // TIMER_SEGMENT_S if begun else 0
        else:
            counts[second] = sum(_COUNTED.get(a.name, 0) for a in step.actions if a.moment_s <= at)
    return counts


def step_in_view(recording: Recording, at_s: float) -> Step:
    """The step whose things stand on the counter at `at_s`."""
    return next((step for step in reversed(recording.steps) if step.scene_s <= at_s), recording.steps[0])
