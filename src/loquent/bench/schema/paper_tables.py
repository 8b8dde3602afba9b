"""Published figures (`papers/*.yaml`): each figure as printed, each table with its place and a quote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path

from loquent.core.options import Node, fill
from loquent.core.options import read as read_yaml
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.errors import BadSetting, UnknownName

FOLDER = resources.files("loquent.bench") / "papers"
FIGURE = re.compile(r"(-?\d+(?:\.\d+)?)(?: ± (\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Figure:
    """A published number: the printed text, the value, and the standard deviation if the paper gives it."""

    text: str
    value: float
    deviation: float | None


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table of a paper."""

    title: str = setting(why="the table's number and subject")
    place: str = setting(why="the place of the table in the paper")
    quote: str = setting(why="a sentence of the paper that says what the numbers are")
    seeds: int | None = setting(
        None, "the number of runs behind the mean of a row; none: the paper does not say", low=1
    )
    columns: tuple[str, ...] = setting(why="the names of the columns, as suites name theirs")
    rows: Record = setting(why="figures by row, in the order of the columns")


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's tables by name."""

    name: str = setting("", "not read; the name of the file counts")
    title: str = setting(why="the paper's title")
    arxiv: str = setting(why="its number on arXiv")
    tables: Mapping[str, PaperTable] = setting(why="its tables by name")

    def row(self, reference: str) -> tuple[PaperTable, dict[str, Figure]]:
        """The table and the figures by column of a reference `table/row`.

        Raises:
            UnknownName: there is no such table or row.
        """
        name, _, row = reference.partition("/")
        if name not in self.tables:
            raise UnknownName(f"table of {self.name}", name, self.tables)
        table = self.tables[name]
        if row not in table.rows:
            raise UnknownName(f"row of {self.name}, {name}", row, table.rows)
        cells = zip(table.columns, table.rows[row], strict=True)
        return table, {column: figure(text) for column, text in cells}


def row(paper: str, reference: str) -> tuple[PaperTable, dict[str, Figure]]:
    """The table and the figures of a reference `table/row` of a paper, or of `PAPER:table/row`.

    Raises:
        UnknownName: there is no such paper, table or row.
    """
    other, colon, rest = reference.partition(":")
    return load(other).row(rest) if colon else load(paper).row(reference)


@lru_cache
def load(name: str) -> Paper:
    """The figures of a paper by its name.

    Raises:
        UnknownName: there is no such file.
        BadSetting: a key is unknown, or a row does not have one figure for each column.
    """
    names = sorted(
        item.name.removesuffix(".yaml") for item in FOLDER.iterdir() if item.name.endswith(".yaml")
    )
    if name not in names:
        raise UnknownName("paper", name, names)
    return read(Path(str(FOLDER / f"{name}.yaml")))


def read(path: Path) -> Paper:
    """The figures in a YAML file; raises BadSetting as `load` does."""
    root = read_yaml(path)
    paper: Paper = fill(Paper, root, "paper")
    tables = root.mapping("paper")["tables"].mapping("tables")
    for name, table in paper.tables.items():
        _check(table, tables[name].mapping(name)["rows"].mapping("rows"))
    return replace(paper, name=path.stem)


def _check(table: PaperTable, nodes: Mapping[str, Node]) -> None:
    """BadSetting for a row without one figure for each column."""
    for row, texts in table.rows.items():
        place = nodes[row].place
        if not isinstance(texts, tuple) or len(texts) != len(table.columns):
            count = len(texts) if isinstance(texts, tuple) else 1
            raise BadSetting(
                f"{place}: {row} holds {count} figures for {len(table.columns)} columns; write one figure "
                "for each column"
            )
        for text in texts:
            try:
                figure(text)
            except ValueError as error:
                raise BadSetting(f"{place}: {row}: {error}") from error


def figure(text: object) -> Figure:
    """Read a printed number such as "0.546 ± 0.022" or "0.546".

    Raises:
        ValueError: the text is no such number.
    """
    match = FIGURE.fullmatch(str(text))
    if match is None:
        raise ValueError(
            f"{text!r} is no figure; write a number, or a number with its deviation: 0.546 ± 0.022"
        )
    return Figure(str(text), float(match[1]), float(match[2]) if match[2] else None)
