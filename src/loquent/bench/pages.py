"""A suite's results as Markdown and as an HTML page, from the same blocks.

Every number has its interval, n, direction and task beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from loquent.bench import notes
from loquent.bench.evidence import care, texts, visible
from loquent.bench.evidence.across import Across
from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.stopping import HEADS
from loquent.bench.evidence.tallies import OnTask, means
from loquent.bench.evidence.verdicts import BOTH, CONTRADICTED, HOLDS
from loquent.bench.results import Results
from loquent.bench.schema import suite_schema
from loquent.bench.schema.suite_schema import Ordering, Tally
from loquent.core.metric import EVERYTHING
from loquent.files.machine.version import __version__
from loquent.report import kit
from loquent.report.charts import Curve, Dot, dots, small
from loquent.report.interactive import Chart, Charts
from loquent.report.kit import Block, Figure, Figures, Fold, Heading, Item, Items, OnPage, Text
from loquent.statistics.intervals import Interval
from loquent.statistics.tables import ARROWS, Cell, Table, number


def tables(results: Results) -> tuple[suite_schema.Table, ...]:
    """The suite's tables; one table with all cells if the suite names none."""
    return results.suite.tables or (suite_schema.Table(title=results.suite.title, cells=tuple(results.rows)),)


def columns(results: Results, rows: list[Row]) -> list[str]:
    """The columns in which a row of the table has a number; all columns if no row has a number."""
    names = list(results.suite.columns)
    filled = [name for name in names if any(name in row.intervals or name in row.paper for row in rows)]
    return filled or names


def heads(results: Results, names: list[str]) -> list[str]:
    """The names of the columns with their directions."""
    return [name.replace("_", " ") + ARROWS[results.suite.columns[name].higher] for name in names]


def cell(row: Row, column: str) -> str:
    """A row's number in a column, as text.

    A number of one run has its standard error over rows. A number that only some of the row's runs have
    has its own n.
    """
    interval, error = row.intervals.get(column), row.error(column)
    if interval is not None and error is not None:
        return f"{number(interval.mean)} ± {number(error)}"
    n = f" (n = {interval.n})" if interval is not None and interval.n != row.n else ""
    return texts.interval_text(interval) + n


def state(row: Row, seeds: int) -> str:
    """The number of runs of a row, such as "2 of 3, failed" if one of three runs failed."""
    seeds = len(row.folders) or seeds  # of this row, which the profile may give fewer
    if row.n == seeds and not row.failures:
        return f"{row.n}"
    return f"{row.n} of {seeds}" + (", failed" if row.failures else "")


VISIBLE = "smallest visible difference"


def both_columns(names: list[str], rows: list[Row]) -> list[str]:
    """The columns of a table that have an interval over seeds and rows too."""
    return [name for name in names if any(name in row.both for row in rows)]


def visible_differences(results: Results, title: str, rows: list[Row]) -> dict[str, visible.Visible]:
    """The smallest visible difference of each column of a table."""
    tests = results.family_sizes.get(title, 1)
    found = {name: visible.smallest(rows, name, tests) for name in columns(results, rows)}
    return {name: item for name, item in found.items() if item is not None}


def visible_text(item: visible.Visible | None) -> str:
    """A smallest visible difference as text; with one seed it is one on the rows that were played."""
    if item is None:
        return "–"
    if item.n == 1:
        about = " (paired rows)" if item.paired else " (unpaired rows)"
    else:
        about = "" if item.errors.rows else " (on these rows)"
    return number(item.difference) + about


BARS = (
    "A bar is the interval over seeds and its dot the mean; each column has one scale. Published figures "
    "stand below the numbers that repeat them: mean ± standard deviation."
)


def markdown(results: Results) -> str:
    """The page as Markdown."""
    return kit.markdown(results.suite.title, blocks(results, Charts()))


def html(results: Results) -> str:
    """The page as one HTML file without external resources."""
    suite, charts = results.suite, Charts()
    found = blocks(results, charts)
    title = f"{suite.title} · {suite.name} v{suite.version}, {results.profile}"
    return kit.page(title, found, data=charts.data())


def blocks(results: Results, charts: Charts) -> list[Block]:
    """The page: tables, published figures, charts, sets of episodes, verdicts and failures."""
    parts = [Text("\n".join(_preamble(results)), "lines"), OnPage([Text(BARS)])]
    for table in tables(results):
        parts += _table(results, table.title, [results.rows[name] for name in table.cells])
    mixed = Text(notes.decoding_note(results.rows.values()), "soft")
    if results.across is not None:
        about, shown = across_tables(results.across)
        parts += [Heading("Over the tasks"), Text(about), *shown, mixed]
    if summaries := _summaries(results, charts):
        parts.append(OnPage([*summaries, mixed]))
    if results.claim_tallies:
        parts += [Heading("Claims over the tasks"), Text(notes.tally_note(results)), _tallies(results)]
    parts.append(OnPage(_curves(results, charts)))
    if results.sets:
        parts += [Heading("Recorded episodes"), set_table(results)]
    cared = {name: row.care for name, row in results.rows.items()}
    parts += [Heading("How settings were found"), Text(care.summary(cared)), care.table(cared)]
    if results.stopped:
        body = [stopped.cells(folder) for folder, stopped in results.stopped.items()]
        parts += [Heading("Where training stopped"), Table(HEADS, body)]
    if results.verdicts:
        parts += [
            Heading(notes.claims_title(results)),
            Text(notes.number_caution(results), "soft"),
            _verdicts(results),
        ]
    if results.failures:
        failures = [Item(f"`{folder}`: {text}", "failed") for folder, text in results.failures.items()]
        parts += [Heading("Failed runs"), Items(failures)]
    return parts


def _table(results: Results, title: str, rows: list[Row]) -> list[Block]:
    """A table of our numbers with what they are, and the published ones."""
    below = "\n".join(filter(None, (notes.visible_note(results, title), notes.decoding_note(rows))))
    tasks = sorted({row.task for row in rows if row.task})
    parts: list[Block] = [Heading(title), _ours(results, title, rows), Text(below, "soft lines")]
    parts.append(OnPage([Text(f"Task {'; '.join(tasks) or 'none'}.", "soft")]))
    if any(row.paper for row in rows):
        quoted = Text("\n".join(f'{place}: "{quote}"' for place, quote in quotes(rows)), "soft lines")
        about = f"Published ({results.suite.paper}; mean ± standard deviation):"
        parts.append(Fold(about, [_theirs(results, rows), quoted]))
    return parts


def _tallies(results: Results) -> Items:
    return Items(
        [
            Item(
                f"{found.tally.claim} (`{found.tally.column}`): **{found.text}**.{_quoted(found.tally)}",
                parts=[tally_text(task) for task in found.tasks],
                fold="task by task",
            )
            for found in results.claim_tallies
        ]
    )


def _quoted(claim: Tally | Ordering) -> str:
    return f' The paper: "{claim.quote}" ({claim.place}).' if claim.quote else ""


def tally_text(found: OnTask) -> str:
    """The comparison on one task as text, with the paper's figures."""
    paper = f"; paper: {found.paper[0]} → {found.paper[1]}" if found.paper else ""
    difference = found.step.difference
    p = None if difference is None else difference.p
    test = (
        ""
        if p is None or found.corrected is None
        else f" (p = {texts.p_text(p)}, corrected {texts.p_text(found.corrected)})"
    )
    return f"{found.task}: {found.outcome}; {texts.difference_text(found.step)}{test}{paper}"


def set_table(results: Results) -> Table:
    """One row for each set: episodes and rows, mean return with standard error, best tenth, exact values."""
    optima = sorted(
        {str(figures["optimum_of"]) for figures in results.sets.values() if figures["optimum_of"]}
    )
    head = [
        "",
        "made by",
        "episodes",
        "rows",
        "return ↑",
        "best tenth",
        "exact value of its player",
        *(f"exact value of {name}" for name in optima),
    ]
    rows = []
    for figures in results.sets.values():
        error = f" ± {number(figures['error'])}" if figures["error"] is not None else ""
        sizes = [figures["made_by"], figures["episodes"], figures.get("rows", "unknown")]
        returns = [number(figures["return"]) + error, figures["best"]]
        exact = [
            figures["exact"],
            *(figures["optimum"] if figures["optimum_of"] == name else None for name in optima),
        ]
        rows.append([figures["label"], *sizes, *returns, *exact])
    return Table(head, rows)


def _preamble(results: Results) -> list[str]:
    tasks = sorted({row.task for row in results.rows.values() if row.task})
    played = sorted({(row.episodes, row.rows) for row in results.rows.values() if row.episodes})
    lines = [
        f"Suite `{results.suite.name}` version {results.suite.version}, profile `{results.profile}`, "
        f"{_seeds(results)}; Loquent {__version__}.",
        f"Task: {'; '.join(tasks) or 'none'}; each run is evaluated by "
        f"{' or '.join(texts.size_text(*size) for size in played) or '0 episodes'}.",
        f"{texts.METHOD}{notes.error_note(results)}",
        f"{texts.VARIES} {notes.both_note(results)}",
    ]
    lines += filter(None, (notes.start_note(results), results.about))
    return [*lines, *(f"Note: {note}." for note in results.notes)]


def _seeds(results: Results) -> str:
    """The number of runs of the cells."""
    least = min((len(row.folders) for row in results.rows.values()), default=results.seeds)
    if least < results.seeds:
        return f"{least} to {results.seeds} seeds"
    return f"{results.seeds} seed{'s' * (results.seeds != 1)}"


def _ours(results: Results, title: str, rows: list[Row]) -> Table:
    names = columns(results, rows)
    both, tuned = both_columns(names, rows), any(row.tuning for row in rows)
    ends = {name: _ends([row.intervals[name] for row in rows if name in row.intervals]) for name in names}
    body: list[list[Cell | str]] = [
        [
            Cell(row.label, title=row.task),
            *(_cell(row, name, ends[name]) for name in names),
            *(texts.both_text(row, name) for name in both),
            Cell(state(row, results.seeds), "failed" if row.failures else ""),
            *texts.sizes(row),
            *([row.tuning or "none"] if tuned else []),
        ]
        for row in rows
    ]
    seen = visible_differences(results, title, rows)
    last = [VISIBLE, *(visible_text(seen.get(name)) for name in names), *[""] * (len(both) + 3 + tuned)]
    body.append([Cell(text, "soft") for text in last])
    sizes = ["n", "episodes", "rows", *["tuning"] * tuned]
    return Table(["", *heads(results, names), *both_heads(both), *sizes], body)


def _cell(row: Row, name: str, ends: tuple[float, float]) -> Cell:
    """A number with a picture of its interval and the published figure below it."""
    interval, paper = row.intervals.get(name), row.paper.get(name)
    below = [*([small(interval, *ends)] if interval else []), *([paper.text] if paper else [])]
    return Cell(cell(row, name), title=row.source if paper else "", below=below)


def _ends(intervals: Sequence[Interval]) -> tuple[float, float]:
    """The least and the greatest number of a column."""
    ends = [end for found in intervals for end in (found.mean, found.low, found.high) if end is not None]
    return (min(ends), max(ends)) if ends else (0.0, 1.0)


def both_heads(names: list[str]) -> list[str]:
    """The heads of the columns of `both_columns`."""
    return [f"{name.replace('_', ' ')} over {BOTH}" for name in names]


def across_tables(found: Across) -> tuple[str, list[Table]]:
    """What is compared over tasks, and the tables of means and of probabilities."""
    scores = ", ".join(f"{column} ({title})" for title, column in found.columns.items())
    about = (
        f"Over the tasks: {scores}. The interquartile mean is that of the middle half of all runs; there is "
        "none of scores outside 0 to 1, or where tasks have different numbers of runs. The probability of "
        "improvement is that of a run of one method against a run of another on a task drawn at random "
        "(arXiv:2108.13264). Neither has an interval: with so few runs none holds the true value as often as "
        "it says."
    )
    means = [[name, value, found.runs[name]] for name, value in found.means.items()]
    chances = [[f"{a} better than {b}", value] for (a, b), value in found.improvements.items()]
    shown = [
        Table(["", "interquartile mean ↑", "runs"], means),
        Table(["", "probability of improvement"], chances),
    ]
    return about, [table for table in shown if table.rows]


def _theirs(results: Results, rows: list[Row]) -> Table:
    names = [name for name in results.suite.columns if any(name in row.paper for row in rows)]
    body = [
        [
            row.label,
            *(row.paper[name].text if name in row.paper else "–" for name in names),
            "not stated" if row.paper_seeds is None else str(row.paper_seeds),
            row.source.rpartition("; ")[2],
        ]
        for row in rows
        if row.paper
    ]
    return Table(["", *(name.replace("_", " ") for name in names), "n", "where"], body)


def quotes(rows: list[Row]) -> list[tuple[str, str]]:
    """The place and the quote of each published table that rows refer to, each once."""
    return list(dict.fromkeys((row.paper_place, row.paper_quote) for row in rows if row.paper))


def _verdicts(results: Results) -> Items:
    return Items(
        [
            Item(
                f"{verdict.ordering.claim} (`{verdict.ordering.column}`): {texts.effect_text(verdict)}; "
                f"**{texts.decision_text(verdict)}**.{_quoted(verdict.ordering)}",
                verdict.verdict if verdict.verdict in (HOLDS, CONTRADICTED) else "",
                [texts.step_text(step) for step in verdict.comparisons],
                "step by step",
            )
            for verdict in results.verdicts
        ]
    )


def _summaries(results: Results, charts: Charts) -> list[Block]:
    """The means of methods over the tasks as charts; empty if there are none."""
    figures = []
    for item in results.suite.summaries:
        found = means(results.suite, item, results.rows)
        ends = [row.ends[item.column] for row in results.rows.values() if item.column in row.ends]
        within = min((low for low, _ in ends), default=-inf), max((high for _, high in ends), default=inf)
        values = [
            Dot(mean.method, i, mean.value, mean.error, mean.n, limits=within) for i, mean in enumerate(found)
        ]
        if values:
            figures.append(Figure(item.title, dots(charts.ids, item.title, item.unit, values)))
    about = "Means over the tasks; a bar is one standard error over the test rows to each side."
    return [Heading("Methods over the tasks"), Text(about, "soft"), Figures(figures)] if figures else []


def _curves(results: Results, charts: Charts) -> list[Block]:
    """The learning curves of the suite's figures; empty if there are none."""
    drawn = []
    for drawing in results.suite.figures:
        points = results.curves.get(drawing.title) or {}
        lines = [
            Curve(results.rows[name].label, i, points.get(name, ())) for i, name in enumerate(drawing.cells)
        ]
        ends = results.ends.get(drawing.title, EVERYTHING)
        drawn.append(Chart(drawing.title, drawing.unit, lines, drawing.key, ends=ends))
    figures = charts.figures(drawn)
    about = "Means over seeds; a band is one standard deviation to each side."
    return [Heading("Learning curves"), Text(about, "soft"), *figures] if figures else []


def one_line(text: str) -> str:
    """A text on one line, with single spaces."""
    return " ".join(text.split())
