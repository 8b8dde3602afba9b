"""Charts as inline SVG: curves with bands over seeds, and dots with their errors.

Colours come from the page's style sheet.

Each has a title and a description for those who do not see it, axes with units, and a tooltip for every place
on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count, groupby, pairwise

from loquent.core.guards.terminal import escaped
from loquent.report.runs import Point, thinned

WIDTH, HEIGHT = 480, 270
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 26, 40
COLOURS = 8
MOST_POINTS, MOST_TIPS, MOST_MARKS = 240, 80, 16


@dataclass(frozen=True)
class Curve:
    """One line of a chart; `colour` is the number of its group, the same in all charts."""

    label: str
    colour: int
    points: Sequence[Point]


@dataclass(frozen=True)
class Dot:
    """One value with its error, where it has one."""

    label: str
    colour: int
    value: float
    error: float | None
    n: int


class Numbers:
    """Gives each chart of a page its own ids."""

    def __init__(self) -> None:
        self._next = count(1)

    def chart(self, body: str, height: float, title: str, description: str) -> str:
        """The frame of a chart."""
        number = next(self._next)
        return (
            f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="t{number} '
            f'd{number}"><title id="t{number}">{safe(title)}</title><desc '
            f'id="d{number}">{safe(description)}</desc>{body}</svg>'
        )


def curves(numbers: Numbers, title: str, unit: str, lines: Sequence[Curve]) -> str:
    """Curves over updates.

    Where there are several seeds, a band of one standard deviation to each side of their mean.

    Where some seeds have ended a line ends too; the means of those that are left are dashed, and joined to
    nothing.
    """
    drawn = [
        Curve(line.label, line.colour, thinned(line.points, MOST_POINTS)) for line in lines if line.points
    ]
    every = [point for line in drawn for point in line.points]
    x = Scale(*_whole([point.update for point in every]), LEFT, WIDTH - RIGHT)
    y = Scale(*_range([point.low for point in every] + [point.high for point in every]), HEIGHT - BOTTOM, TOP)
    parts = [_axes(x, y, unit)]
    for line in drawn:
        kind = _kind(line.colour)
        most = max(point.n for point in line.points)
        alone = []  # a point between others of another n is no line
        for run in (list(group) for _, group in groupby(line.points, key=lambda point: point.n)):
            if any(point.high > point.low for point in run):
                edge = [(point.update, point.high) for point in run] + [
                    (point.update, point.low) for point in reversed(run)
                ]
                parts.append(f'<path class="band {kind}" d="{_path(x, y, edge)}Z"/>')
            fewer = " fewer" if run[0].n < most else ""
            parts.append(
                f'<path class="line {kind}{fewer}" '
                f'd="{_path(x, y, [(point.update, point.mean) for point in run])}"/>'
            )
            alone += run if len(run) == 1 else []
        if len(line.points) <= MOST_MARKS or alone:
            marked = line.points if len(line.points) <= MOST_MARKS else alone
            parts += [
                f'<circle class="mark {kind}" cx="{x(point.update):.1f}" cy="{y(point.mean):.1f}" r="3"/>'
                for point in marked
            ]
    parts += _tips(x, drawn)
    said = "; ".join(f"{line.label}: {_story(line.points)}" for line in drawn)
    return numbers.chart(
        "".join(parts),
        HEIGHT,
        title,
        f"{said}. Vertical axis: {unit or 'a bare number'}; horizontal axis: update.",
    )


def dots(numbers: Numbers, title: str, unit: str, values: Sequence[Dot]) -> str:
    """One dot a group, with a bar of one error to each side."""
    height = TOP + 30 * len(values) + BOTTOM
    ends = [value.value + sign * (value.error or 0) for value in values for sign in (-1, 1)]
    x = Scale(*_range(ends), LEFT, WIDTH - RIGHT - 20)
    parts = [_grid(x, TOP, height - BOTTOM)]
    for i, one in enumerate(values):
        middle, kind = TOP + 30 * i + 18, f"c{one.colour % COLOURS} d0"
        error = one.error or 0.0
        parts.append(
            f'<g><title>{safe(_said(one))}</title><rect class="tip" x="0" y="{middle - 15}" '
            f'width="{WIDTH}" height="30"/>'
        )
        parts.append(
            f'<path class="line {kind}" d="M{x(one.value - error):.1f} {middle}H{x(one.value + error):.1f}"/>'
        )
        parts.append(f'<circle class="mark {kind}" cx="{x(one.value):.1f}" cy="{middle}" r="5"/>')
        parts.append(
            f'<text class="label" x="{LEFT}" y="{middle - 8}">{safe(one.label[:60])}: '
            f"{short(one.value)}</text></g>"
        )
    parts.append(
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{height - 6}" '
        f'text-anchor="middle">{safe(unit or title)}</text>'
    )
    return numbers.chart(
        "".join(parts), height, title, "; ".join(_said(one) for one in values) + f". Axis: {unit or title}."
    )


def legend(lines: Sequence[Curve]) -> str:
    """Whose line is whose; of those that have one."""
    items = (
        f'<li><svg class="key" viewBox="0 0 24 8" aria-hidden="true">'
        f'<path class="line {_kind(line.colour)}" d="M1 4H23"/></svg>'
        f"{safe(line.label)}</li>"
        for line in lines
        if line.points
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def short(value: float | None) -> str:
    """A number with four significant digits; a dash for none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.4g}".replace("-", "−")


def safe(text: str) -> str:
    """Any text, a model's too, as text of a page: markup, control and direction marks are shown, not
    obeyed.
    """
    return escape(escaped(text), quote=True)


@dataclass(frozen=True)
class Scale:
    """A straight map from values to places on the canvas."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, whole: bool = False) -> Iterator[tuple[float, str]]:
        """Three to seven round values with their labels."""
        raw = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * 0.999)
        step = max(step, 1.0) if whole else step
        for i in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1):
            yield i * step, _tick(i * step, step)


def _kind(colour: int) -> str:
    """The style of a group: eight colours, then the same ones with other strokes."""
    return f"c{colour % COLOURS} d{colour // COLOURS % 3}"


def _tick(value: float, step: float) -> str:
    if value == 0:
        return "0"
    if step < 1e-4 or abs(value) >= 1e6:
        return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:,.{places}f}".replace(",", " ").replace("-", "−")


def _whole(updates: Sequence[float]) -> tuple[float, float]:
    low, high = min(updates), max(updates)
    return (low - 1, high + 1) if low == high else (low, high)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """A little more than the values take; from 0 where that is near."""
    low, high = min(values), max(values)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = abs(high) * 0.1 or 0.5
        return low - room, high + room
    room = (high - low) * 0.06
    if 0 <= low < 0.35 * high:
        return 0.0, high + room
    return low - room, high + room


def _axes(x: Scale, y: Scale, unit: str) -> str:
    parts = [_grid(x, TOP, HEIGHT - BOTTOM, whole=True)]
    for value, label in y.ticks():
        parts.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 7}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>'
        )
    parts.append(f'<text class="axis" x="4" y="14">{safe(unit)}</text>')
    parts.append(
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" '
        'text-anchor="middle">update</text>'
    )
    return "".join(parts)


def _grid(x: Scale, top: float, bottom: float, whole: bool = False) -> str:
    lines = [f'<path class="base" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>']
    for value, label in x.ticks(whole):
        lines.append(
            f'<path class="base" d="M{x(value):.1f} {bottom}v4"/>'
            if whole
            else f'<path class="grid" d="M{x(value):.1f} {top}V{bottom}"/>'
        )
        lines.append(
            f'<text class="tick" x="{x(value):.1f}" y="{bottom + 17}" text-anchor="middle">{label}</text>'
        )
    return "".join(lines)


def _path(x: Scale, y: Scale, points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in points)


def _tips(x: Scale, lines: Sequence[Curve]) -> Iterator[str]:
    """Invisible columns whose tooltips give the numbers there."""
    places = sorted({point.update for line in lines for point in line.points})
    places = places[:: math.ceil(len(places) / MOST_TIPS)]
    known = [{point.update: point for point in line.points} for line in lines]
    edges = [x.start, *((x(a) + x(b)) / 2 for a, b in pairwise(places)), x.end]
    for i, place in enumerate(places):
        said = "\n".join(
            f"{line.label}: {_value(by[place])}" for line, by in zip(lines, known, strict=True) if place in by
        )
        yield (
            f'<rect class="tip" x="{edges[i]:.1f}" y="{TOP}" width="{edges[i + 1] - edges[i]:.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}">'
            f"<title>update {place:g}\n{safe(said)}</title></rect>"
        )


def _value(point: Point) -> str:
    return short(point.mean) + (
        f" ± {short(point.mean - point.low)} ({point.n} seeds)" if point.n > 1 else ""
    )


def _story(points: Sequence[Point]) -> str:
    first, last = points[0], points[-1]
    said = f"{_value(first)} at update {first.update:g}"
    for one, other in pairwise(points):
        if one.n != other.n:
            said += (
                f", {_value(one)} at update {one.update:g}, of {other.n} "
                f"{'seed' if other.n == 1 else 'seeds'} from update {other.update:g} on"
            )
    return said if len(points) == 1 else f"{said}, {_value(last)} at update {last.update:g}"


def _said(one: Dot) -> str:
    spread = "" if one.error is None else f" ± {short(one.error)}"
    return f"{one.label}: {short(one.value)}{spread}" + (f" ({one.n} seeds)" if one.n > 1 else "")
