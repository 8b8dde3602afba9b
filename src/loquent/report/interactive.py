"""Charts that a reader can explore: the specification of a chart, and the data that draw it.

A `Chart` is drawn twice from the same curves: as a static SVG, which is seen where scripts are off, and by
`chart.js` with the library uPlot (MIT, in `uplot/`), which shows values, zooms and smooths. A report and
`Run.plot` use the same charts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loquent.core.guards.terminal import escape_text
from loquent.core.metric import EVERYTHING
from loquent.report.charts import ChartIds, Curve, Drawing, curves
from loquent.report.groups import AXES, Point, thin_curve
from loquent.report.kit import Figure, Figures

STATIC_POINTS = 40
BUDGET = 60_000  # points of all curves of a page, so that a report of long runs stays small
FEWEST_POINTS, MOST_POINTS = 40, 2000


@dataclass(frozen=True)
class Chart:
    """One chart: the curves, their name and unit, and a caption."""

    title: str
    unit: str
    lines: Sequence[Curve]
    caption: str = ""
    legend: bool = True
    ends: tuple[float, float] = EVERYTHING
    """The least and the greatest possible mean, at which bands end."""

    @property
    def empty(self) -> bool:
        """Whether no curve has a point."""
        return not any(line.points for line in self.lines)


class Charts:
    """The charts of one page, with the ids and the data of all."""

    def __init__(self) -> None:
        self.ids = ChartIds()
        self._charts: list[Chart] = []

    def figures(self, charts: Iterable[Chart]) -> list[Figures]:
        """The charts that have points, side by side; empty if none has."""
        found = [self._figure(chart) for chart in charts if not chart.empty]
        return [Figures(found)] if found else []

    def _figure(self, chart: Chart) -> Figure:
        place = f'<div class="plot" data-chart="{len(self._charts)}">'
        self._charts.append(chart)
        drawn = curves(self.ids, chart.title, chart.unit, chart.lines, most=STATIC_POINTS, ends=chart.ends)
        legend = chart.lines if chart.legend else ()
        return Figure(chart.title, Drawing(f"{place}{drawn}</div>"), chart.caption, legend)

    def data(self) -> dict[str, Any] | None:
        """The charts as plain data; None if there are none.

        `x` has the columns of the horizontal axes, which curves share. A curve has the number of its columns,
        its means, the deviations (None: no band), and the number of seeds (a list if it changes).
        """
        if not self._charts:
            return None
        count = sum(len(chart.lines) for chart in self._charts)
        most = max(FEWEST_POINTS, min(MOST_POINTS, BUDGET // count))
        columns: dict[tuple[Any, ...], int] = {}
        x: list[dict[str, list[float]]] = []
        charts = []
        for chart in self._charts:
            lines = []
            for line in chart.lines:
                if not line.points:
                    continue
                points = thin_curve(line.points, most)
                place = (id(line.progress), *(point.update for point in points))
                if place not in columns:
                    columns[place] = len(x)
                    x.append(_axes(line, [point.update for point in points]))
                lines.append(_line(line, points, columns[place]))
            ends = [end if math.isfinite(end) else None for end in chart.ends]
            named = {"title": escape_text(chart.title), "unit": escape_text(chart.unit)}
            charts.append({**named, "ends": ends, "lines": lines})
        return {"axes": self._axes(), "x": x, "charts": charts}

    def _axes(self) -> list[str]:
        """The axes that all curves have."""
        lines = [line for chart in self._charts for line in chart.lines if line.points]
        return [
            axis
            for axis in AXES
            if axis == "update" or all(line.progress and axis in line.progress.axes for line in lines)
        ]


def _axes(line: Curve, updates: Sequence[float]) -> dict[str, list[float]]:
    """The places of some updates on each axis, between two updates by interpolation."""
    others: Mapping[str, Sequence[float]] = line.progress.axes if line.progress else {}
    known = line.progress.updates if line.progress else ()
    found = {"update": [_rounded(update, 8) for update in updates]}
    for axis, values in others.items():
        if axis != "update":
            found[axis] = [_rounded(value, 8) for value in np.interp(updates, known, values).tolist()]
    return found


def _line(line: Curve, points: Sequence[Point], x: int) -> dict[str, Any]:
    counts = [point.n for point in points]
    means = [point.mean for point in points]
    span = max(means) - min(means)
    places = 4 - _power(span) if span else 0  # the range keeps five digits
    digits = 5 if span else 9
    spread = [_rounded(point.mean - point.low, 3) for point in points]
    return {
        "label": escape_text(line.label),
        "colour": line.colour,
        "x": x,
        "mean": [_rounded(mean, digits, places) for mean in means],
        "spread": spread if any(spread) else None,
        "n": counts[0] if len(set(counts)) == 1 else counts,
    }


def _power(value: float) -> int:
    """The power of ten of the first digit of a number; 0 for 0."""
    return math.floor(math.log10(abs(value))) if value else 0


def _rounded(value: float, digits: int, places: int = 0) -> float:
    """A number with at least so many significant digits and decimal places.

    A whole number is an integer, which is shorter.
    """
    short = round(float(value), max(places, digits - 1 - _power(value)))
    return int(short) if short.is_integer() and abs(short) < 2**53 else short
