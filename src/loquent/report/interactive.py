"""Charts that a reader can explore: the specification of a chart, and the script and data that draw it.

A `Chart` is drawn twice from the same curves: as a static SVG, which is seen where scripts are off, and by
`chart.js` with the library uPlot (MIT, in `uplot/`), which shows values, zooms and smooths. A report and
`Run.plot` use the same charts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from loquent.core.guards.terminal import escaped
from loquent.report.ceiling import EVERYTHING
from loquent.report.charts import ChartIds, Curve, curves, legend
from loquent.report.groups import AXES, Point, thinned
from loquent.report.markup import figure

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

    def figure(self, chart: Chart) -> str:
        """The figure of a chart as markup; empty if it has no points."""
        if chart.empty:
            return ""
        number = len(self._charts)
        self._charts.append(chart)
        key = legend(chart.lines) if chart.legend else ""
        drawn = curves(
            self.ids, chart.title, chart.unit, chart.lines, most=STATIC_POINTS, tips=0, ends=chart.ends
        )
        return figure(
            chart.title, f'<div class="plot" data-chart="{number}">{drawn}</div>', chart.caption, key
        )

    def controls(self) -> str:
        """The controls of all charts; a page without a script hides them. Empty without charts."""
        if not self._charts:
            return ""
        options = "".join(f"<option>{axis}</option>" for axis in self._axes())
        return (
            '<form class="controls" hidden><label>Horizontal axis <select name="axis">'
            f"{options}</select></label>"
            '<label>Smoothing <input type="range" name="smoothing" min="0" max="0.98" step="0.02" value="0">'
            ' <output name="weight">0</output></label>'
            '<button type="button" name="whole" disabled>Reset zoom</button>'
            '<span class="hint">Drag over a chart to zoom, double-click to reset.</span></form>'
        )

    def script(self) -> str:
        """The data of all charts and the script that draws them; empty without charts."""
        if not self._charts:
            return ""
        data = json.dumps(self.data(), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        return f'<script type="application/json" id="chart-data">{data}</script><script>{code()}</script>'

    def data(self) -> dict[str, Any]:
        """The charts as plain data.

        `x` has the columns of the horizontal axes, which curves share. A curve has the number of its columns,
        its means, the deviations (None: no band), and the number of seeds (a list if it changes).
        """
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
                points = thinned(line.points, most)
                place = (id(line.progress), *(point.update for point in points))
                if place not in columns:
                    columns[place] = len(x)
                    x.append(_axes(line, [point.update for point in points]))
                lines.append(_line(line, points, columns[place]))
            ends = [end if math.isfinite(end) else None for end in chart.ends]
            named = {"title": escaped(chart.title), "unit": escaped(chart.unit)}
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


@cache
def style() -> str:
    """The style sheet of a page with charts."""
    folder = resources.files("loquent.report")
    return (folder / "page.css").read_text(encoding="utf-8") + (folder / "uplot/uPlot.min.css").read_text(
        encoding="utf-8"
    )


@cache
def code() -> str:
    """The script of a page with charts: uPlot with its licence, and ours."""
    folder = resources.files("loquent.report")
    licence, library, ours = (
        (folder / name).read_text(encoding="utf-8").strip()
        for name in ("uplot/LICENSE", "uplot/uPlot.iife.min.js", "chart.js")
    )
    return f"/*!\n{licence}\n*/\n{library}\n{ours}\n"


@cache
def policy() -> str:
    """The Content-Security-Policy of a page: nothing is loaded, and no script runs except ours."""
    digest = base64.b64encode(hashlib.sha256(code().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


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
        "label": escaped(line.label),
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
