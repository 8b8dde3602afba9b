"""Charts as inline SVG: curves with bands over seeds, and dots with error bars.

Every chart has a title and a description for screen readers, and axes with units. Dots have tooltips with
their values; curves have them unless `tips` is 0, as in `interactive`, whose script shows the values instead.
Colours come from the page's style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count, groupby, pairwise

from loquent.core.guards.terminal import escaped
from loquent.report.ceiling import EVERYTHING
from loquent.report.groups import Point, Progress, bounded, thinned

WIDTH, HEIGHT = 480, 270
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 26, 40
COLOURS = 8
MOST_POINTS, MOST_TIPS, MOST_MARKS = 240, 80, 16


@dataclass(frozen=True)
class Curve:
    """One line of a chart; `colour` is the number of its group, which is the same in all charts."""

    label: str
    colour: int
    points: Sequence[Point]
    progress: Progress | None = None
    """The other horizontal axes, by update."""


@dataclass(frozen=True)
class Dot:
    """One value with its error, or None; `ends` are those of an interval, which need not be symmetric.

    A bar of an error ends at `limits`, the least and the greatest possible value.
    """

    label: str
    colour: int
    value: float
    error: float | None = None
    n: int = 1
    ends: tuple[float, float] | None = None
    limits: tuple[float, float] = EVERYTHING

    @property
    def bar(self) -> tuple[float, float]:
        """The ends of the bar."""
        error = self.error or 0.0
        least, greatest = self.limits
        return self.ends or (max(self.value - error, least), min(self.value + error, greatest))


class ChartIds:
    """Gives each chart of a page its own ids."""

    def __init__(self) -> None:
        self._next = count(1)

    def chart(self, body: str, height: float, title: str, description: str) -> str:
        """The SVG of a chart, with its title and description around the body."""
        number = next(self._next)
        return (
            f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="t{number} d{number}">'
            f'<title id="t{number}">{safe(title)}</title>'
            f'<desc id="d{number}">{safe(description)}</desc>'
            f"{body}</svg>"
        )


def curves(
    ids: ChartIds,
    title: str,
    unit: str,
    lines: Sequence[Curve],
    *,
    most: int = MOST_POINTS,
    tips: int = MOST_TIPS,
    ends: tuple[float, float] = EVERYTHING,
) -> str:
    """Curves over updates.

    The mean over several seeds has a band of one standard deviation to each side. If some seeds have ended,
    the line ends; the means of the other seeds are a new, dotted line that is not joined to the first.

    Args:
        ids: the ids of the page.
        title: the name of the chart.
        unit: the unit of the values.
        lines: the curves.
        most: the points of a curve; neighbours are averaged if there are more.
        tips: the places that have a tooltip.
        ends: the least and the greatest possible mean, at which bands end.
    """
    drawn = [Curve(line.label, line.colour, thinned(line.points, most)) for line in lines if line.points]
    points = [point for line in drawn for point in line.points]
    x = Scale(*_update_range([point.update for point in points]), LEFT, WIDTH - RIGHT)
    banded = bounded(points, ends)
    values = [point.low for point in banded] + [point.high for point in banded]
    y = Scale(*_range(values), HEIGHT - BOTTOM, TOP)
    parts = [_axes(x, y, unit)]
    for line in drawn:
        parts += _curve(x, y, line, ends)
    parts += _tips(x, drawn, tips) if tips else []
    texts = "; ".join(f"{line.label}: {_description(line.points)}" for line in drawn)
    return ids.chart(
        "".join(parts),
        HEIGHT,
        title,
        f"{texts}. Vertical axis: {unit or 'a number without unit'}; horizontal axis: update.",
    )


def _curve(x: Scale, y: Scale, line: Curve, ends: tuple[float, float]) -> Iterator[str]:
    """The bands, lines and marks of one curve."""
    style = _style(line.colour)
    most = max(point.n for point in line.points)
    alone = []  # points between others of another n: no line shows them
    for run in (list(group) for _, group in groupby(line.points, key=lambda point: point.n)):
        if any(point.high > point.low for point in run):
            band = bounded(run, ends)
            upper = [(point.update, point.high) for point in band]
            lower = [(point.update, point.low) for point in reversed(band)]
            yield f'<path class="band {style}" d="{_path(x, y, upper + lower)}Z"/>'
        fewer = " fewer" if run[0].n < most else ""
        means = [(point.update, point.mean) for point in run]
        yield f'<path class="line {style}{fewer}" d="{_path(x, y, means)}"/>'
        alone += run if len(run) == 1 else []
    for point in line.points if len(line.points) <= MOST_MARKS else alone:
        yield f'<circle class="mark {style}" cx="{x(point.update):.1f}" cy="{y(point.mean):.1f}" r="3"/>'


def dots(ids: ChartIds, title: str, unit: str, values: Sequence[Dot]) -> str:
    """One dot per group, with a bar of one error to each side, or between its ends."""
    height = TOP + 30 * len(values) + BOTTOM
    x = Scale(*_range([end for dot in values for end in (*dot.bar, dot.value)]), LEFT, WIDTH - RIGHT - 20)
    parts = [_grid(x, TOP, height - BOTTOM)]
    for i, dot in enumerate(values):
        middle, style = TOP + 30 * i + 18, f"c{dot.colour % COLOURS} d0"
        low, high = map(x, dot.bar)
        label = f"{safe(dot.label[:60])}: {short(dot.value)}"
        parts += [
            f"<g><title>{safe(_dot_text(dot))}</title>",
            f'<rect class="tip" x="0" y="{middle - 15}" width="{WIDTH}" height="30"/>',
            f'<path class="line {style}" d="M{low:.1f} {middle}H{high:.1f}"/>',
            f'<circle class="mark {style}" cx="{x(dot.value):.1f}" cy="{middle}" r="5"/>',
            f'<text class="label" x="{LEFT}" y="{middle - 8}">{label}</text>',
            "</g>",
        ]
    parts.append(
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{height - 6}" '
        f'text-anchor="middle">{safe(unit or title)}</text>'
    )
    texts = "; ".join(_dot_text(dot) for dot in values)
    return ids.chart("".join(parts), height, title, f"{texts}. Axis: {unit or title}.")


def legend(lines: Sequence[Curve]) -> str:
    """The legend of the curves that have points."""
    items = (
        f'<li><svg class="key" viewBox="0 0 24 8" aria-hidden="true">'
        f'<path class="line {_style(line.colour)}" d="M1 4H23"/></svg>{safe(line.label)}</li>'
        for line in lines
        if line.points
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def short(value: float | None) -> str:
    """A number with four significant digits; a dash for None, NaN and infinities."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.4g}".replace("-", "−")


def safe(text: str) -> str:
    """Any text, even a model's, as text of a page: markup, control and direction marks have no effect."""
    return escape(escaped(text), quote=True)


@dataclass(frozen=True)
class Scale:
    """A linear map from values to places on the chart."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, whole: bool = False) -> Iterator[tuple[float, str]]:
        """Three to seven round values with their labels; whole numbers only if `whole`."""
        raw = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * 0.999)
        step = max(step, 1.0) if whole else step
        for i in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1):
            yield i * step, _tick(i * step, step)


def _style(colour: int) -> str:
    """The style classes of a group: eight colours, then the same colours with other strokes."""
    return f"c{colour % COLOURS} d{colour // COLOURS % 3}"


def _tick(value: float, step: float) -> str:
    if value == 0:
        return "0"
    if step < 1e-4 or abs(value) >= 1e6:
        digits = max(1, math.floor(math.log10(abs(value)) + 1e-9) - math.floor(math.log10(step) + 1e-9))
        return f"{value:.{digits}e}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:,.{places}f}".replace(",", " ").replace("-", "−")


def _update_range(updates: Sequence[float]) -> tuple[float, float]:
    low, high = min(updates), max(updates)
    return (low - 1, high + 1) if low == high else (low, high)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """A range a little larger than that of the values; it begins at 0 if that is near."""
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


def _tips(x: Scale, lines: Sequence[Curve], most: int) -> Iterator[str]:
    """Invisible columns whose tooltips give the values at an update."""
    places = sorted({point.update for line in lines for point in line.points})
    places = places[:: math.ceil(len(places) / most)]
    by_update = [{point.update: point for point in line.points} for line in lines]
    edges = [x.start, *((x(a) + x(b)) / 2 for a, b in pairwise(places)), x.end]
    for i, place in enumerate(places):
        text = "\n".join(
            f"{line.label}: {_value(points[place])}"
            for line, points in zip(lines, by_update, strict=True)
            if place in points
        )
        yield (
            f'<rect class="tip" x="{edges[i]:.1f}" y="{TOP}" width="{edges[i + 1] - edges[i]:.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}">'
            f"<title>update {place:g}\n{safe(text)}</title></rect>"
        )


def _value(point: Point) -> str:
    spread = f" ± {short(point.mean - point.low)} ({point.n} seeds)" if point.n > 1 else ""
    return short(point.mean) + spread


def _description(points: Sequence[Point]) -> str:
    """A curve in words: its first and last value, and the updates at which seeds end."""
    first, last = points[0], points[-1]
    text = f"{_value(first)} at update {first.update:g}"
    for point, following in pairwise(points):
        if point.n != following.n:
            seeds = "seed" if following.n == 1 else "seeds"
            text += (
                f", {_value(point)} at update {point.update:g}, of {following.n} {seeds} from update "
                f"{following.update:g} on"
            )
    return text if len(points) == 1 else f"{text}, {_value(last)} at update {last.update:g}"


def _dot_text(dot: Dot) -> str:
    spread = "" if dot.error is None else f" ± {short(dot.error)}"
    spread = spread if dot.ends is None else f" ({short(dot.ends[0])} to {short(dot.ends[1])})"
    seeds = f" ({dot.n} seeds)" if dot.n > 1 else ""
    return f"{dot.label}: {short(dot.value)}{spread}{seeds}"
