"""Scenes of work with a tool: beating, greasing or lining a tin, peeling or rinsing, cutting, stirring or folding."""

from __future__ import annotations

import math
from collections.abc import Hashable

from ml.sample_kitchen import props
from ml.sample_kitchen.canvas import Canvas, blend, shade
from ml.sample_kitchen.hands import Act, Action
from ml.sample_kitchen.scene import SHARE_STEPS, Scene
from ml.sample_kitchen.world import View


class BeatScene(Scene):
    """Beating with a whisk or a fork."""

    def state(self, at_s: float) -> Hashable:
        return self.progress(at_s, Act.BEAT)[1] // 2, self.resting(at_s)

    def still(self, c: Canvas, at_s: float) -> None:
        props.bowl(c)
        foam = self.progress(at_s, Act.BEAT)[1] // 2
        liquid = blend(self.colour, (255, 248, 214), 0.1 * foam)
        c.ellipse(0.58, 0.6, 0.46, 0.41, liquid, shade(liquid, 0.85))
        if foam == 0 and self.item == "eggs":
            for x in (0.5, 0.66):
                c.ellipse(x, 0.6, 0.14, 0.12, (250, 164, 30))
        match self.resting(at_s):
            case "whisk":
                props.whisk(c, 0.12, 0.72, held=False)
            case "fork":
                props.fork(c, 0.12, 0.72, held=False)

    def act(self, c: Canvas, action: Action, through: float, at_s: float) -> None:
        if action.name is Act.REST:
            x, y = 0.55 - 0.43 * min(1.0, through / 0.7), 0.58 + 0.14 * min(1.0, through / 0.7)
            if self.resting(at_s):
                return
        elif action.name is Act.HOLD:
            x, y = 0.58, 0.56
        else:
            angle = 6.0 * at_s + self.step.phase
            x, y = 0.58 + 0.12 * math.cos(angle), 0.58 + 0.09 * math.sin(angle)
        (props.whisk if action.value == "whisk" else props.fork)(c, x, y)
        if c.look.view is View.HEAD:
            props.hand(c, 0.27, 0.72, left=True)


class TinScene(Scene):
    """Greasing a tin or lining it with paper."""

    def state(self, at_s: float) -> Hashable:
        return self.progress(at_s, Act.TIN, Act.CLEAR), self.resting(at_s)

    def still(self, c: Canvas, at_s: float) -> None:
        c.slab(0.54, 0.61, 0.80, 0.58, shade(c.look.counter, 0.78))
        rim = shade(self.colour, 0.7)
        c.slab(0.52, 0.58, 0.80, 0.58, rim, shade(rim, 0.6), 0.03)
        c.slab(0.52, 0.58, 0.68, 0.46, self.colour, shade(self.colour, 0.8), 0.02)
        value, share = self.progress(at_s, Act.TIN, Act.CLEAR)
        if value == "grease":
            for i in range(share * 7 // SHARE_STEPS):
                c.line([(0.23 + 0.095 * i, 0.40), (0.25 + 0.095 * i, 0.76)], props.BUTTER, 0.066)
                c.line([(0.22 + 0.095 * i, 0.42), (0.23 + 0.095 * i, 0.6)], (255, 248, 200), 0.016)
        elif share:
            width = 0.66 * share / SHARE_STEPS
            c.rect(0.19 + width / 2, 0.58, width, 0.46, props.WHITE, (196, 196, 190))
            c.line([(0.19, 0.5), (0.19 + width, 0.5)], (226, 226, 220), 0.01)
            if share < SHARE_STEPS:
                c.slab(0.19 + width, 0.58, 0.07, 0.52, (232, 228, 216), (150, 146, 136), 0.03)
        match self.resting(at_s):
            case "grease":
                props.brush(c, 0.12, 0.95, held=False)
            case "line":
                c.slab(0.14, 0.95, 0.2, 0.08, (232, 228, 216), (150, 146, 136), 0.03)

    def act(self, c: Canvas, action: Action, through: float, at_s: float) -> None:
        share = self.progress(at_s, Act.TIN, Act.CLEAR)[1] / SHARE_STEPS
        x = 0.22 + 0.62 * share
        if action.name is Act.CLEAR:
            c.slab(x, 0.58, 0.16, 0.3, (120, 190, 230), (60, 120, 170), 0.03)
            props.hand(c, x + 0.03, 0.6)
        elif action.name is Act.REST:
            if not self.resting(at_s):
                props.hand(c, x - 0.5 * through, 0.66 + 0.2 * through)
        elif action.value == "grease":
            y = 0.58 + (0.15 * math.sin(5.5 * at_s + self.step.phase) if action.name is Act.TIN else 0)
            props.brush(c, x, y)
        else:
            props.hand(c, x + 0.03, 0.66 + 0.03 * math.sin(3 * at_s))
            if c.look.view is View.HEAD:
                props.hand(c, 0.2, 0.7, left=True)


class WashScene(Scene):
    """Peeling or rinsing a vegetable."""

    def _shares(self, at_s: float) -> tuple[int, int]:
        """Twelfths peeled and rinsed."""
        shares = {"peel": 0, "rinse": 0}
        for action in self.actions:
            if action.name is Act.WASH and action.start_s <= at_s:
                through = min(1.0, (at_s - action.start_s) / (action.end_s - action.start_s))
                share = action.from_share + (action.to_share - action.from_share) * through
                shares[str(action.value)] = int(share * SHARE_STEPS + 1e-6)
        return shares["peel"], shares["rinse"]

    def state(self, at_s: float) -> Hashable:
        return self._shares(at_s), self.resting(at_s)

    def still(self, c: Canvas, at_s: float) -> None:
        peeled, rinsed = self._shares(at_s)
        props.board(c)
        if rinsed:
            size = 0.35 + 0.5 * rinsed / SHARE_STEPS
            c.ellipse(0.52, 0.66, size, size * 0.5, props.WATER, (70, 150, 220))
        c.slab(0.5, 0.64, 0.56, 0.2, self.colour, shade(self.colour, 0.62), 0.09)
        if peeled:
            flesh = blend(self.colour, (255, 246, 205), 0.68)
            width = 0.5 * peeled / SHARE_STEPS
            c.slab(0.25 + width / 2, 0.64, width, 0.16, flesh, None, 0.03)
            for i in range(peeled * 3 // 4):
                x, y = 0.2 + 0.075 * (i % 8), 0.82 + 0.04 * (i % 2)
                c.line([(x, y), (x + 0.05, y - 0.03), (x + 0.07, y + 0.03)], self.colour, 0.026)
        if rinsed:
            c.line([(0.3, 0.59), (0.3 + 0.4 * rinsed / SHARE_STEPS, 0.59)], props.WHITE, 0.024)
        match self.resting(at_s):
            case "peel":
                props.peeler(c, 0.86, 0.48, held=False)
            case "rinse":
                props.jug(c, 0.84, 0.62, pouring=False, held=False)

    def act(self, c: Canvas, action: Action, through: float, at_s: float) -> None:
        if action.name is Act.REST and self.resting(at_s):
            return
        working = action.name is Act.WASH
        if action.value == "peel":
            share = self._shares(at_s)[0] / SHARE_STEPS
            x = 0.26 + 0.5 * share + (0.05 * math.sin(7 * at_s + self.step.phase) if working else 0.08)
            props.peeler(c, x, 0.58)
        else:
            x = 0.5 + (0.16 * math.sin(2.2 * at_s + self.step.phase) if working else 0.1)
            props.jug(c, x, 0.6, pouring=working)
        if c.look.view is View.HEAD:
            props.hand(c, 0.2, 0.66, left=True)


class CutScene(Scene):
    """Slicing, dicing or grating a vegetable."""

    def _parts(self, at_s: float) -> dict[str, int]:
        """Twelfths of the vegetable that each technique has turned into pieces."""
        parts: dict[str, int] = {}
        for action in self.actions:
            if action.name is Act.CUT and action.start_s <= at_s:
                through = min(1.0, (at_s - action.start_s) / (action.end_s - action.start_s))
                added = (action.to_share - action.from_share) * through
                parts[str(action.value)] = parts.get(str(action.value), 0) + round(added * 1000)
        return {value: int(part * SHARE_STEPS / 1000 + 0.02) for value, part in parts.items()}

    def _left(self, at_s: float) -> float:
        return 0.36 * (1 - min(1.0, sum(self._parts(at_s).values()) / SHARE_STEPS))

    def _grating(self, at_s: float) -> bool:
        last = self.last(at_s, Act.CUT, Act.HOLD)
        return last is not None and last.value == "grate"

    def state(self, at_s: float) -> Hashable:
        return tuple(self._parts(at_s).items()), self._grating(at_s), self.resting(at_s)

    def still(self, c: Canvas, at_s: float) -> None:
        props.board(c)
        edge = shade(self.colour, 0.62)
        left = self._left(at_s)
        if left > 0.03 and not self._grating(at_s):
            c.slab(0.1 + left / 2, 0.62, left, 0.19, self.colour, edge, 0.04)
        flesh = blend(self.colour, props.WHITE, 0.35)
        parts = self._parts(at_s)
        for value, part in parts.items():
            if value == "slice":
                for i in range(part * 7 // SHARE_STEPS):
                    x = 0.55 + 0.058 * i
                    c.ellipse(x, 0.62, 0.055, 0.22, flesh, edge, 0.014)
            elif value == "dice":
                for i in range(part * 20 // SHARE_STEPS):
                    x, y = 0.54 + 0.088 * (i // 4), 0.45 + 0.1 * (i % 4)
                    c.rect(x, y, 0.058, 0.066, self.colour, edge, 0.01)
            else:
                for i in range(part * 3):
                    x, y = 0.5 + 0.38 * ((i * 0.618) % 1), 0.70 + 0.15 * ((i * 0.377) % 1)
                    c.line([(x, y), (x + 0.05, y + 0.022 * (1 if i % 2 else -1))], self.colour if i % 3 else flesh, 0.022)
        if self._grating(at_s):
            props.grater(c)
        if self.resting(at_s) in ("slice", "dice"):
            props.knife(c, 0.3, 0.82, level=True, held=False)

    def act(self, c: Canvas, action: Action, through: float, at_s: float) -> None:
        if action.name is Act.REST:
            if not self.resting(at_s):
                props.hand(c, 0.5 - 0.2 * through, 0.6 + 0.2 * through)
            return
        working = action.name is Act.CUT
        left = self._left(at_s)
        if action.value == "grate":
            y = 0.46 + (0.14 * math.sin(6.5 * at_s + self.step.phase) if working else 0)
            c.slab(0.5, y, 0.09 + left * 0.25, 0.12, self.colour, shade(self.colour, 0.62), 0.03)
            props.hand(c, 0.42, y + 0.02)
            return
        if c.look.view is View.HEAD:
            props.hand(c, 0.12, 0.66, left=True)
        beat = math.sin(7.5 * at_s + self.step.phase) if working else 1.0
        x = 0.12 + left
        if action.value == "dice" and math.sin(3.4 * at_s + self.step.phase) > 0:
            props.knife(c, x + 0.1, 0.58 + 0.05 * beat, level=True)
        else:
            props.knife(c, x + 0.02, 0.6 - 0.06 * beat)


class MixScene(Scene):
    """Stirring or folding."""

    def state(self, at_s: float) -> Hashable:
        value, share = self.progress(at_s, Act.MIX)
        return value, share // 2, self.resting(at_s)

    def still(self, c: Canvas, at_s: float) -> None:
        props.bowl(c)
        c.ellipse(0.58, 0.6, 0.47, 0.42, self.colour, shade(self.colour, 0.8), 0.01)
        value, share = self.progress(at_s, Act.MIX)
        line = shade(self.colour, 0.74)
        if value == "stir" and share >= 1:
            c.ellipse(0.58, 0.6, 0.32, 0.28, None, line, 0.014)
            if share >= 4:
                c.ellipse(0.58, 0.6, 0.16, 0.13, None, line, 0.014)
        elif value == "fold":
            for i in range(min(4, share // 2)):
                y = 0.5 + 0.07 * i
                c.line([(0.42 + 0.02 * (i % 2), y), (0.58, y + 0.03), (0.74, y)], line, 0.016)
        if self.resting(at_s):
            props.spatula(c, 0.12, 0.78, held=False)

    def act(self, c: Canvas, action: Action, through: float, at_s: float) -> None:
        if action.name is Act.REST:
            if self.resting(at_s):
                return
            props.spatula(c, 0.55 - 0.4 * through, 0.58 + 0.15 * through)
        elif action.name is Act.HOLD:
            props.spatula(c, 0.6, 0.56)
        elif action.value == "stir":
            angle = 4.6 * at_s + self.step.phase
            props.spatula(c, 0.58 + 0.16 * math.cos(angle), 0.59 + 0.12 * math.sin(angle))
        else:
            at = (0.42 * at_s + self.step.phase) % 1
            if at < 0.4:
                x, y = 0.42 + 0.32 * at / 0.4, 0.7
            elif at < 0.75:
                share = (at - 0.4) / 0.35
                x, y = 0.74 - 0.14 * share, 0.7 - 0.42 * share
                c.ellipse(x, y + 0.08, 0.2, 0.14, self.colour, shade(self.colour, 0.7), 0.014)
            else:
                share = (at - 0.75) / 0.25
                x, y = 0.6 - 0.18 * share, 0.28 + 0.42 * share
            props.spatula(c, x, y)
        if c.look.view is View.HEAD:
            props.hand(c, 0.27, 0.72, left=True)
