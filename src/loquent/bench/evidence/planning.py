"""How many seeds a wanted difference takes, by suite, column and table (`loquent bench SUITE --power`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.bench.evidence.texts import tests_text
from loquent.bench.evidence.verdicts import ACROSS, family
from loquent.bench.schema import suite_schema
from loquent.bench.schema.suite_schema import Suite
from loquent.core import schema
from loquent.errors import BadSetting, UnknownName
from loquent.statistics.power import MOST, Errors, of_seeds, runs_for
from loquent.statistics.tables import Table, number

SIZES = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)  # differences in standard deviations over seeds
FILE = "table.json"  # of the suite's folder, which holds the values of earlier runs


@dataclass(frozen=True)
class _Seen:
    """A column's smallest visible difference; earlier versions wrote no `errors`."""

    deviation: float
    n: int
    errors: Errors | None = None

    @property
    def spread(self) -> Errors:
        """The errors of a difference, with those over rows where they are known."""
        own = self.errors
        return own if own is not None and own.rows else of_seeds(self.deviation, 2)


@dataclass(frozen=True)
class _Table:
    title: str
    smallest_difference: Mapping[str, _Seen]


@dataclass(frozen=True)
class _Results:
    """The fields of a suite's `table.json` that are read."""

    suite: str
    tables: tuple[_Table, ...]


def plan(suite: Suite, folder: str | Path, wanted: Sequence[str] = ()) -> dict[str, Any]:
    """The seeds that differences take in each table of a suite.

    Args:
        folder: the suite's folder; its earlier runs, if there are any, show the deviations over seeds.
        wanted: differences as COLUMN=DIFFERENCE.

    Returns:
        By table: the number of tests, `seeds` by difference in deviations where rows do not vary, the
        `deviations` by column, `with_rows` the seeds by column and difference where runs show how rows vary,
        and the `wanted` differences with their seeds (None: more than `power.MOST`).

    Raises:
        BadSetting: a wanted difference is not of this form, no run shows its deviation, or the folder's
            table is no table of this suite.
        UnknownName: there is no such column.
    """
    differences = dict(_wanted(suite, text) for text in wanted)
    earlier = _earlier(Path(folder), suite)
    found: dict[str, dict[str, Any]] = {}
    for table, tests in _tables(suite):
        seen = {name: own for name, own in earlier.get(table.title, {}).items() if own.n > 1}
        found[table.title] = {
            "tests": tests,
            "seeds": {str(size): runs_for(size, of_seeds(1.0, 2), tests) for size in SIZES},
            "deviations": {name: own.deviation for name, own in seen.items()},
            "with_rows": {
                name: {str(size): runs_for(size * own.deviation, own.spread, tests) for size in SIZES}
                for name, own in seen.items()
                if own.spread.rows
            },
            "wanted": {
                name: {
                    "difference": size,
                    "seeds": runs_for(size, seen[name].spread, tests),
                    "rows": seen[name].spread.played,
                }
                for name, size in differences.items()
                if name in seen
            },
        }
    for name in differences:
        if not any(name in table["wanted"] for table in found.values()):
            raise BadSetting(
                f"--difference {name}: no two runs of a cell in {folder} show how much {name} varies over "
                "seeds; name a folder with runs of at least 2 seeds by --out, or read the table in deviations"
            )
    return found


def markdown(suite: Suite, plans: Mapping[str, Mapping[str, Any]]) -> str:
    """The plans of all tables as text."""
    lines = [
        f"# Seeds of each cell that {suite.name} takes",
        "",
        "Power 80%; a level of 5% over all tests of a table (Holm's first step). Differences are "
        "in standard deviations over the seeds of one cell; below them stands what they are in the columns "
        "whose deviations the runs show. The first line is about the rows that are played: no run shows "
        "there how methods differ from row to row, which takes more seeds, or more rows. Where runs with "
        "values by row show it, a line counts the seeds with it.",
    ]
    for title, table in plans.items():
        lines += ["", f"## {title}: {tests_text(table['tests'])}", ""]
        body = [["seeds", *(_seeds(count) for count in table["seeds"].values())]]
        for name, own in table["deviations"].items():
            body.append([name, *(number(size * own) for size in SIZES)])
            if name in table["with_rows"]:
                counts = table["with_rows"][name].values()
                body.append([f"seeds for {name}, rows vary", *map(_seeds, counts)])
        head = ["difference in deviations", *(f"{size:g}" for size in SIZES)]
        lines.append(Table(head, body).markdown())
        lines += [
            f"\n{name}: a difference of {item['difference']:g} takes {_seeds(item['seeds'])} seeds of each "
            f"cell{_rows(item)}."
            for name, item in table["wanted"].items()
        ]
    return "\n".join(lines) + "\n"


def _seeds(count: int | None) -> str:
    return f"over {MOST}" if count is None else str(count)


def _rows(item: Mapping[str, Any]) -> str:
    """What is known about rows, at the end of a sentence."""
    if not item["rows"]:
        return ", on these rows"
    return f" on {item['rows']} rows" + "; if seeds do not suffice, take more rows" * (item["seeds"] is None)


def _tables(suite: Suite) -> list[tuple[suite_schema.Table, int]]:
    """The tables of a suite, each with the number of its tests, at least 1."""
    families = [family(suite, ordering) for ordering in suite.orderings]
    tables = list(suite.tables or (suite_schema.Table(title=suite.title, cells=tuple(suite.cells)),))
    if ACROSS in families:
        tables.append(suite_schema.Table(title=ACROSS, cells=tuple(suite.cells)))
    return [(table, max(1, families.count(table.title))) for table in tables]


def _wanted(suite: Suite, text: str) -> tuple[str, float]:
    name, equals, size = text.partition("=")
    try:
        difference = float(size)
    except ValueError:
        difference = math.nan
    if not equals or not difference > 0 or math.isinf(difference):
        raise BadSetting(f"--difference {text!r} must be COLUMN=NUMBER with a number above 0")
    if name not in suite.columns:
        raise UnknownName(f"column of {suite.name}", name, suite.columns)
    return name, difference


def _earlier(folder: Path, suite: Suite) -> dict[str, Mapping[str, _Seen]]:
    """What earlier runs show, by table and column; empty if there are none.

    Raises:
        BadSetting: the file is no table of this suite.
    """
    file = folder / FILE
    advice = "run the suite again, or name another folder"
    if not file.is_file():
        return {}
    found = schema.load(_Results, file, advice, error=BadSetting, extra=True)
    if found.suite != suite.name:
        raise BadSetting(f"{file} is a table of suite {found.suite!r:.80}, not of {suite.name}; {advice}")
    return {table.title: table.smallest_difference for table in found.tables}
