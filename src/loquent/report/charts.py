"""Charts as SVG: curves with bands over seeds, dots with error bars, bars, and small intervals.

Every chart has a title and a description for screen readers, and axes with units; dots and bars have tooltips
with their values. Colours come from `charts.css`, which is in the sheet of a page and in a file that stands
alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import count, groupby, pairwise

from loquent.core.metric import EVERYTHING
from loquent.report.groups import Point, Progress, bound_bands, thin_curve
from loquent.statistics.intervals import Interval
from loquent.statistics.tables import safe, short

WIDTH, HEIGHT = 480, 270
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 26, 40
COLOURS = 8
MOST_POINTS, MOST_MARKS = 240, 16
WHOLE = ("update", "epoch")  # axes without places between whole numbers
STROKES = 3  # of curves that share a colour


class Drawing(str):
    """Markup, which a template takes as it is."""

    def __html__(self) -> str:
        return self


@dataclass(frozen=True)
class Curve:
    """One line of a chart; `colour` is the number of its group, which is the same in all charts.

    There are eight colours; from the ninth on they come with other strokes.
    """

    label: str
    colour: int
    points: Sequence[Point]
    progress: Progress | None = None
    """The other horizontal axes, by update."""

    @property
    def style(self) -> str:
        """The classes of the colour and the stroke."""
        return f"c{self.colour % COLOURS} d{self.colour // COLOURS % STROKES}"


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

    def chart(self, body: str, height: float, title: str, description: str) -> Drawing:
        """The SVG of a chart, with its title and description around the body."""
        number = next(self._next)
        return Drawing(
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
    ends: tuple[float, float] = EVERYTHING,
    across: str = "update",
) -> Drawing:
    """Curves over updates, or over the quantity `across`.

    The mean over several seeds has a band of one standard deviation to each side. If some seeds have ended,
    the line ends; the means of the other seeds are a new, dotted line that is not joined to the first.

    Args:
        ids: the ids of the page.
        title: the name of the chart.
        unit: the unit of the values.
        lines: the curves.
        most: the points of a curve; neighbours are averaged if there are more.
        ends: the least and the greatest possible mean, at which bands end.
    """
    drawn = [replace(line, points=thin_curve(line.points, most)) for line in lines if line.points]
    body, _ = _plot(drawn, unit, ends, across)
    return ids.chart(body, HEIGHT, title, _words(drawn, unit, across))


def alone(
    title: str, unit: str, across: str, lines: Sequence[Curve], notes: Sequence[tuple[float, str]] = ()
) -> str:
    """Curves as a file of their own, with the title, the legend and the sheet in it.

    Args:
        notes: places on the horizontal axis with a text, each drawn as a vertical line; the text is on the
            side with more room.
    """
    drawn = [line for line in lines if line.points]
    body, x = _plot(drawn, unit, EVERYTHING, across)
    for i, (place, text) in enumerate(notes):
        body += f'<path class="base d2" d="M{x(place):.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
        side, anchor = (-3, "end") if x(place) > WIDTH / 2 else (3, "start")
        body += f'<text class="tick" x="{x(place) + side:.1f}" y="{TOP + 12 + 14 * i}" '
        body += f'text-anchor="{anchor}">{safe(text)}</text>'
    for i, line in enumerate(lines):
        body += f'<path class="line {line.style}" d="M{LEFT} {HEIGHT + 18 * i + 9}h24"/>'
        body += f'<text class="label" x="{LEFT + 32}" y="{HEIGHT + 18 * i + 14}">{safe(line.label)}</text>'
    height = 20 + HEIGHT + 18 * len(lines) + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<title>{safe(title)}</title><desc>{safe(_words(drawn, unit, across))}</desc>"
        f"<style>{sheet()}</style>"
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>'
        f'<text class="label" x="4" y="18">{safe(title)}</text>'
        f'<g transform="translate(0 20)">{body}</g></svg>'
    )


def sheet() -> str:
    """The style sheet of charts."""
    return (resources.files("loquent.report") / "charts.css").read_text(encoding="utf-8")


def _plot(lines: Sequence[Curve], unit: str, ends: tuple[float, float], across: str) -> tuple[str, Scale]:
    """The axes and the curves as markup, and the horizontal scale."""
    points = [point for line in lines for point in line.points]
    x = Scale(*_update_range([point.update for point in points]), LEFT, WIDTH - RIGHT)
    banded = bound_bands(points, ends)
    values = [point.low for point in banded] + [point.high for point in banded]
    y = Scale(*_range(values), HEIGHT - BOTTOM, TOP)
    parts = [_axes(x, y, unit, across)]
    for line in lines:
        parts += _curve(x, y, line, ends)
    return "".join(parts), x


def _words(lines: Sequence[Curve], unit: str, across: str) -> str:
    """The curves and the axes in words."""
    texts = "; ".join(f"{line.label}: {_description(line.points, across)}" for line in lines)
    return f"{texts}. Vertical axis: {unit or 'a number without unit'}; horizontal axis: {across}."


def _curve(x: Scale, y: Scale, line: Curve, ends: tuple[float, float]) -> Iterator[str]:
    """The bands, lines and marks of one curve."""
    style = line.style
    most = max(point.n for point in line.points)
    alone = []  # points between others of another n: no line shows them
    for run in (list(group) for _, group in groupby(line.points, key=lambda point: point.n)):
        if any(point.high > point.low for point in run):
            band = bound_bands(run, ends)
            upper = [(point.update, point.high) for point in band]
            lower = [(point.update, point.low) for point in reversed(band)]
            yield f'<path class="band {style}" d="{_path(x, y, upper + lower)}Z"/>'
        fewer = " fewer" if run[0].n < most else ""
        means = [(point.update, point.mean) for point in run]
        yield f'<path class="line {style}{fewer}" d="{_path(x, y, means)}"/>'
        alone += run if len(run) == 1 else []
    for point in line.points if len(line.points) <= MOST_MARKS else alone:
        yield f'<circle class="mark {style}" cx="{x(point.update):.1f}" cy="{y(point.mean):.1f}" r="3"/>'


def dots(ids: ChartIds, title: str, unit: str, values: Sequence[Dot]) -> Drawing:
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


def bars(ids: ChartIds, title: str, unit: str, shares: Mapping[str, Mapping[float, float]]) -> Drawing:
    """The share of each value, one bar for each group; `unit` is what has the values."""
    values = sorted({value for own in shares.values() for value in own})
    step = (WIDTH - LEFT - RIGHT) / len(values)
    width = 0.8 * step / len(shares)
    body, texts = [], []
    for place, value in enumerate(values):
        left = LEFT + step * place
        for i, (group, own) in enumerate(shares.items()):
            share = own.get(value, 0.0)
            x, height = left + (i + 0.75) * width, share * (HEIGHT - TOP - BOTTOM)
            texts.append(f"{group}: {share:.0%} of its {unit} are {value:g}")
            body.append(
                f'<g><title>{safe(texts[-1])}</title><path class="line c{i % COLOURS} d0" '
                f'style="stroke-width:{width:.1f};stroke-linecap:butt" '
                f'd="M{x:.1f} {HEIGHT - BOTTOM}v{-height:.1f}"/></g>'
            )
        body.append(
            f'<text class="axis" x="{left + 0.4 * step:.1f}" y="{HEIGHT - BOTTOM + 16}" '
            f'text-anchor="middle">{value:g}</text>'
        )
    return ids.chart("".join(body), HEIGHT, title, "; ".join(texts))


def small(found: Interval, low: float, high: float) -> Drawing:
    """An interval as a line with a dot at the mean, between the least and the greatest number of a column."""
    ends = (found.mean if end is None else end for end in (found.mean, found.low, found.high))
    dot, left, right = (4 + 102 * ((end - low) / (high - low) if high > low else 0.5) for end in ends)
    return Drawing(
        '<svg class="small" width="110" height="14" role="img" aria-label="interval">'
        f'<path class="line c0" d="M{left:.1f} 7H{right:.1f}"/>'
        f'<circle class="mark c0" cx="{dot:.1f}" cy="7" r="3.5"/></svg>'
    )


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


def _tick(value: float, step: float) -> str:
    if value == 0:
        return "0"
    if step < 1e-4 or abs(value) >= 1e6:
        digits = max(1, math.floor(math.log10(abs(value)) + 1e-9) - math.floor(math.log10(step) + 1e-9))
        return f"{value:.{digits}e}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:,.{places}f}".replace(",", " ").replace("-", "−")


def _update_range(updates: Sequence[float]) -> tuple[float, float]:
    low, high = min(updates, default=0.0), max(updates, default=1.0)
    return (low - 1, high + 1) if low == high else (low, high)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """A range a little larger than that of the values; it begins at 0 if that is near."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = abs(high) * 0.1 or 0.5
        return low - room, high + room
    room = (high - low) * 0.06
    if 0 <= low < 0.35 * high:
        return 0.0, high + room
    return low - room, high + room


def _axes(x: Scale, y: Scale, unit: str, across: str) -> str:
    parts = [_grid(x, TOP, HEIGHT - BOTTOM, ticks=True, whole=across in WHOLE)]
    for value, label in y.ticks():
        parts.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 7}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>'
        )
    parts.append(f'<text class="axis" x="4" y="14">{safe(unit)}</text>')
    parts.append(
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" '
        f'text-anchor="middle">{safe(across)}</text>'
    )
    return "".join(parts)


def _grid(x: Scale, top: float, bottom: float, ticks: bool = False, whole: bool = False) -> str:
    lines = [f'<path class="base" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>']
    for value, label in x.ticks(whole):
        lines.append(
            f'<path class="base" d="M{x(value):.1f} {bottom}v4"/>'
            if ticks
            else f'<path class="grid" d="M{x(value):.1f} {top}V{bottom}"/>'
        )
        lines.append(
            f'<text class="tick" x="{x(value):.1f}" y="{bottom + 17}" text-anchor="middle">{label}</text>'
        )
    return "".join(lines)


def _path(x: Scale, y: Scale, points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in points)


def _value(point: Point) -> str:
    spread = f" ± {short(point.mean - point.low)} ({point.n} seeds)" if point.n > 1 else ""
    return short(point.mean) + spread


def _description(points: Sequence[Point], across: str) -> str:
    """A curve in words: its first and last value, and the places at which seeds end."""
    first, last = points[0], points[-1]
    text = f"{_value(first)} at {across} {first.update:g}"
    for point, following in pairwise(points):
        if point.n != following.n:
            seeds = "seed" if following.n == 1 else "seeds"
            text += (
                f", {_value(point)} at {across} {point.update:g}, of {following.n} {seeds} from {across} "
                f"{following.update:g} on"
            )
    return text if len(points) == 1 else f"{text}, {_value(last)} at {across} {last.update:g}"


def _dot_text(dot: Dot) -> str:
    spread = "" if dot.error is None else f" ± {short(dot.error)}"
    spread = spread if dot.ends is None else f" ({short(dot.ends[0])} to {short(dot.ends[1])})"
    seeds = f" ({dot.n} seeds)" if dot.n > 1 else ""
    return f"{dot.label}: {short(dot.value)}{spread}{seeds}"
