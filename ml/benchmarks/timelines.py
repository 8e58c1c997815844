"""Timelines of reference and predicted messages of one recording, as SVG with the texts on hover. Scores nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ml.vocabulary import MessageKind

WIDTH, LEFT, LANE, TOP = 1080, 190, 34, 30
COLOURS = {MessageKind.FEEDBACK.value: "#c8452e", MessageKind.SUCCESS.value: "#4d8a3c", MessageKind.INSTRUCTION.value: "#2f6db5"}
OTHER_COLOURS = {"error": "#c8452e", "correction": "#e08a2b", "failed": "#7f8790"}


@dataclass(frozen=True)
class Point:
    """A message; ``kind`` is a message kind, a category, or `failed` where no answer came."""

    t_s: float
    kind: str
    text: str


@dataclass(frozen=True)
class Lane:
    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Timeline:
    """``bands`` are steps: start, end, text. ``links`` are matched pairs of times, from the first lane to the second."""

    title: str
    lanes: tuple[Lane, ...]
    bands: tuple[tuple[float, float, str], ...] = ()
    links: tuple[tuple[float, float], ...] = ()


def timeline_svg(timeline: Timeline) -> str:
    """Inline SVG, one lane each; texts are escaped."""
    times = [p.t_s for lane in timeline.lanes for p in lane.points] + [t for band in timeline.bands for t in band[:2]]
    low, high = (min(times), max(times)) if times else (0.0, 1.0)
    span = max(high - low, 1.0)

    def x(t_s: float) -> float:
        return LEFT + (t_s - low) / span * (WIDTH - LEFT - 20)

    height = TOP + LANE * len(timeline.lanes) + 26
    bottom = TOP + LANE * len(timeline.lanes)
    parts = [f'<svg class="timeline" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(timeline.title, quote=True)}">']
    for index, (start_s, end_s, text) in enumerate(timeline.bands):
        fill = "#f1f3f6" if index % 2 else "#e6eaef"
        width = max(x(end_s) - x(start_s), 1)
        parts.append(
            f'<rect x="{x(start_s):.1f}" y="{TOP - 14}" width="{width:.1f}" height="{bottom - TOP + 14}" fill="{fill}">'
            f"<title>{escape(f'{start_s:.1f} to {end_s:.1f} s: {text}')}</title></rect>"
        )
    for tick in _ticks(low, low + span):
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 18}" class="tick">{tick:g} s</text>')
    for a, b in timeline.links:
        y = TOP + LANE / 2
        parts.append(f'<line x1="{x(a):.1f}" y1="{y:.1f}" x2="{x(b):.1f}" y2="{y + LANE:.1f}" class="link"/>')
    for row, lane in enumerate(timeline.lanes):
        y = TOP + LANE * row + LANE / 2
        name = lane.name if len(lane.name) <= 26 else f"{lane.name[:25]}…"
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4:.1f}" class="lane">{escape(name)}</text>')
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - 20}" y2="{y:.1f}" class="axis"/>')
        parts += [_marker(x(point.t_s), y, point) for point in lane.points]
    parts.append("</svg>")
    return "".join(parts)


def _marker(x: float, y: float, point: Point) -> str:
    colour = COLOURS.get(point.kind) or OTHER_COLOURS.get(point.kind, "#2f6db5")
    title = f"<title>{escape(f'{point.t_s:.1f} s, {point.kind}: {point.text}')}</title>"
    if point.kind == MessageKind.SUCCESS:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{colour}">{title}</circle>'
    if point.kind == "failed":
        cross = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
        return f'<path d="{cross}" stroke="{colour}" stroke-width="2" fill="none">{title}</path>'
    if point.kind in (MessageKind.FEEDBACK, "error", "correction"):
        return f'<path d="M{x - 7:.1f} {y - 6:.1f}h14l-7 12z" fill="{colour}">{title}</path>'
    return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" rx="2" fill="{colour}">{title}</rect>'


def _ticks(low: float, high: float) -> Sequence[float]:
    step = next((s for s in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600) if (high - low) / s <= 12), (high - low) / 12)
    first = -(-low // step) * step
    return [first + step * i for i in range(int((high - first) / step) + 1)]
