"""Scenes in which things are counted: measures into a bowl, slices onto a plate."""

from __future__ import annotations

import math
from collections.abc import Hashable

from ml.sample_kitchen import props
from ml.sample_kitchen.canvas import Canvas, shade
from ml.sample_kitchen.hands import Act, Action
from ml.sample_kitchen.scene import Scene
from ml.sample_kitchen.world import CUP_ITEMS, Kind, View

RING = tuple((0.58 + 0.15 * math.cos(a), 0.58 + 0.135 * math.sin(a)) for a in (-1.57 + 1.2566 * i for i in range(5)))
JAR = (0.15, 0.42)


class CountScene(Scene):
    """Measures into a bowl, or slices onto a plate."""

    @property
    def slices(self) -> bool:
        return self.step.instruction.kind is Kind.PLACE

    def _amount(self, at_s: float) -> int:
        return self.count(at_s, Act.SCOOP) + self.count(at_s, Act.PLACE) - self.count(at_s, Act.UNSCOOP) - self.count(at_s, Act.UNPLACE)

    def _store(self, at_s: float) -> str:
        """Where the jar or pack is: here, moving or gone."""
        moved = self.last(at_s, Act.AWAY, Act.BRING)
        if moved is None:
            return "here"
        if at_s < moved.moment_s:
            return "moving"
        return "gone" if moved.name is Act.AWAY else "here"

    def state(self, at_s: float) -> Hashable:
        return self._amount(at_s), self._store(at_s)

    def _draw_store(self, c: Canvas, x: float, y: float) -> None:
        (props.pack if self.slices else props.jar)(c, x, y, self.colour)

    def still(self, c: Canvas, at_s: float) -> None:
        if self.slices:
            x, y = props.CENTRE
            c.ellipse(x + 0.02, y + 0.03, 0.68, 0.62, shade(c.look.counter, 0.78))
            c.ellipse(x, y, 0.66, 0.60, c.look.bowl, shade(c.look.bowl, 0.62), 0.012)
            c.ellipse(x, y, 0.55, 0.50, (226, 228, 226), (190, 194, 194))
        else:
            props.bowl(c)
        for x, y in RING[: self._amount(at_s)]:
            if self.slices:
                props.food_slice(c, x, y, self.item, self.colour)
            else:
                props.heap(c, x, y, self.colour, 0.2 if self.item in CUP_ITEMS else 0.17)
        if self._store(at_s) == "here":
            self._draw_store(c, *JAR)

    def _carry(self, c: Canvas, x: float, y: float, full: bool) -> None:
        if self.slices:
            if full:
                props.food_slice(c, x, y, self.item, self.colour)
            props.hand(c, x + 0.10, y + 0.02)
        else:
            props.scoop_tool(c, x, y, self.item in CUP_ITEMS, self.colour if full else None)

    def act(self, c: Canvas, action: Action, through: float, at_s: float) -> None:
        amount = self._amount(at_s)
        match action.name:
            case Act.AWAY | Act.BRING:
                done = min(1.0, (at_s - action.start_s) / (action.moment_s - action.start_s))
                back = 1 - done if action.name is Act.BRING else done
                x, y = JAR[0] - 0.5 * back, JAR[1] + 0.06 * back
                if self._store(at_s) == "moving":
                    self._draw_store(c, x, y)
                    props.hand(c, x + 0.13, y + 0.12, left=c.look.view is View.HEAD)
            case Act.SCOOP | Act.PLACE:
                target = RING[min(4, amount if through < 0.62 else amount - 1)]
                x, y = target[0], target[1] - (0.16 if not self.slices else 0.0)
                if through < 0.22:
                    self._carry(c, JAR[0] + 0.06, JAR[1] - 0.04, full=through > 0.14)
                elif through < 0.5:
                    share = (through - 0.22) / 0.28
                    self._carry(c, JAR[0] + 0.06 + (x - JAR[0] - 0.06) * share, JAR[1] - 0.04 + (y - JAR[1] + 0.04) * share, True)
                elif through < 0.78:
                    if not self.slices and through > 0.54:
                        c.poly([(x - 0.06, y + 0.03), (x + 0.04, y + 0.03), (x + 0.03, y + 0.15), (x - 0.04, y + 0.15)], self.colour)
                    self._carry(c, x, y, full=through < 0.62)
                else:
                    share = (through - 0.78) / 0.22
                    self._carry(c, x + (0.4 - x) * share, y + (0.3 - y) * share, False)
            case _:
                x, y = RING[min(4, amount if through >= 0.4 else max(0, amount - 1))]
                if through < 0.4:
                    self._carry(c, x + 0.1 * (0.4 - through), y - 0.04, False)
                else:
                    share = (through - 0.4) / 0.6
                    self._carry(c, x + (JAR[0] - x) * share, y - 0.04 + (JAR[1] - y) * share, True)
