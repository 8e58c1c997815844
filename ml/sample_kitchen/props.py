"""Things that several scenes show: the counter, hands, bowls, tools, the stove. Each function draws one thing on a canvas."""

from __future__ import annotations

import math

from ml.sample_kitchen.canvas import Canvas, blend, luminance, shade
from ml.sample_kitchen.world import Colour, View

STEEL: Colour = (212, 218, 226)
DARK: Colour = (40, 42, 48)
WOOD: Colour = (150, 100, 56)
WHITE: Colour = (252, 250, 246)
WATER: Colour = (120, 200, 250)
RED: Colour = (220, 58, 48)
BUTTER: Colour = (252, 222, 92)
CENTRE = (0.58, 0.58)


def counter(c: Canvas) -> None:
    """The empty counter with its back wall and decoration."""
    base = c.look.counter
    grain = shade(base, 0.95)
    for i in range(4):
        y = 0.3 + 0.2 * i
        c.line([(-0.3, y), (1.3, y + 0.02)], grain, 0.006)
    if c.look.view is View.HEAD:
        wall = blend(shade(base, 0.8), (232, 232, 226), 0.45)
        c.poly([(-0.5, -0.6), (1.5, -0.6), (1.5, 0.02), (-0.5, 0.02)], wall)
        for i in range(7):
            c.line([(-0.1 + 0.2 * i, -0.6), (-0.1 + 0.2 * i, 0.02)], shade(wall, 0.92), 0.006)
        c.line([(-0.5, -0.12), (1.5, -0.12)], shade(wall, 0.92), 0.006)
        c.line([(-0.5, 0.02), (1.5, 0.02)], shade(base, 0.6), 0.014)
        c.poly([(-0.5, 1.0), (1.5, 1.0), (1.5, 1.4), (-0.5, 1.4)], shade(base, 0.72))
    else:
        c.poly([(-0.3, -0.3), (1.3, -0.3), (1.3, 0.14), (-0.3, 0.14)], shade(base, 0.74))
        c.line([(-0.3, 0.14), (1.3, 0.14)], shade(base, 0.58), 0.01)
    for x, y, size, colour, is_round in c.look.decoration:
        if is_round:
            c.ellipse(x, y - 0.04, size * 1.6, size * 1.6, colour, shade(colour, 0.7))
        else:
            c.rect(x, y - 0.04, size * 1.4, size * 1.8, colour, shade(colour, 0.7))


def hand(c: Canvas, x: float, y: float, left: bool = False) -> None:
    """A hand at (x, y) with its arm; the arm comes from the front, or from the right in some kitchens."""
    skin, sleeve = c.look.hand, c.look.sleeve
    if left:
        end = (0.02, 1.25)
    elif c.look.view is View.HEAD:
        end = (x * 0.35 + 0.6, 1.3)
    elif c.look.arm_from_right:
        end = (1.25, y + 0.16)
    else:
        end = (x + 0.24, 1.25)
    cuff = (x + (end[0] - x) * 0.34, y + (end[1] - y) * 0.34)
    c.line([(x, y), cuff], skin, 0.085)
    c.line([cuff, end], sleeve, 0.125)
    c.ellipse(x, y, 0.15, 0.14, skin, shade(skin, 0.8), 0.007)


def bowl(c: Canvas) -> None:
    """The empty bowl in the middle of the counter."""
    x, y = CENTRE
    colour = c.look.bowl
    inner = shade(colour, 0.76) if luminance(colour) > 130 else blend(colour, WHITE, 0.4)
    c.ellipse(x + 0.02, y + 0.03, 0.66, 0.64, shade(c.look.counter, 0.78))
    c.ellipse(x, y, 0.64, 0.60, colour, shade(colour, 0.62), 0.012)
    c.ellipse(x, y + 0.01, 0.53, 0.49, inner)


def board(c: Canvas) -> None:
    """The cutting board."""
    c.slab(0.53, 0.62, 0.92, 0.62, shade(c.look.counter, 0.78))
    c.slab(0.52, 0.60, 0.90, 0.60, c.look.board, shade(c.look.board, 0.76))


def jar(c: Canvas, x: float, y: float, powder: Colour) -> None:
    """A jar of powder."""
    c.slab(x, y, 0.25, 0.38, (224, 232, 236), (120, 128, 136), 0.03)
    c.slab(x, y + 0.05, 0.20, 0.25, powder, shade(powder, 0.75), 0.02)
    c.slab(x, y - 0.16, 0.27, 0.08, DARK, None, 0.015)


def pack(c: Canvas, x: float, y: float, slice_colour: Colour) -> None:
    """A pack of slices."""
    c.slab(x, y, 0.26, 0.38, (240, 236, 228), (150, 146, 140), 0.02)
    for i in range(4):
        c.slab(x, y - 0.10 + 0.07 * i, 0.19, 0.055, slice_colour, shade(slice_colour, 0.65), 0.015)


def heap(c: Canvas, x: float, y: float, colour: Colour, size: float) -> None:
    """One measure of powder."""
    c.ellipse(x, y, size, size * 0.9, colour, shade(colour, 0.62), 0.012)
    c.ellipse(x - size * 0.12, y - size * 0.14, size * 0.38, size * 0.3, blend(colour, WHITE, 0.35))


def food_slice(c: Canvas, x: float, y: float, item: str, colour: Colour) -> None:
    """One slice of something."""
    edge = shade(colour, 0.65)
    if item in ("cheese", "bread", "ham"):
        c.slab(x, y, 0.17, 0.16, colour, edge, 0.02 if item == "cheese" else 0.05)
        if item == "bread":
            c.slab(x, y, 0.12, 0.11, blend(colour, WHITE, 0.5), None, 0.03)
    else:
        c.ellipse(x, y, 0.18, 0.17, colour, edge, 0.012)
        c.ellipse(x, y, 0.09, 0.08, blend(colour, WHITE, 0.4))


def scoop_tool(c: Canvas, x: float, y: float, is_cup: bool, filling: Colour | None) -> None:
    """A scoop or a cup, full or empty, with the hand that holds it."""
    hand(c, x + 0.17, y - 0.03)
    colour: Colour = (206, 60, 124) if is_cup else (44, 84, 196)
    size = 0.19 if is_cup else 0.15
    c.line([(x + 0.16, y - 0.02), (x, y)], shade(colour, 0.8), 0.035)
    c.slab(x, y, size, size * 0.85, colour, shade(colour, 0.6), 0.03)
    if filling:
        c.ellipse(x, y - 0.01, size * 0.8, size * 0.62, filling)


def whisk(c: Canvas, x: float, y: float, held: bool = True) -> None:
    """A balloon whisk with its tip at (x, y)."""
    if held:
        hand(c, x + 0.17, y - 0.35)
    c.line([(x + 0.07, y - 0.18), (x + 0.16, y - 0.38)], DARK, 0.045)
    for w in (0.21, 0.12, 0.04):
        c.ellipse(x, y - 0.05, w, 0.30, None, WHITE, 0.014)
    c.line([(x + 0.01, y - 0.18), (x + 0.08, y - 0.2)], STEEL, 0.04)


def fork(c: Canvas, x: float, y: float, held: bool = True) -> None:
    """A fork with its prongs at (x, y)."""
    if held:
        hand(c, x + 0.17, y - 0.35)
    c.line([(x + 0.01, y - 0.12), (x + 0.16, y - 0.37)], STEEL, 0.026)
    c.poly([(x - 0.075, y - 0.10), (x + 0.075, y - 0.10), (x + 0.03, y - 0.02 - 0.14), (x - 0.03, y - 0.16)], STEEL)
    for offset in (-0.06, -0.02, 0.02, 0.06):
        c.line([(x + offset, y - 0.11), (x + offset, y + 0.06)], STEEL, 0.02)


def spatula(c: Canvas, x: float, y: float, held: bool = True) -> None:
    """A spatula with its blade at (x, y)."""
    if held:
        hand(c, x + 0.15, y - 0.31)
    c.line([(x + 0.02, y - 0.05), (x + 0.13, y - 0.30)], WOOD, 0.032)
    c.slab(x, y, 0.12, 0.15, (232, 74, 96), (160, 40, 60), 0.03)


def knife(c: Canvas, x: float, y: float, level: bool = False, held: bool = True) -> None:
    """A knife over (x, y), crosswise or level."""
    if level:
        if held:
            hand(c, x + 0.24, y - 0.05)
        c.line([(x - 0.17, y), (x + 0.12, y)], (244, 246, 250), 0.042)
        c.line([(x + 0.12, y), (x + 0.24, y - 0.03)], DARK, 0.045)
    else:
        if held:
            hand(c, x + 0.07, y - 0.26)
        c.line([(x, y + 0.15), (x, y - 0.13)], (244, 246, 250), 0.042)
        c.line([(x, y - 0.13), (x + 0.06, y - 0.26)], DARK, 0.045)


def brush(c: Canvas, x: float, y: float, held: bool = True) -> None:
    """A pastry brush with its bristles at (x, y)."""
    if held:
        hand(c, x + 0.13, y - 0.24)
    c.line([(x + 0.02, y - 0.06), (x + 0.12, y - 0.24)], WOOD, 0.034)
    c.rect(x, y, 0.12, 0.11, (240, 190, 40), (170, 120, 30))


def peeler(c: Canvas, x: float, y: float, held: bool = True) -> None:
    """A peeler with its blade at (x, y)."""
    if held:
        hand(c, x + 0.11, y - 0.19)
    c.line([(x + 0.02, y - 0.04), (x + 0.1, y - 0.18)], (30, 150, 140), 0.05)
    c.line([(x - 0.03, y + 0.07), (x + 0.03, y - 0.06)], STEEL, 0.035)


def jug(c: Canvas, x: float, y: float, pouring: bool, held: bool = True) -> None:
    """A jug of water over (x, y)."""
    if pouring:
        c.poly([(x - 0.10, y - 0.22), (x - 0.04, y - 0.22), (x + 0.0, y + 0.06), (x - 0.12, y + 0.06)], WATER)
    if held:
        hand(c, x + 0.18, y - 0.26)
    c.slab(x + 0.03, y - 0.28, 0.22, 0.2, (70, 130, 210), (40, 84, 150), 0.03)
    c.ellipse(x + 0.03, y - 0.33, 0.16, 0.07, WATER)


def grater(c: Canvas) -> None:
    """A box grater standing on the board."""
    c.slab(0.66, 0.47, 0.26, 0.36, (186, 194, 204), (96, 102, 112), 0.02)
    for i in range(3):
        for j in range(4):
            c.ellipse(0.59 + 0.07 * i, 0.36 + 0.075 * j, 0.03, 0.03, (70, 76, 86))


FLAME: dict[str, tuple[float, Colour, Colour]] = {
    "off": (0.0, WATER, WATER),
    "low": (0.13, (66, 130, 255), (130, 190, 255)),
    "medium": (0.25, (66, 130, 255), (255, 170, 50)),
    "high": (0.38, (255, 96, 24), (255, 214, 70)),
}


def stove(c: Canvas, body: Colour) -> None:
    """The stove without flame and knob."""
    c.slab(0.52, 0.66, 0.84, 0.64, shade(c.look.counter, 0.74))
    c.slab(0.5, 0.64, 0.84, 0.62, body, shade(body, 0.6))
    c.ellipse(0.5, 0.56, 0.46, 0.16, None, blend(body, WHITE, 0.35), 0.014)


def flame(c: Canvas, level: str, height: float, flicker: int) -> None:
    """A crown of five flames; `height` scales them, `flicker` (0..2) makes them dance."""
    tall, outer, inner = FLAME[level]
    for i in range(5):
        x = 0.34 + 0.08 * i
        h = tall * height * (0.88 + 0.12 * ((i + flicker) % 3))
        c.poly([(x - 0.042, 0.56), (x + 0.042, 0.56), (x, 0.56 - h)], outer if i % 2 == 0 or level != "medium" else inner)
        if level == "high":
            c.poly([(x - 0.02, 0.56), (x + 0.02, 0.56), (x, 0.56 - 0.6 * h)], inner)


def knob_dial(c: Canvas, turn: float) -> None:
    """The knob. `turn` 0 is off, 1 low, 2 medium, 3 high."""
    x, y = 0.5, 0.81
    for i, mark in enumerate(((66, 130, 255), (255, 200, 60), (255, 70, 40))):
        angle = _knob_angle(i + 1.0)
        c.ellipse(x - 0.16 * math.cos(angle), y - 0.16 * math.sin(angle), 0.035, 0.035, mark)
    c.ellipse(x, y, 0.22, 0.22, (226, 228, 232), (120, 124, 132), 0.01)
    angle = _knob_angle(turn)
    c.line([(x + 0.05 * math.cos(angle), y + 0.05 * math.sin(angle)), (x - 0.1 * math.cos(angle), y - 0.1 * math.sin(angle))], RED, 0.042)


def _knob_angle(turn: float) -> float:
    return -0.9 + 1.24 * turn


def pan(c: Canvas, x: float, y: float, food: Colour) -> None:
    """A pan with food in it."""
    c.line([(x + 0.2, y), (x + 0.46, y + 0.02)], (34, 34, 40), 0.05)
    c.ellipse(x, y, 0.5, 0.34, (44, 45, 52), (24, 24, 28), 0.012)
    c.ellipse(x, y, 0.41, 0.26, food, shade(food, 0.75))


def timer(c: Canvas, segments: int, total: int) -> None:
    """The timer bar along the top edge of the picture."""
    c.bar(-0.1, -0.1, 1.1, 0.125, (18, 20, 24))
    width = 0.92 / total
    for i in range(total):
        left = 0.04 + width * i
        c.bar(left, 0.03, left + width * 0.76, 0.1, (70, 255, 110) if i < segments else (54, 60, 66))
