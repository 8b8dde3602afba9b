"""A suite's results as one HTML file: no network, light and dark, readable on a phone, every text escaped."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

from loquent.bench import pages
from loquent.bench.results import CONTRADICTED, HOLDS, Results, Row
from loquent.machine.version import __version__
from loquent.report.charts import Curve, Numbers, curves, legend, safe
from loquent.statistics.intervals import Interval

STYLE = """
:root { color-scheme: light dark; --line: #d0d0d0; --soft: #6b6b6b;
  --mark: #1f6feb; --paper: #c4711b; --good: #1a7f37; --bad: #cf222e }
@media (prefers-color-scheme: dark) { :root {
  --line: #444; --soft: #a0a0a0; --mark: #79b8ff; --paper: #f0a95b; --good: #56d364; --bad: #ff7b72
} }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
.wide { overflow-x: auto } table { border-collapse: collapse; margin: .5rem 0 }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
small, .soft { color: var(--soft) } td small { display: block } .paper { color: var(--paper) }
.holds { color: var(--good) } .contradicted, .failed { color: var(--bad) }
td svg { display: block }
p, li, h1, h2, code, pre { overflow-wrap: anywhere } details { margin: .5rem 0 }
pre { white-space: pre-wrap }
"""
CHARTS = resources.files("loquent.bench") / "curves.css"
WIDTH, HEIGHT = 110, 14
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(results: Results) -> str:
    """The whole file."""
    suite = results.suite
    title = safe(f"{suite.title} · {suite.name} v{suite.version}, {results.profile}")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            'content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><link rel="icon" '
            f'href="data:,"><title>{title}</title>',
            f"<style>{STYLE}{CHARTS if results.suite.figures else ''}</style></head><body>",
            f"<h1>{safe(suite.title)}</h1>",
            f"<p>Suite <code>{safe(suite.name)}</code> version {suite.version}, profile "
            f"<code>{safe(results.profile)}</code>, {results.seeds} seeds; Loquent "
            f"{safe(__version__)}. {safe(results.about)}</p>",
            f"<p>{safe(pages.start_caution(results))}</p>",
            '<p class="soft">Mean and 95 % interval over seeds (Student\'s t), where the numbers differ; '
            "a bar is the interval, its dot the mean, on one scale a column. "
            + safe(pages.one_run(results))
            + ' <span class="paper">Published figures</span>, where a row repeats one: mean ± '
            "standard deviation.</p>",
            *(f'<p class="failed">{safe(note)}</p>' for note in results.notes),
            *(
                line
                for table in pages.tables(results)
                for line in _table(results, table.title, [results.rows[name] for name in table.cells])
            ),
            *_figures(results),
            *_sets(results),
            *_verdicts(results),
            *_failures(results),
            "</body></html>",
            "",
        ]
    )


def _table(results: Results, title: str, rows: list[Row]) -> Iterator[str]:
    names = pages.columns(results, rows)
    scales = {name: _scale([row.intervals[name] for row in rows if name in row.intervals]) for name in names}
    yield f'<h2>{safe(title)}</h2><div class="wide"><table><thead><tr><th></th>'
    yield (
        "".join(f"<th>{safe(head)}</th>" for head in pages.heads(results, names))
        + "<th>n</th></tr></thead><tbody>"
    )
    for row in rows:
        cells = "".join(_cell(row, name, scales[name]) for name in names)
        mark = ' class="failed"' if row.failures else ""
        yield (
            "<tr><td "
            f'title="{safe(row.task)}">{safe(row.label)}</td>{cells}'
            f"<td{mark}>{safe(pages.state(row, results.seeds))}</td></tr>"
        )
    yield "</tbody></table></div>"
    tasks = sorted({row.task for row in rows if row.task})
    yield f'<p class="soft">Task {safe("; ".join(tasks) or "none")}.</p>'
    yield from (
        f'<p class="soft">Published: {safe(place)}: “{safe(quote)}”</p>'
        for place, quote in pages.quotes(rows)
    )


def _cell(row: Row, name: str, scale: tuple[float, float]) -> str:
    found, paper = row.intervals.get(name), row.paper.get(name)
    theirs = f'<small class="paper" title="{safe(row.source)}">{safe(paper.text)}</small>' if paper else ""
    return f"<td>{safe(pages.cell(row, name))}{_bar(found, scale) if found else ''}{theirs}</td>"


def _scale(found: list[Interval]) -> tuple[float, float]:
    ends = [end for one in found for end in (one.mean, one.low, one.high) if end is not None]
    return (min(ends), max(ends)) if ends else (0.0, 1.0)


def _bar(found: Interval, scale: tuple[float, float]) -> str:
    low, high = scale
    ends = (
        found.mean,
        found.mean if found.low is None else found.low,
        found.mean if found.high is None else found.high,
    )
    dot, left, right = (4 + (WIDTH - 8) * ((end - low) / (high - low) if high > low else 0.5) for end in ends)
    middle = HEIGHT / 2
    line = (
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{middle}" y2="{middle}" stroke="var(--mark)" '
        'stroke-width="2"/>'
    )
    circle = f'<circle cx="{dot:.1f}" cy="{middle}" r="3.5" fill="var(--mark)"/>'
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="interval">{line}{circle}</svg>'


def _figures(results: Results) -> Iterator[str]:
    drawn, numbers = [one for one in results.suite.figures if results.curves.get(one.title)], Numbers()
    if not drawn:
        return
    yield (
        '<h2>Learning curves</h2><p class="soft">Means over seeds; a band is one standard deviation to '
        'each side.</p><div class="charts">'
    )
    for one in drawn:
        found = results.curves[one.title]
        lines = [Curve(results.rows[name].label, i, found.get(name, ())) for i, name in enumerate(one.cells)]
        chart = curves(numbers, one.title, one.unit, lines)
        yield (
            f"<figure><h3>{safe(one.title)}</h3>{legend(lines)}{chart}"
            f"<figcaption><code>{safe(one.key)}</code></figcaption></figure>"
        )
    yield "</div>"


def _sets(results: Results) -> Iterator[str]:
    if not results.sets:
        return
    yield '<h2>Recorded episodes</h2><div class="wide"><table><thead><tr>'
    yield "".join(f"<th>{safe(head)}</th>" for head in pages.set_heads(results)) + "</tr></thead><tbody>"
    yield from (
        "<tr>" + "".join(f"<td>{safe(text)}</td>" for text in row) + "</tr>"
        for row in pages.set_rows(results)
    )
    yield "</tbody></table></div>"


def _verdicts(results: Results) -> Iterator[str]:
    if not results.verdicts:
        return
    yield f'<h2>What holds here</h2><p class="soft">{safe(pages.number_caution(results))}</p><ul>'
    for verdict in results.verdicts:
        ordering = verdict.ordering
        kind = verdict.verdict if verdict.verdict in (HOLDS, CONTRADICTED) else "soft"
        said = (
            f' <span class="soft">“{safe(ordering.quote)}” ({safe(ordering.place)})</span>'
            if ordering.quote
            else ""
        )
        steps = "".join(f"<li>{safe(pages.step_text(step))}</li>" for step in verdict.shown)
        yield (
            f'<li><strong class="{kind}">{safe(verdict.verdict)}</strong>: {safe(ordering.claim)} '
            f"({safe(ordering.column)}).{said}"
        )
        yield f"<details><summary>step by step</summary><ul>{steps}</ul></details></li>"
    yield "</ul>"


def _failures(results: Results) -> Iterator[str]:
    if results.failures:
        yield "<h2>What failed</h2><ul>"
        yield from (
            f'<li class="failed"><code>{safe(folder)}</code><pre>{safe(why)}</pre></li>'
            for folder, why in results.failures.items()
        )
        yield "</ul>"
