"""Plots of one quantity against another as SVG that stands alone, in a page or as a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loquent.report.charts import Scale, safe, short

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 320, 60, 130, 34, 46
COLOURS = ("#1b6ca8", "#c1440e", "#2e7d32", "#7b1fa2", "#8d6e00", "#455a64")


@dataclass(frozen=True)
class Line:
    """Points (x, y) with the name of what they show; `dashed` for a second quantity of the same colour."""

    label: str
    colour: int
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    marks: bool = True


@dataclass(frozen=True)
class Axis:
    """The name of an axis, and its range; None: that of the points."""

    name: str
    range: tuple[float, float] | None = None


def plot(
    title: str, across: Axis, up: Axis, lines: Sequence[Line], notes: Sequence[tuple[float, str]] = ()
) -> str:
    """The SVG of some lines.

    Args:
        across: the horizontal axis.
        up: the vertical axis.
        notes: places on the horizontal axis with a text, each drawn as a vertical line.
    """
    points = [point for line in lines for point in line.points]
    x = Scale(*(across.range or _range([a for a, _ in points])), LEFT, WIDTH - RIGHT)
    y = Scale(*(up.range or _range([b for _, b in points])), HEIGHT - BOTTOM, TOP)
    body = [*_axes(x, y, across.name, up.name), *_notes(x, notes)]
    for number, line in enumerate(lines):
        body += _line(x, y, line, number)
    texts = "; ".join(f"{line.label}: {_ends(line)}" for line in lines if line.points)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="#555"><title>{safe(title)}</title>'
        f"<desc>{safe(texts)}</desc>"
        f'<text x="{LEFT}" y="16" font-size="13">{safe(title)}</text>{"".join(body)}</svg>'
    )


def _axes(x: Scale, y: Scale, across: str, up: str) -> Iterator[str]:
    for value, label in y.ticks():
        yield f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#ccc"/>'
        yield f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>'
    for value, label in x.ticks():
        yield f'<path d="M{x(value):.1f} {HEIGHT - BOTTOM}v4" stroke="#999"/>'
        yield f'<text x="{x(value):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{label}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{safe(across)}</text>'
    yield f'<text x="4" y="{TOP - 4}">{safe(up)}</text>'


def _notes(x: Scale, notes: Sequence[tuple[float, str]]) -> Iterator[str]:
    for number, (place, text) in enumerate(notes):
        yield f'<path d="M{x(place):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#999" stroke-dasharray="2 3"/>'
        yield f'<text x="{x(place) + 3:.1f}" y="{TOP + 12 + 14 * number}" font-size="11">{safe(text)}</text>'


def _line(x: Scale, y: Scale, line: Line, number: int) -> Iterator[str]:
    colour = COLOURS[line.colour % len(COLOURS)]
    dash = ' stroke-dasharray="6 4"' if line.dashed else ""
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line.points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    for a, b in line.points if line.marks else ():
        yield (
            f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3" fill="{colour}">'
            f"<title>{safe(line.label)}: {short(a)}, {short(b)}</title></circle>"
        )
    top = TOP + 12 + 18 * number
    right = WIDTH - RIGHT + 8
    yield f'<path d="M{right} {top - 4}h20" stroke="{colour}" stroke-width="2"{dash}/>'
    yield f'<text x="{right + 25}" y="{top}">{safe(line.label)}</text>'


def _ends(line: Line) -> str:
    (a, b), (c, d) = line.points[0], line.points[-1]
    return f"{short(b)} at {short(a)} to {short(d)} at {short(c)}"


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.05 or 0.5
    return (0.0 if 0 <= low < 0.35 * high else low - room), high + room
