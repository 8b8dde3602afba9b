"""Tables of pages, made from `docs/results` by the specifications in `docs/results/tables/PAGE.yaml`.

    NAME:
      source: learning.jsonl 1 learners     # file, line (or *: the list of all lines) and path
      columns:
        learner:                            # empty: the name of the row
        reward: "{reward:.3f} ± {deviation:.3f}"
        remark: text that stands in every row   # or `columns` is a list of titles that are the paths
      rows: {start:, PPO: ppo}              # name: path below `source`, if it is another; or a list of names

Without `rows` every record below `source` is a row. `form` is the template of all columns that are a path
without braces; the path takes the place of its `*`. A row may have a source of its own ("other.jsonl 2 ppo"),
a form, and cells of its own: `PPO: {at: ppo, remark: the text}`. `@` in a template stands for the row's path;
paths there begin at `source` ("{0.@.reward:.2f}", or "{[noise=normal, @].moved:.1f}" in a list of records).
`missing` is the text of a cell whose record lacks a path. `marks: {text: [row, ...]}` puts a text behind the
last cell of these rows. Some row must fill each part `(? ... ?)` of a column.
`paper` in place of `source` names a paper of `bench/papers`; its rows are
`TABLE/ROW`, with `n` and `row`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from loquent.bench.schema import paper_tables
from loquent.core import schema
from loquent.core.values import EMPTY
from loquent.errors import UnknownName
from tools.pages.records import RESULTS, SOURCE, Problem, names, node, walk
from tools.pages.templates import FIELD, OPTIONAL, fill

SPECIFICATIONS = RESULTS / "tables"
Row = str | None | Mapping[str, str | int | float | None]
Parts = dict[tuple[str, str], bool]  # whether a row fills the optional part of a column


@dataclass(frozen=True)
class Table:
    """The specification of a table; the module says what its fields are."""

    columns: tuple[str, ...] | Mapping[str, str | None]
    source: str = ""
    paper: str = ""
    rows: tuple[str, ...] | Mapping[str, Row] = ()
    form: str = ""
    missing: str | None = None
    marks: Mapping[str, tuple[str, ...]] = EMPTY


@cache
def specifications(page: str) -> Mapping[str, Table]:
    """The tables of a page (such as "learners") by name.

    Raises:
        Problem: the file is missing or does not fit the schema.
    """
    file = SPECIFICATIONS / f"{page}.yaml"
    try:
        tree = yaml.safe_load(file.read_text(encoding="utf-8"))
        _check_names(tree)
        return {name: schema.read(Table, spec, name) for name, spec in tree.items()}
    except FileNotFoundError:
        raise Problem(f"the page has tables, but there is no docs/results/tables/{page}.yaml") from None
    except (yaml.YAMLError, ValueError, AttributeError) as error:
        raise Problem(f"docs/results/tables/{page}.yaml: {error}") from None


def _check_names(tree: Any) -> None:
    """All names of mappings are texts; YAML reads 5 and true as others.

    Raises:
        ValueError: one is not.
    """
    if isinstance(tree, dict):
        for name, below in tree.items():
            if not isinstance(name, str):
                raise ValueError(f"the name {name!r} is no text; write it in quotation marks")
            _check_names(below)


def names_of(page: str) -> list[str]:
    """The names of the tables of a page, if its specifications can be read."""
    try:
        return list(specifications(page))
    except Problem:
        return []


def make(page: str, name: str) -> str:
    """A table in Markdown.

    Raises:
        Problem: there is no such table, or one of its figures cannot be found.
    """
    known = specifications(page)
    if name not in known:
        raise Problem(f"docs/results/tables/{page}.yaml has no table {name!r}; it has {', '.join(known)}")
    table = known[name]
    try:
        parts: Parts = {}
        rows = [_cells(table, title, row, parts) for title, row in _rows(table).items()]
        if not rows:
            raise Problem(f"{table.source} has no record, so the table has no row")
        _check_use(table, parts)
        for title, cells in zip(_columns(table), zip(*rows, strict=True), strict=True):
            if table.missing is not None and set(cells) == {table.missing} and _is_figure(table, title):
                raise Problem(f"column {title!r} has no figure")
    except Problem as problem:
        raise Problem(f"docs/results/tables/{page}.yaml, {name}: {problem}") from None
    bars = ["---:" if _is_figure(table, title) else "---" for title in _columns(table)]
    bars[0] = "---"
    lines = [_line(_columns(table)), f"|{'|'.join(bars)}|\n", *map(_line, rows)]
    return "".join(lines)


def _check_use(table: Table, parts: Parts) -> None:
    """Every optional part is filled in some row, and every mark is for a row.

    Raises:
        Problem: one is not.
    """
    for (title, part), is_filled in parts.items():
        if not is_filled:
            raise Problem(f"column {title!r}: no row fills '(?{part}?)'")
    for name in (name for marked in table.marks.values() for name in marked):
        if name not in _rows(table):
            raise Problem(f"a mark is for {name!r}, which is no row")


def _line(cells: Iterable[str]) -> str:
    return "|" + "".join(f" {cell.strip()} |".replace("  |", " |") for cell in cells) + "\n"


def _is_figure(table: Table, title: str) -> bool:
    own = [row[title] for row in _rows(table).values() if isinstance(row, Mapping) and title in row]
    return any(_has_figure(str(text)) for text in [_template(table, title), *own])


def _has_figure(template: str) -> bool:
    return any(field[1] != "name" for field in FIELD.finditer(template))


def _columns(table: Table) -> Mapping[str, str | None]:
    """The templates of the columns by title; in a list of titles each is its path, and the first the name."""
    if isinstance(table.columns, Mapping):
        return table.columns
    first, *others = table.columns
    return {first: None, **{title: title for title in others}}


def _rows(table: Table) -> Mapping[str, Row]:
    if isinstance(table.rows, Mapping):
        return table.rows
    return dict.fromkeys(table.rows or names(node(table.source)))


def _template(table: Table, title: str, own: Mapping[str, Any] = EMPTY) -> str:
    """The template of a cell: the row's own, the column's, or the path of the column in the form."""
    text = own[title] if title in own else _columns(table)[title]
    if text is None:
        return "{name}"
    path, form = str(text), str(own.get("form", table.form))
    if not form or "{" in path or title in own:
        return path
    return re.sub(r" \*\*? |\*", lambda star: star[0] if star[0].startswith(" ") else path, form)


def _cells(table: Table, name: str, row: Row, parts: Parts) -> list[str]:
    own = row if isinstance(row, Mapping) else {"at": name if row is None else row}
    if unknown := set(own) - {"at", "form", *_columns(table)}:
        raise Problem(f"row {name!r} has a cell for {sorted(unknown)[0]!r}, which is no column")
    at = str(own.get("at", name))
    cells, known, lacking = [], 0, None
    for title in _columns(table):
        template = _template(table, title, own)
        if not _has_figure(template):
            cells.append(fill(template, EMPTY, name))
            continue
        try:
            found = node(table.source) if "@" in template else _node(table, at)
            cells.append(fill(template.replace("@", at), found, name))
            known += 1
            for part in OPTIONAL.findall(template):
                parts[title, part] = parts.get((title, part), False) or _is_filled(
                    part.replace("@", at), found
                )
        except Problem as problem:
            if table.missing is None:
                raise Problem(f"row {name!r}, column {title!r}: {problem}") from None
            lacking = problem
            cells.append(table.missing)
    if not known:
        raise Problem(f"row {name!r} has no figure: {lacking}")
    cells[-1] += "".join(text for text, marked in table.marks.items() if name in marked)
    return cells


def _is_filled(part: str, found: Any) -> bool:
    try:
        return bool(fill(part, found))
    except Problem:
        return False


def _node(table: Table, at: str) -> Any:
    if table.paper:
        try:
            paper, figures = paper_tables.row(table.paper, at)
        except UnknownName as error:
            raise Problem(str(error)) from None
        texts = {key: figure.text for key, figure in figures.items()}
        return {**texts, "n": paper.seeds or "not stated", "row": at.partition("/")[2]}
    return (
        node(at) if SOURCE.fullmatch(at) or not table.source else walk(node(table.source), at, table.source)
    )
