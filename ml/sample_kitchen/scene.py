"""What every scene of the sample kitchen has: the step's actions by time, the still part and the part that moves.

A scene is a function of the step's actions. `state` returns everything the still picture depends on, as a hashable value.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable

from ml.sample_kitchen import props
from ml.sample_kitchen.canvas import Canvas
from ml.sample_kitchen.hands import Act, Action
from ml.sample_kitchen.script import Step
from ml.sample_kitchen.world import Colour, colour_of

SHARE_STEPS = 12


class Scene(ABC):
    """The pictures of one step."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.item = step.instruction.item
        self.colour: Colour = colour_of(step.instruction.kind, self.item)
        self.actions = step.actions

    def active(self, at_s: float) -> Action | None:
        """The action going on at `at_s`."""
        return next((a for a in self.actions if a.start_s <= at_s < a.end_s), None)

    def last(self, at_s: float, *names: Act) -> Action | None:
        """The latest action of these names that has begun."""
        return next((a for a in reversed(self.actions) if a.name in names and a.start_s <= at_s), None)

    def count(self, at_s: float, name: Act) -> int:
        """How many actions of this name have had their effect."""
        return sum(a.name is name and a.moment_s <= at_s for a in self.actions)

    def progress(self, at_s: float, *names: Act) -> tuple[str, int]:
        """Value and share of the latest work, the share in twelfths."""
        work = self.last(at_s, *names)
        if work is None:
            return "", 0
        through = min(1.0, (at_s - work.start_s) / max(1e-6, work.end_s - work.start_s))
        share = work.from_share + (work.to_share - work.from_share) * through
        return str(work.value), int(share * SHARE_STEPS + 1e-6)

    def resting(self, at_s: float) -> str:
        """The value whose tool lies on the counter, or an empty string."""
        last = self.last(at_s, Act.REST, Act.BEAT, Act.TIN, Act.WASH, Act.CUT, Act.MIX, Act.HOLD)
        return str(last.value) if last is not None and last.name is Act.REST and at_s >= last.moment_s else ""

    @abstractmethod
    def state(self, at_s: float) -> Hashable:
        """Everything that the still picture depends on."""

    @abstractmethod
    def still(self, c: Canvas, at_s: float) -> None:
        """Draws the things that do not move."""

    def moving(self, c: Canvas, at_s: float) -> None:
        """Draws what moves at this time, distractors included."""
        action = self.active(at_s)
        if action is None:
            return
        through = (at_s - action.start_s) / (action.end_s - action.start_s)
        match action.name:
            case Act.WIPE:
                x = 0.3 + 0.4 * abs(math.sin(2 * at_s + self.step.phase))
                c.slab(x, 0.92, 0.24, 0.12, (255, 240, 110), (200, 180, 60), 0.02)
                props.hand(c, x + 0.04, 0.93)
            case Act.CUP:
                y = 0.86 - 0.36 * math.sin(math.pi * through)
                c.slab(0.14, y, 0.15, 0.18, (255, 110, 180), (180, 60, 120), 0.03)
                props.hand(c, 0.17, y + 0.02, left=True)
            case _:
                self.act(c, action, through, at_s)

    @abstractmethod
    def act(self, c: Canvas, action: Action, through: float, at_s: float) -> None:
        """Draws an action of the step, `through` of it done."""
