"""What the hands do: for each step kind the sequence of atomic actions, with mistakes and their corrections.

Every picture is a function of these actions, and so is every true time. Nothing is drawn or worded here.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import StrEnum

from ml.sample_kitchen.world import MISTAKE_TYPE, TIMER_SEGMENT_S, Instruction, Kind, Value
from ml.vocabulary import MistakeType


class Act(StrEnum):
    """Names of the atomic actions."""

    SCOOP = "scoop"  # one measure from the jar lands in the bowl at `moment_s`
    UNSCOOP = "unscoop"  # one measure is taken out again
    PLACE = "place"  # one slice lands on the plate
    UNPLACE = "unplace"
    AWAY = "away"  # the jar or pack leaves; gone at `moment_s`
    BRING = "bring"  # and comes back
    BEAT = "beat"
    TIN = "tin"
    CLEAR = "clear"  # the tin is emptied again
    WASH = "wash"
    CUT = "cut"
    MIX = "mix"
    HOLD = "hold"  # the tool is held still
    REST = "rest"  # the tool is laid down
    KNOB = "knob"
    PUT_ON = "put_on"
    COOK = "cook"
    TAKE_OFF = "take_off"
    WIPE = "wipe"  # distractors
    CUP = "cup"


@dataclass(frozen=True)
class Action:
    """One atomic action. `moment_s`: when its effect happens; shares: progress of the work before and after it."""

    name: Act
    start_s: float
    end_s: float
    item: str = ""
    value: Value = ""
    moment_s: float = 0.0
    from_share: float = 0.0
    to_share: float = 0.0

    def overlap(self, start_s: float, end_s: float) -> float:
        """Seconds of the action inside the window."""
        return max(0.0, min(self.end_s, end_s) - max(self.start_s, start_s))


@dataclass(frozen=True)
class Outcome:
    """How a performance ended: when it was done and, if it went wrong, when that became apparent."""

    mistake_type: MistakeType
    done_s: float
    apparent_s: float | None = None
    corrected: bool = False

    def shifted(self, by_s: float) -> Outcome:
        """The same, later."""
        return replace(self, done_s=self.done_s + by_s, apparent_s=None if self.apparent_s is None else self.apparent_s + by_s)


class Hands:
    """Writes actions one after another from a start time, at a pace."""

    def __init__(self, rng: random.Random, start_s: float, pace: float) -> None:
        self.rng = rng
        self.at = start_s
        self.pace = pace
        self.actions: list[Action] = []

    def pause(self, low: float, high: float) -> None:
        self.at += self.rng.uniform(low, high)

    def think(self) -> None:
        """The pause before the first move: mostly short, sometimes long; now and then something else is done in it."""
        self.at += min(6.0, 0.3 + self.rng.expovariate(0.9))
        if self.rng.random() < 0.2:
            self.distract()

    def distract(self) -> None:
        """Something that has nothing to do with the step."""
        self.act(self.rng.choice((Act.WIPE, Act.CUP)), self.rng.uniform(1.8, 3.5) / self.pace)
        self.pause(0.2, 0.8)

    def act(
        self,
        name: Act,
        seconds: float,
        item: str = "",
        value: Value = "",
        moment: float = 1.0,
        from_share: float = 0.0,
        to_share: float = 0.0,
    ) -> Action:
        """Appends an action of `seconds` times the pace; `moment` is the share of it after which its effect happens."""
        length = seconds * self.pace
        action = Action(
            name,
            round(self.at, 3),
            round(self.at + length, 3),
            item,
            value,
            round(self.at + moment * length, 3),
            round(from_share, 4),
            round(to_share, 4),
        )
        self.actions.append(action)
        self.at += length
        return action

    def shift(self, by_s: float) -> None:
        """Moves all actions later."""
        self.at += by_s
        self.actions = [
            replace(a, start_s=round(a.start_s + by_s, 3), end_s=round(a.end_s + by_s, 3), moment_s=round(a.moment_s + by_s, 3))
            for a in self.actions
        ]


def apparent_after(kind: Kind, action: Action) -> float:
    """Seconds into a working action after which an onlooker can tell how it is done."""
    length = action.end_s - action.start_s
    match kind:
        case Kind.BEAT:
            return min(1.2, length)
        case Kind.MIX:
            return min(2.2, length)
        case _:
            return min(max(1.3, 0.15 * length), 3.0, length)


def perform(hands: Hands, asked: Instruction, performed: Instruction, corrects: bool) -> Outcome:
    """Writes the actions of one step.

    `performed` is what the person does first; when it differs from `asked` and `corrects` is set, the person is told as soon as
    it is apparent and puts it right.
    """
    hands.think()
    mistake_type = MISTAKE_TYPE[asked.kind]
    match asked.kind:
        case Kind.SCOOP:
            done, apparent = _count(hands, asked, performed, corrects, Act.SCOOP, Act.UNSCOOP)
        case Kind.PLACE:
            done, apparent = _count(hands, asked, performed, corrects, Act.PLACE, Act.UNPLACE)
        case Kind.KNOB:
            done, apparent = _knob(hands, asked, performed, corrects)
        case Kind.COOK:
            done, apparent = _cook(hands, asked, performed, corrects)
        case _:
            done, apparent = _work(hands, asked, performed, corrects)
    wrong = asked != performed
    return Outcome(mistake_type, done, apparent if wrong else None, wrong and corrects)


def _react(hands: Hands) -> None:
    """From the moment a mistake shows until the person, told so, does something about it."""
    hands.pause(1.0, 2.4)


def _count(hands: Hands, asked: Instruction, performed: Instruction, corrects: bool, add: Act, remove: Act) -> tuple[float, float | None]:
    rng = hands.rng
    each = rng.uniform(1.5, 2.8) if add is Act.SCOOP else rng.uniform(1.3, 2.2)
    want, count = int(asked.value), int(performed.value)
    apparent: float | None = None

    def add_one() -> Action:
        action = hands.act(add, each * rng.uniform(0.88, 1.15), asked.item, moment=0.62)
        hands.pause(0.1, 0.6)
        if rng.random() < 0.12:
            hands.pause(0.8, 2.6)
        return action

    for number in range(1, count + 1):
        landed = add_one()
        if number == want + 1:
            apparent = landed.moment_s
    if corrects and count > want:
        _react(hands)
        hands.act(remove, each * 1.1, asked.item, moment=0.4)
    hands.pause(0.5, 1.6)
    away = hands.act(Act.AWAY, rng.uniform(1.5, 2.2), asked.item, moment=0.6)
    if count < want:
        apparent = away.moment_s
        if corrects:
            _react(hands)
            hands.act(Act.BRING, rng.uniform(1.3, 1.9), asked.item, moment=0.6)
            for _ in range(want - count):
                add_one()
            hands.pause(0.5, 1.2)
            away = hands.act(Act.AWAY, rng.uniform(1.5, 2.2), asked.item, moment=0.6)
    return away.moment_s, apparent


_WORK_ACT = {Kind.BEAT: Act.BEAT, Kind.TIN: Act.TIN, Kind.WASH: Act.WASH, Kind.CUT: Act.CUT, Kind.MIX: Act.MIX}


def _work(hands: Hands, asked: Instruction, performed: Instruction, corrects: bool) -> tuple[float, float | None]:
    """Beating, the tin, washing, cutting, mixing: work that goes on until it is done, then the tool is laid down."""
    rng = hands.rng
    act, item = _WORK_ACT[asked.kind], asked.item
    # Spread on a log scale, so that no fixed time fits.
    seconds = 3.2 * (26 / 3.2) ** rng.random()
    value, share = performed.value, 0.0
    apparent: float | None = None
    if corrects and asked != performed:
        first = hands.act(act, rng.uniform(2.6, 3.6) / hands.pace, item, value, from_share=0.0, to_share=0.3)
        apparent = first.start_s + apparent_after(asked.kind, first)
        hands.act(Act.HOLD, rng.uniform(0.8, 1.6), item, value, from_share=0.3, to_share=0.3)
        if asked.kind is Kind.TIN:
            hands.act(Act.CLEAR, rng.uniform(1.4, 2.2), item, value, from_share=0.3, to_share=0.0)
        else:
            hands.act(Act.REST, 0.9, item, value, from_share=0.3, to_share=0.3)
            share = 0.3 if asked.kind is Kind.CUT else 0.0
        hands.pause(0.3, 1.0)
        value = asked.value
    pieces = 2 if seconds > 7 and rng.random() < 0.35 else 1
    for piece in range(pieces):
        to = share + (1 - share) * (piece + 1) / pieces
        done = hands.act(act, seconds / pieces, item, value, from_share=share + (1 - share) * piece / pieces, to_share=to)
        if apparent is None:
            apparent = done.start_s + apparent_after(asked.kind, done)
        if piece + 1 < pieces:
            hands.act(Act.HOLD, rng.uniform(0.8, 2.5), item, value, from_share=to, to_share=to)
    rest = hands.act(Act.REST, rng.uniform(0.8, 1.2), item, value, moment=0.7, from_share=1.0, to_share=1.0)
    return rest.moment_s, apparent


def _knob(hands: Hands, asked: Instruction, performed: Instruction, corrects: bool) -> tuple[float, float | None]:
    rng = hands.rng
    # Turning takes a moment; the wait before it varies, or a fixed time would fit.
    hands.pause(0.0, min(12.0, rng.expovariate(0.3)))
    turn = hands.act(Act.KNOB, rng.uniform(2.2, 4.0), asked.item, performed.value, moment=0.72)
    if asked == performed:
        hands.pause(0.2, 0.6)
        return max(turn.end_s, hands.at), None
    apparent = turn.moment_s
    if corrects:
        _react(hands)
        turn = hands.act(Act.KNOB, rng.uniform(1.8, 2.8), asked.item, asked.value, moment=0.72)
    hands.pause(0.2, 0.6)
    return max(turn.end_s, hands.at), apparent


def _cook(hands: Hands, asked: Instruction, performed: Instruction, corrects: bool) -> tuple[float, float | None]:
    """The pan goes on, the timer gains a segment every two seconds, the pan comes off. The timer keeps real time."""
    rng = hands.rng
    want, count = int(asked.value), int(performed.value)
    hands.act(Act.PUT_ON, rng.uniform(1.0, 1.6), asked.item)
    extra = rng.uniform(1.0, 1.9) if corrects and count > want else rng.uniform(0.3, 0.8)
    cooking = hands.act(Act.COOK, (count + extra) / hands.pace, asked.item, from_share=0.0, to_share=count + extra)
    apparent: float | None = cooking.start_s + want + TIMER_SEGMENT_S if count > want else None
    off = hands.act(Act.TAKE_OFF, rng.uniform(1.0, 1.5), asked.item, moment=0.6)
    if count < want:
        apparent = off.moment_s
        if corrects:
            _react(hands)
            hands.act(Act.PUT_ON, rng.uniform(1.0, 1.4), asked.item)
            hands.act(Act.COOK, (want - count) / hands.pace, asked.item, from_share=count + extra, to_share=want + extra)
            off = hands.act(Act.TAKE_OFF, rng.uniform(1.0, 1.5), asked.item, moment=0.6)
    return off.moment_s, apparent
