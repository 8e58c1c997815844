"""Scenes at the stove: the burner's knob, and cooking for a time."""

from __future__ import annotations

from collections.abc import Hashable

from ml.sample_kitchen import props
from ml.sample_kitchen.canvas import Canvas
from ml.sample_kitchen.hands import Act, Action
from ml.sample_kitchen.scene import Scene
from ml.sample_kitchen.truth import timer_shows
from ml.sample_kitchen.world import TIMER_SEGMENT_S, UNSEEN_ITEMS, VALUES, Kind, colour_of

LEVEL_TURN = {"off": 0.0, "low": 1.0, "medium": 2.0, "high": 3.0}


def _level_shown(turn: float) -> str:
    return "off" if turn < 0.5 else "low" if turn < 1.5 else "medium" if turn < 2.5 else "high"


class KnobScene(Scene):
    """Turning the burner's knob."""

    def _turn(self, at_s: float) -> float:
        turn = 0.0
        for action in self.actions:
            if action.name is Act.KNOB and action.start_s <= at_s:
                begin = action.start_s + 0.25 * (action.end_s - action.start_s)
                through = max(0.0, min(1.0, (at_s - begin) / (action.moment_s - begin)))
                turn += (LEVEL_TURN[str(action.value)] - turn) * through
        return round(turn * 6) / 6

    def state(self, at_s: float) -> Hashable:
        return self._turn(at_s), int(at_s * 4) % 3

    def still(self, c: Canvas, at_s: float) -> None:
        body = self.colour
        props.stove(c, body)
        turn = self._turn(at_s)
        if turn >= 0.5:
            props.flame(c, _level_shown(turn), 1.0, int(at_s * 4) % 3)
        props.knob_dial(c, turn)

    def act(self, c: Canvas, action: Action, through: float, at_s: float) -> None:
        near = min(1.0, through / 0.2, (1 - through) / 0.15 + 0.1)
        props.hand(c, 0.62, 0.93 + 0.2 * (1 - near))


class CookScene(Scene):
    """Cooking for a time that the timer shows."""

    def _pan(self, at_s: float) -> str:
        last = self.last(at_s, Act.PUT_ON, Act.COOK, Act.TAKE_OFF)
        if last is None:
            return "away"
        if last.name is Act.COOK:
            return "on"
        if at_s < last.end_s:
            return "moving"
        return "on" if last.name is Act.PUT_ON else "away"

    def _segments(self, at_s: float) -> int:
        cooking = self.last(at_s, Act.COOK)
        return 0 if cooking is None else timer_shows(cooking, at_s) // TIMER_SEGMENT_S

    def _bubbles(self, at_s: float) -> int:
        return int(at_s * 4) % 3 if self._pan(at_s) == "on" else 0

    def state(self, at_s: float) -> Hashable:
        return self._pan(at_s), self._segments(at_s), int(at_s * 4) % 3

    def still(self, c: Canvas, at_s: float) -> None:
        unseen = self.item in UNSEEN_ITEMS[Kind.COOK]
        props.stove(c, colour_of(Kind.KNOB, "burner") if not unseen else UNSEEN_ITEMS[Kind.KNOB]["burner"])
        props.flame(c, "medium", 0.8, int(at_s * 4) % 3)
        props.knob_dial(c, 2.0)
        if self._pan(at_s) == "on":
            props.pan(c, 0.5, 0.44, self.colour)
            for i in range(3):
                c.ellipse(0.4 + 0.1 * i, 0.43 + 0.03 * ((i + self._bubbles(at_s)) % 3 - 1), 0.035, 0.035, props.WHITE)
        props.timer(c, self._segments(at_s), len(VALUES[Kind.COOK]) + 1)

    def act(self, c: Canvas, action: Action, through: float, at_s: float) -> None:
        if action.name is Act.COOK:
            return
        away = 1 - through if action.name is Act.PUT_ON else through
        props.pan(c, 0.5 + 0.75 * away, 0.44, self.colour)
        props.hand(c, 0.96 + 0.75 * away, 0.46)
