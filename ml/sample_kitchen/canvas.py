"""The drawing surface: shapes in kitchen coordinates, seen by a camera. What the shapes mean belongs in `props` and `scenes`.

Kitchen coordinates run over the counter: x from 0 (left) to 1 (right), y from 0 (back) to 1 (front). The surface is drawn at
twice the picture's size with a margin, so that `photo` can anti-alias and let the head sway.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from PIL import Image, ImageDraw

from ml.sample_kitchen.script import Look
from ml.sample_kitchen.world import Colour, View

MARGIN = 0.0625
NOISE_LIMIT = 12
Point = tuple[float, float]


def shade(colour: Colour, by: float) -> Colour:
    """Darker (by < 1) or brighter."""
    r, g, b = (min(255, int(channel * by)) for channel in colour)
    return r, g, b


def blend(colour: Colour, other: Colour, share: float) -> Colour:
    """`share` of the other colour."""
    r, g, b = (int(a + (o - a) * share) for a, o in zip(colour, other, strict=True))
    return r, g, b


def luminance(colour: Colour) -> float:
    """Perceived brightness, 0..255."""
    return 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2]


class Canvas:
    """A picture being drawn. `unit` is the number of surface pixels that the picture is wide, margin excluded."""

    def __init__(self, look: Look, unit: int) -> None:
        self.look = look
        self.unit = unit
        self.margin = int(unit * MARGIN)
        self.side = unit + 2 * self.margin
        self._inks: dict[Colour, Colour] = {}
        self.image = Image.new("RGB", (self.side, self.side), self.ink(look.counter))
        self.draw = ImageDraw.Draw(self.image)

    def load(self, picture: Image.Image) -> None:
        """Continues from a copy of `picture`."""
        self.image = picture.copy()
        self.draw = ImageDraw.Draw(self.image)

    def ink(self, colour: Colour) -> Colour:
        """The colour under this kitchen's light, with room for noise on both sides."""
        if colour not in self._inks:
            light, tint = self.look.brightness, self.look.tint
            r, g, b = colour
            lit = (r * light * (1 + tint), g * light, b * light * (1 - tint))
            red, green, blue = (max(NOISE_LIMIT, min(255 - NOISE_LIMIT, int(channel))) for channel in lit)
            self._inks[colour] = red, green, blue
        return self._inks[colour]

    def depth(self, y: float) -> float:
        """How large things at `y` look."""
        return self.look.scale * (0.80 + 0.30 * y) if self.look.view is View.HEAD else self.look.scale

    def at(self, x: float, y: float) -> Point:
        """Surface pixel of a point of the counter."""
        look = self.look
        u = 0.5 + (x - 0.5) * self.depth(y) + look.shift_x
        v = 0.19 + 0.79 * y + look.shift_y if look.view is View.HEAD else 0.5 + (y - 0.5) * look.scale + look.shift_y
        return self.margin + u * self.unit, self.margin + v * self.unit

    def _width(self, share: float, y: float) -> int:
        return max(1, round(share * self.depth(y) * self.unit))

    def box(self, x: float, y: float, w: float, h: float) -> tuple[float, float, float, float]:
        cx, cy = self.at(x, y)
        depth = self.depth(y) * self.unit
        squeeze = 0.84 if self.look.view is View.HEAD else 1.0
        return cx - w * depth / 2, cy - h * depth * squeeze / 2, cx + w * depth / 2, cy + h * depth * squeeze / 2

    def ellipse(
        self, x: float, y: float, w: float, h: float, fill: Colour | None, outline: Colour | None = None, thick: float = 0.008
    ) -> None:
        """An ellipse around (x, y), `w` wide and `h` deep."""
        self.draw.ellipse(
            self.box(x, y, w, h),
            fill=None if fill is None else self.ink(fill),
            outline=None if outline is None else self.ink(outline),
            width=self._width(thick, y) if outline else 0,
        )

    def rect(self, x: float, y: float, w: float, h: float, fill: Colour, outline: Colour | None = None, thick: float = 0.008) -> None:
        """An axis-parallel rectangle around (x, y); a trapezium when seen from the head."""
        corners = [(x - w / 2, y - h / 2), (x + w / 2, y - h / 2), (x + w / 2, y + h / 2), (x - w / 2, y + h / 2)]
        self.poly(corners, fill, outline, thick)

    def slab(self, x: float, y: float, w: float, h: float, fill: Colour, outline: Colour | None = None, corner: float = 0.04) -> None:
        """A rectangle with round corners that faces the camera."""
        self.draw.rounded_rectangle(
            self.box(x, y, w, h),
            radius=corner * self.unit,
            fill=self.ink(fill),
            outline=None if outline is None else self.ink(outline),
            width=self._width(0.008, y),
        )

    def poly(self, points: Sequence[Point], fill: Colour, outline: Colour | None = None, thick: float = 0.008) -> None:
        mapped = [self.at(*point) for point in points]
        self.draw.polygon(mapped, fill=self.ink(fill))
        if outline:
            self.draw.line([*mapped, mapped[0]], fill=self.ink(outline), width=self._width(thick, points[0][1]))

    def line(self, points: Sequence[Point], fill: Colour, thick: float) -> None:
        """A line of `thick` shares of the width."""
        self.draw.line([self.at(*point) for point in points], fill=self.ink(fill), width=self._width(thick, points[0][1]), joint="curve")

    def bar(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """A rectangle in picture coordinates, independent of the camera."""
        m, u = self.margin, self.unit
        self.draw.rectangle((m + left * u, m + top * u, m + right * u, m + bottom * u), fill=self.ink(fill))

    def photo(self, at_s: float, reduce_by: int) -> Image.Image:
        """The picture at `at_s`: the surface without its margin, moved by the sway of the head, made `reduce_by` times smaller."""
        sway = self.look.sway * self.unit
        limit = self.margin
        dx = max(-limit, min(limit, round(sway * math.sin(1.1 * at_s + 3 * self.look.shift_x))))
        dy = max(-limit, min(limit, round(0.7 * sway * math.sin(0.7 * at_s + 1.3))))
        left, top = self.margin + dx, self.margin + dy
        return self.image.reduce(reduce_by, (left, top, left + self.unit, top + self.unit))
