"""Published figures beside ours: `papers/*.yaml`, each table with its place and a quote, each figure as it is
printed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from loquent.core.options import Node, fill, unknown
from loquent.core.options import read as read_yaml
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.errors import BadSetting, UnknownName

FOLDER = resources.files("loquent.bench") / "papers"
FIGURE = re.compile(r"(-?\d+(?:\.\d+)?)(?: ± (\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Figure:
    """A published number, as printed and as read.

    `deviation` is the standard deviation the paper gives with it.
    """

    text: str
    value: float
    deviation: float | None


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table of a paper."""

    title: str = setting(why="its number and subject")
    place: str = setting(why="where it stands")
    quote: str = setting(why="a sentence of the paper that says what the numbers are")
    seeds: int = setting(why="the runs a row is a mean of", low=1)
    columns: tuple[str, ...] = setting(why="what its columns hold, named as suites name theirs")
    rows: Record = setting(why="figures by row, in the order of the columns")


@dataclass(frozen=True)
class Paper:
    """A paper's tables by name."""

    name: str
    title: str
    arxiv: str
    tables: dict[str, PaperTable]

    def row(self, reference: str) -> tuple[PaperTable, dict[str, Figure]]:
        """The table and the figures by column that `table/row` stands for.

        UnknownName where there is none.
        """
        name, _, row = reference.partition("/")
        if name not in self.tables:
            raise UnknownName(f"table of {self.name}", name, self.tables)
        table = self.tables[name]
        if row not in table.rows:
            raise UnknownName(f"row of {self.name}, {name}", row, table.rows)
        return table, {
            column: figure(text) for column, text in zip(table.columns, table.rows[row], strict=True)
        }


@lru_cache
def load(name: str) -> Paper:
    """A paper's figures by its name.

    Raises:
        UnknownName: there is no such file. BadSetting: a key is unknown, or a row has another length than its
            table.
    """
    known = sorted(
        item.name.removesuffix(".yaml") for item in FOLDER.iterdir() if item.name.endswith(".yaml")
    )
    if name not in known:
        raise UnknownName("paper", name, known)
    return read(Path(str(FOLDER / f"{name}.yaml")))


def read(path: Path) -> Paper:
    """The figures in a YAML file."""
    inside = read_yaml(path).mapping("a paper")
    for key, node in inside.items():
        if key not in ("title", "arxiv", "tables"):
            raise unknown(node, key, ("title", "arxiv", "tables"), "a paper")
    for key in ("title", "arxiv", "tables"):
        if key not in inside:
            raise BadSetting(f"{path.name}:1: a paper has title, arxiv and tables; {key} is missing")
    tables = {key: _table(node, key) for key, node in inside["tables"].mapping("tables").items()}
    return Paper(path.stem, str(inside["title"].value), str(inside["arxiv"].value), tables)


def _table(node: Node, name: str) -> PaperTable:
    made: PaperTable = fill(PaperTable, node, name)
    for row, texts in made.rows.items():
        place = node.mapping(name)["rows"].mapping("rows")[row].place
        if not isinstance(texts, tuple) or len(texts) != len(made.columns):
            raise BadSetting(
                f"{place}: {row} holds {len(texts) if isinstance(texts, tuple) else 1} figures for "
                f"{len(made.columns)} columns"
            )
        for text in texts:
            try:
                figure(text)
            except ValueError as error:
                raise BadSetting(f"{place}: {row}: {error}") from error
    return made


def figure(text: object) -> Figure:
    """A printed number: "0.546 ± 0.022", or one without a deviation; ValueError for anything else."""
    match = FIGURE.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{text!r} is no figure; '0.546 ± 0.022' is one")
    return Figure(str(text), float(match[1]), float(match[2]) if match[2] else None)
