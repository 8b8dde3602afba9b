"""A suite's results as Markdown, and the texts that the HTML page shares with it.

Every number has its interval, n, direction and task beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loquent.bench import suite_schema
from loquent.bench.evidence import visible
from loquent.bench.evidence.across import Across
from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.stopping import HEADS
from loquent.bench.evidence.tallies import OnTask
from loquent.bench.evidence.texts import (
    BOTH,
    METHOD,
    ROWS,
    VARIES,
    decision_text,
    difference_text,
    effect_text,
    further_text,
    interval_text,
    p_text,
    size_text,
    sizes,
    step_text,
)
from loquent.bench.results import Results
from loquent.files import final_evaluation
from loquent.machine.version import __version__
from loquent.statistics import two_way
from loquent.statistics.intervals import LEVEL
from loquent.statistics.tables import ARROWS, Table, number

STOPPED = "Where training stopped"


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
    return interval_text(interval) + n


def state(row: Row, seeds: int) -> str:
    """The number of runs of a row, such as "2 of 3, failed" if one of three runs failed."""
    if row.n == seeds and not row.failures:
        return f"{row.n}"
    return f"{row.n} of {seeds}" + (", failed" if row.failures else "")


def start_caution(results: Results) -> str:
    """A caution that all seeds start from the same stages; empty if no shown cell starts from a stage."""
    stages = " and one ".join(results.suite.stages_in_use(results.profile))
    if not stages:
        return ""
    return f"All seeds start from one {stages}: the intervals leave out what another start would change."


WRONG_MORE_OFTEN = 4, 19
"""The least and the largest per cent of tables with a decided claim where the rule does not keep 5."""


def number_caution(results: Results) -> str:
    """What the verdicts' errors are: the correction for the number of tests, and claims with one seed."""
    texts = []
    if results.verdicts:
        least, largest = WRONG_MORE_OFTEN
        counts = ", ".join(f"{tests} of {table}" for table, tests in results.tested.items())
        texts.append(
            f"Holm's method corrects the tests of one table together ({counts}): if no two cells of a table "
            f"differed, at most {1 - LEVEL:.0%} of such tables would have a decided claim. The exception: "
            f"{least} to {largest}% of them, if in every pair both cells are skewed and one varies "
            "four times as much as the other (docs/evidence.md). Uncorrected verdicts are about one "
            "comparison alone."
        )
        if results.suite.whole:
            texts.append("The claims of the suite that --only leaves out are counted.")
    if results.single:
        texts.append(
            f"{results.single} claims have one seed: they are tested over the rows that were played, and "
            "decided about these rows, never about methods. A rare outcome that none of the rows shows is in "
            "no test."
        )
    return " ".join(texts)


VISIBLE = "smallest visible difference"


def both_note(results: Results) -> str:
    """What the intervals over seeds and rows are, or why there is none."""
    if any(row.both for row in results.rows.values()):
        return f"Intervals of all seeds and all rows stand in the columns {BOTH!r}, for means over episodes."
    if results.seeds < two_way.SEEDS:
        beside = any(row.over_rows for row in results.rows.values())
        return (
            f"Fewer than {two_way.SEEDS} seeds have no interval {BOTH}, because none holds the mean as often "
            "as it says."
            + f" Intervals of all rows for the mean of these runs stand in the columns {ROWS!r}."
            * beside
        )
    return (
        f"No column has an interval {BOTH}, which takes a mean over episodes that the runs keep, rows that "
        "were played about equally often, and numbers that vary."
    )


def further_columns(names: list[str], rows: list[Row]) -> list[tuple[str, str]]:
    """The columns of a table that have an interval over rows too, and what varies in it."""
    both = [(name, BOTH) for name in names if any(name in row.both for row in rows)]
    return both + [(name, ROWS) for name in names if any(name in row.over_rows for row in rows)]


def visible_differences(results: Results, title: str, rows: list[Row]) -> dict[str, visible.Visible]:
    """The smallest visible difference of each column of a table."""
    tests = results.tested.get(title, 1)
    found = {name: visible.smallest(rows, name, tests) for name in columns(results, rows)}
    return {name: item for name, item in found.items() if item is not None}


def visible_text(item: visible.Visible | None) -> str:
    """A smallest visible difference as text; with one seed it is one on the rows that were played."""
    if item is None:
        return "–"
    rows = " (paired rows)" if item.paired else " (unpaired rows)"
    return number(item.difference) + rows * (item.n == 1)


def decoding_note(rows: Iterable[Row]) -> str:
    """The decoding of evaluation of the rows of a table, in a sentence; it says so where they differ."""
    return final_evaluation.decoding_note((row.label, row.decoding) for row in rows if row.n)


def visible_note(results: Results, title: str) -> str:
    """What the last line of a table is."""
    tests = results.tested.get(title, 1)
    tested = f"{tests} tests are corrected together" if tests > 1 else "one test is made"
    return (
        f"The last line is the true difference of two cells that is decided with 80% power where {tested}; "
        "smaller differences are mostly missed."
    )


def markdown(results: Results) -> str:
    """The page: tables, published figures, sets of episodes, verdicts and failures."""
    parts = [f"# {results.suite.title}", "", *_preamble(results)]
    for table in tables(results):
        rows = [results.rows[name] for name in table.cells]
        parts += ["", f"## {table.title}", "", _ours(results, table.title, rows)]
        parts += ["", visible_note(results, table.title), *filter(None, ["", decoding_note(rows)])]
        if any(row.paper for row in rows):
            parts += [
                "",
                f"Published ({results.suite.paper}; mean ± standard deviation):",
                "",
                _theirs(results, rows),
                "",
            ]
            parts += [f'{place}: "{quote}"' for place, quote in quotes(rows)]
    if results.across is not None:
        about, shown = across_tables(results.across)
        parts += ["", "## Over the tasks", "", about]
        parts += [line for table in shown for line in ("", table.markdown())]
        parts += ["", decoding_note(results.rows.values())]
    if results.tallied:
        parts += ["", "## Claims over the tasks", "", tally_note(results), "", *_tallies(results)]
    if results.sets:
        parts += [
            "",
            "## Recorded episodes",
            "",
            set_table(results).markdown(),
        ]
    if results.stopped:
        body = [stopped.cells(folder) for folder, stopped in results.stopped.items()]
        parts += ["", f"## {STOPPED}", "", Table(HEADS, body).markdown()]
    if results.verdicts:
        parts += ["", f"## {claims_title(results)}", "", number_caution(results), "", *_verdicts(results)]
    if results.failures:
        failures = (f"- `{folder}`: {one_line(failure)}" for folder, failure in results.failures.items())
        parts += ["", "## Failed runs", "", *failures]
    return "\n".join(parts) + "\n"


def claims_title(results: Results) -> str:
    """The heading of the claims: those of a paper if the suite names one or a place in one, or its own."""
    cited = results.suite.paper or any(verdict.ordering.place for verdict in results.verdicts)
    return "Claims of the paper" if cited else "Claims of the suite"


def tally_note(results: Results) -> str:
    """What a win is, which counts are corrected, and what counts of one seed are about."""
    text = (
        "A win is a difference of more than two standard errors, each task by itself, so that chance alone "
        "makes some wins and losses. The number after Holm's correction for all comparisons of a claim is "
        "above 0 for at most 5% of claims about methods that are equal on all tasks."
    )
    if any(found.single for found in results.tallied):
        text += (
            " With one seed all of it is over the test rows and about these runs: it decides nothing about "
            "the methods."
        )
    return text


def _tallies(results: Results) -> Iterator[str]:
    for found in results.tallied:
        quote = f' The paper: "{found.tally.quote}" ({found.tally.place}).' if found.tally.quote else ""
        yield f"- {found.tally.claim} (`{found.tally.column}`): **{found.text}**.{quote}"
        yield from (f"    - {tally_text(task)}" for task in found.tasks)


def tally_text(found: OnTask) -> str:
    """The comparison on one task as text, with the paper's figures."""
    paper = f"; paper: {found.paper[0]} → {found.paper[1]}" if found.paper else ""
    difference = found.step.difference
    p = None if difference is None else difference.p
    test = (
        ""
        if p is None or found.corrected is None
        else f" (p = {p_text(p)}, corrected {p_text(found.corrected)})"
    )
    return f"{found.task}: {found.outcome}; {difference_text(found.step)}{test}{paper}"


def error_note(results: Results) -> str:
    """A sentence on the number behind ±; empty if no number of one run has an error."""
    has_error = any(
        row.error(column) is not None for row in results.rows.values() for column in results.suite.columns
    )
    return " The number behind ± is the standard error over the rows of one run." if has_error else ""


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
        f"{results.seeds} seed{'s' * (results.seeds != 1)}; Loquent {__version__}.",
        f"Task: {'; '.join(tasks) or 'none'}; each run is evaluated by "
        f"{' or '.join(size_text(*size) for size in played) or '0 episodes'}.",
        f"{METHOD}{error_note(results)}",
        f"{VARIES} {both_note(results)}",
    ]
    lines += filter(None, (start_caution(results), results.about))
    return [*lines, *(f"Note: {note}." for note in results.notes)]


def _ours(results: Results, title: str, rows: list[Row]) -> str:
    names = columns(results, rows)
    further = further_columns(names, rows)
    body = [
        [
            row.label,
            *(cell(row, name) for name in names),
            *(further_text(row, *column) for column in further),
            state(row, results.seeds),
            *sizes(row),
        ]
        for row in rows
    ]
    seen = visible_differences(results, title, rows)
    body.append(
        [VISIBLE, *(visible_text(seen.get(name)) for name in names), *[""] * len(further), "", "", ""]
    )
    head = ["", *heads(results, names), *further_heads(further), "n", "episodes", "rows"]
    return Table(head, body).markdown()


def further_heads(further: list[tuple[str, str]]) -> list[str]:
    """The heads of the columns of `further_columns`."""
    return [f"{name.replace('_', ' ')} {varies}" for name, varies in further]


def across_tables(found: Across) -> tuple[str, list[Table]]:
    """What is compared over tasks, and the tables of means and of probabilities."""
    scores = ", ".join(f"{column} ({title})" for title, column in found.columns.items())
    about = (
        f"Over the tasks: {scores}. The interquartile mean is that of the middle half of all runs. The "
        "probability of improvement is that of a run of one method against a run of another on a task drawn "
        "at random (arXiv:2108.13264). Neither has an interval: with so few runs none holds the true value "
        "as often as it says."
    )
    means = [[name, value, found.runs[name]] for name, value in found.means.items()]
    chances = [[f"{a} better than {b}", value] for (a, b), value in found.improvements.items()]
    shown = [
        Table(["", "interquartile mean ↑", "runs"], means),
        Table(["", "probability of improvement"], chances),
    ]
    return about, [table for table in shown if table.rows]


def _theirs(results: Results, rows: list[Row]) -> str:
    names = [name for name in results.suite.columns if any(name in row.paper for row in rows)]
    body = [
        [
            row.label,
            *(row.paper[name].text if name in row.paper else "–" for name in names),
            str(row.paper_seeds),
            row.source.rpartition("; ")[2],
        ]
        for row in rows
        if row.paper
    ]
    return Table(["", *(name.replace("_", " ") for name in names), "n", "where"], body).markdown()


def quotes(rows: list[Row]) -> list[tuple[str, str]]:
    """The place and the quote of each published table that rows refer to, each once."""
    return list(dict.fromkeys((row.paper_place, row.paper_quote) for row in rows if row.paper))


def _verdicts(results: Results) -> Iterator[str]:
    for verdict in results.verdicts:
        ordering = verdict.ordering
        quote = f' The paper: "{ordering.quote}" ({ordering.place}).' if ordering.quote else ""
        yield (
            f"- {ordering.claim} (`{ordering.column}`): {effect_text(verdict)}; "
            f"**{decision_text(verdict)}**.{quote}"
        )
        yield from (f"    - {step_text(step)}" for step in verdict.comparisons)


def one_line(text: str) -> str:
    """A text on one line, with single spaces."""
    return " ".join(text.split())
