"""A suite's results as one HTML file without external resources; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

from loquent.bench import pages
from loquent.bench.evidence import texts
from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.stopping import HEADS
from loquent.bench.evidence.tallies import means
from loquent.bench.evidence.verdicts import CONTRADICTED, HOLDS
from loquent.bench.results import Results
from loquent.machine.version import __version__
from loquent.report.ceiling import limits
from loquent.report.charts import ChartIds, Curve, Dot, curves, dots, legend, safe
from loquent.statistics.intervals import Interval
from loquent.statistics.tables import Table

STYLE = """
:root { color-scheme: light dark; --line: #d0d0d0; --soft: #6b6b6b;
  --mark: #1f6feb; --paper: #9a5610; --good: #1a7f37; --bad: #cf222e }
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
CHARTS = (resources.files("loquent.bench") / "curves.css").read_text(encoding="utf-8")
WIDTH, HEIGHT = 110, 14
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(results: Results) -> str:
    """The text of the file."""
    suite, ids = results.suite, ChartIds()
    title = safe(f"{suite.title} · {suite.name} v{suite.version}, {results.profile}")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            'content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><link rel="icon" '
            f'href="data:,"><title>{title}</title>',
            f"<style>{STYLE}{CHARTS if suite.figures or suite.summaries else ''}</style></head><body>",
            f"<h1>{safe(suite.title)}</h1>",
            f"<p>Suite <code>{safe(suite.name)}</code> version {suite.version}, profile "
            f"<code>{safe(results.profile)}</code>, {results.seeds} seeds; Loquent "
            f"{safe(__version__)}. {safe(results.about)}</p>",
            f"<p>{safe(pages.start_caution(results))}</p>",
            f'<p class="soft">{safe(texts.METHOD)} '
            f"{safe(texts.VARIES)} {safe(pages.both_note(results))} The bar is the interval over seeds and "
            "the dot the mean; each column has one scale. "
            + safe(pages.error_note(results))
            + ' <span class="paper">Published figures</span> stand in the rows that repeat them: mean ± '
            "standard deviation.</p>",
            *(f'<p class="failed">{safe(note)}</p>' for note in results.notes),
            *(
                line
                for table in pages.tables(results)
                for line in _table(results, table.title, [results.rows[name] for name in table.cells])
            ),
            *_across(results),
            *_summaries(results, ids),
            *_tallies(results),
            *_figures(results, ids),
            *_sets(results),
            *_stopped(results),
            *_verdicts(results),
            *_failures(results),
            "</body></html>",
            "",
        ]
    )


def _table(results: Results, title: str, rows: list[Row]) -> Iterator[str]:
    names = pages.columns(results, rows)
    scales = {name: _scale([row.intervals[name] for row in rows if name in row.intervals]) for name in names}
    further = pages.further_columns(names, rows)
    yield f'<h2>{safe(title)}</h2><div class="wide"><table><thead><tr><th></th>'
    yield (
        "".join(f"<th>{safe(head)}</th>" for head in pages.heads(results, names))
        + "".join(f"<th>{safe(head)}</th>" for head in pages.further_heads(further))
        + "<th>n</th><th>episodes</th><th>rows</th></tr></thead><tbody>"
    )
    for row in rows:
        cells = "".join(_cell(row, name, scales[name]) for name in names)
        cells += "".join(f"<td>{safe(texts.further_text(row, *column))}</td>" for column in further)
        mark = ' class="failed"' if row.failures else ""
        yield (
            "<tr><td "
            f'title="{safe(row.task)}">{safe(row.label)}</td>{cells}'
            f"<td{mark}>{safe(pages.state(row, results.seeds))}</td>"
            + "".join(f"<td>{safe(size)}</td>" for size in texts.sizes(row))
            + "</tr>"
        )
    seen = pages.visible_differences(results, title, rows)
    cells = "".join(f"<td>{safe(pages.visible_text(seen.get(name)))}</td>" for name in names)
    yield f'<tr class="soft"><td>{pages.VISIBLE}</td>{cells}'
    yield "<td></td>" * (len(further) + 3) + "</tr></tbody></table></div>"
    yield f'<p class="soft">{safe(pages.visible_note(results, title))}</p>'
    yield f'<p class="soft">{safe(pages.decoding_note(rows))}</p>'
    tasks = sorted({row.task for row in rows if row.task})
    yield f'<p class="soft">Task {safe("; ".join(tasks) or "none")}.</p>'
    yield from (
        f'<p class="soft">Published: {safe(place)}: “{safe(quote)}”</p>'
        for place, quote in pages.quotes(rows)
    )


def _cell(row: Row, name: str, scale: tuple[float, float]) -> str:
    interval, paper = row.intervals.get(name), row.paper.get(name)
    title = safe(row.source)
    published = f'<small class="paper" title="{title}">{safe(paper.text)}</small>' if paper else ""
    return f"<td>{safe(pages.cell(row, name))}{_bar(interval, scale) if interval else ''}{published}</td>"


def _scale(intervals: list[Interval]) -> tuple[float, float]:
    """The smallest and the largest number of a column."""
    ends = [
        end
        for interval in intervals
        for end in (interval.mean, interval.low, interval.high)
        if end is not None
    ]
    return (min(ends), max(ends)) if ends else (0.0, 1.0)


def _bar(interval: Interval, scale: tuple[float, float]) -> str:
    """An SVG image of an interval: a line with a dot at the mean."""
    low, high = scale
    ends = (
        interval.mean,
        interval.mean if interval.low is None else interval.low,
        interval.mean if interval.high is None else interval.high,
    )
    dot, left, right = (4 + (WIDTH - 8) * ((end - low) / (high - low) if high > low else 0.5) for end in ends)
    middle = HEIGHT / 2
    line = (
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{middle}" y2="{middle}" stroke="var(--mark)" '
        'stroke-width="2"/>'
    )
    circle = f'<circle cx="{dot:.1f}" cy="{middle}" r="3.5" fill="var(--mark)"/>'
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="interval">{line}{circle}</svg>'


def _across(results: Results) -> Iterator[str]:
    if results.across is None:
        return
    about, shown = pages.across_tables(results.across)
    yield f'<h2>Over the tasks</h2><p class="soft">{safe(about)}</p>'
    yield from (table.__html__() for table in shown)
    yield f'<p class="soft">{safe(pages.decoding_note(results.rows.values()))}</p>'


def _summaries(results: Results, ids: ChartIds) -> Iterator[str]:
    found = {item.title: means(results.suite, item, results.rows) for item in results.suite.summaries}
    if not any(found.values()):
        return
    yield '<h2>Methods over the tasks</h2><p class="soft">Means over the tasks; a bar is one standard '
    yield 'error over the test rows to each side.</p><div class="charts">'
    for item in results.suite.summaries:
        means_of = found[item.title]
        ends = limits(results.suite.columns[item.column].metric, [mean.value for mean in means_of])
        values = [
            Dot(mean.method, i, mean.value, mean.error, mean.n, limits=ends)
            for i, mean in enumerate(means_of)
        ]
        if values:
            chart = dots(ids, item.title, item.unit, values)
            yield f"<figure><h3>{safe(item.title)}</h3>{chart}</figure>"
    yield f'</div><p class="soft">{safe(pages.decoding_note(results.rows.values()))}</p>'


def _tallies(results: Results) -> Iterator[str]:
    if not results.tallied:
        return
    yield f'<h2>Claims over the tasks</h2><p class="soft">{safe(pages.tally_note(results))}</p><ul>'
    for found in results.tallied:
        quote = f' <span class="soft">“{safe(found.tally.quote)}” ({safe(found.tally.place)})</span>'
        tasks = "".join(f"<li>{safe(pages.tally_text(task))}</li>" for task in found.tasks)
        yield f"<li>{safe(found.tally.claim)}: <strong>{safe(found.text)}</strong>."
        yield f"{quote if found.tally.quote else ''}<details><summary>task by task</summary>"
        yield f"<ul>{tasks}</ul></details></li>"
    yield "</ul>"


def _figures(results: Results, ids: ChartIds) -> Iterator[str]:
    drawings = [drawing for drawing in results.suite.figures if results.curves.get(drawing.title)]
    if not drawings:
        return
    yield (
        '<h2>Learning curves</h2><p class="soft">Means over seeds; a band is one standard deviation to '
        'each side.</p><div class="charts">'
    )
    for drawing in drawings:
        points = results.curves[drawing.title]
        lines = [
            Curve(results.rows[name].label, i, points.get(name, ())) for i, name in enumerate(drawing.cells)
        ]
        chart = curves(ids, drawing.title, drawing.unit, lines, ends=results.ends[drawing.title])
        yield (
            f"<figure><h3>{safe(drawing.title)}</h3>{legend(lines)}{chart}"
            f"<figcaption><code>{safe(drawing.key)}</code></figcaption></figure>"
        )
    yield "</div>"


def _sets(results: Results) -> Iterator[str]:
    if not results.sets:
        return
    yield "<h2>Recorded episodes</h2>" + pages.set_table(results).__html__()


def _stopped(results: Results) -> Iterator[str]:
    if not results.stopped:
        return
    body = [stopped.cells(folder) for folder, stopped in results.stopped.items()]
    yield f"<h2>{safe(pages.STOPPED)}</h2>" + Table(HEADS, body).__html__()


def _verdicts(results: Results) -> Iterator[str]:
    if not results.verdicts:
        return
    yield f"<h2>{pages.claims_title(results)}</h2>"
    yield f'<p class="soft">{safe(pages.number_caution(results))}</p><ul>'
    for verdict in results.verdicts:
        ordering = verdict.ordering
        kind = verdict.verdict if verdict.verdict in (HOLDS, CONTRADICTED) else "soft"
        quote = f' <span class="soft">“{safe(ordering.quote)}” ({safe(ordering.place)})</span>'
        steps = "".join(f"<li>{safe(texts.step_text(step))}</li>" for step in verdict.comparisons)
        yield (
            f"<li>{safe(ordering.claim)} ({safe(ordering.column)}): {safe(texts.effect_text(verdict))}; "
            f'<strong class="{kind}">{safe(texts.decision_text(verdict))}</strong>.'
            f"{quote if ordering.quote else ''}"
        )
        yield f"<details><summary>step by step</summary><ul>{steps}</ul></details></li>"
    yield "</ul>"


def _failures(results: Results) -> Iterator[str]:
    if results.failures:
        yield "<h2>Failed runs</h2><ul>"
        yield from (
            f'<li class="failed"><code>{safe(folder)}</code><pre>{safe(failure)}</pre></li>'
            for folder, failure in results.failures.items()
        )
        yield "</ul>"
