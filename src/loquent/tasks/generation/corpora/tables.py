"""ToTTo (arXiv:2004.14373): a table with highlighted cells, and sentences that describe them.

A prompt is the table as text twice, as in RL4LMs: without titles and, with no space between, with titles. Two
forms of a table have the words and the headers of ToTTo's baseline: `subtable` has the highlighted cells,
`fulltable` all cells in rows. A cell is followed by its headers: header cells above it that share one of its
columns (cells may span several), then header cells before it in its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from loquent.core.values import freeze
from loquent.tasks.generation.corpora.dataset import Example, Fields, Form, mappings, without_blanks

TITLES = ("table_page_title", "table_section_title")
KEPT = (*TITLES, "table_section_text", "table_webpage_url", "example_id")
SUBSETS = {True: True, False: False, "True": True, "False": False}


class Cell(NamedTuple):
    """A cell of a table; it covers the columns `begin` to `end` - 1."""

    value: str
    header: bool
    begin: int
    end: int


Grid = list[list[Cell]]


def examples(record: Fields, split: str, form: Form) -> list[Example]:
    """The row of a table; without annotations, as in the official test file, it has no reference."""
    grid = cells(record.get("table"))
    chosen = _places(record.get("highlighted_cells"), grid)
    titles = [record.get(name) or "" for name in TITLES]
    bare, titled = (linearise(grid, chosen, names, form.representation) for names in (["", ""], titles))
    annotations = mappings(record.get("sentence_annotations") or [], "the sentence annotations")
    references = without_blanks(str(item.get("final_sentence") or "") for item in annotations)
    table = tuple(tuple(cell.value for cell in line) for line in grid)
    kept = {"table": table, "highlighted_cells": freeze(chosen)}
    kept |= {name: record[name] for name in KEPT if record.get(name) not in (None, "")}
    if record.get("overlap_subset") in SUBSETS:
        kept["overlap_subset"] = SUBSETS[record["overlap_subset"]]
    return [Example({"table": bare + titled}, references, kept)]


def cells(table: Any) -> Grid:
    """The cells of a published table with the columns that they cover; ValueError for another format."""
    if not isinstance(table, list | tuple) or not table:
        raise ValueError(f"the field 'table' is {table!r:.60}; it must be a list of rows of cells")
    grid: Grid = []
    for line in table:
        begin, row = 0, []
        for cell in mappings(line, "the cells of a row"):
            span, value = cell.get("column_span", 1), cell.get("value")
            if type(span) is not int or span < 1 or not isinstance(value, str):
                raise ValueError(
                    f"a cell is {dict(cell)!r:.80}; it must have a text `value` and a `column_span`"
                )
            row.append(Cell(value, bool(cell.get("is_header")), begin, begin + span))
            begin += span
        grid.append(row)
    return grid


def linearise(grid: Grid, chosen: Sequence[Sequence[int]], titles: Sequence[str], form: str) -> str:
    """A table as text. `titles` are those of the page and the section; an empty one is left out."""
    pieces = [
        f"<{name}> {title} </{name}>"
        for name, title in zip(("page_title", "section_title"), titles, strict=True)
        if title
    ]
    pieces.append("<table>")
    marked = {(row, column) for row, column in chosen}
    if form == "subtable":
        pieces += [_cell(grid, row, column, "cell") for row, column in chosen]
    else:
        for row, line in enumerate(grid):
            names = ["highlighted_cell" if (row, i) in marked else "cell" for i in range(len(line))]
            pieces += ["<row>", *(_cell(grid, row, i, name) for i, name in enumerate(names)), "</row>"]
    return " ".join((*pieces, "</table>"))


def _cell(grid: Grid, row: int, column: int, name: str) -> str:
    cell = grid[row][column]
    above = [
        other.value
        for line in grid[:row]
        for other in line
        if other.header and other.begin < cell.end and other.end > cell.begin
    ]
    before = [other.value for other in grid[row][:column] if other.header]
    headers = [f"<col_header> {value} </col_header>" for value in above]
    headers += [f"<row_header> {value} </row_header>" for value in before]
    return " ".join((f"<{name}>", cell.value, *headers, f"</{name}>"))


def _places(value: Any, grid: Grid) -> list[tuple[int, int]]:
    places = value if isinstance(value, list | tuple) else None
    for place in places or ():
        match place:
            case [int(row), int(column)] if 0 <= row < len(grid) and 0 <= column < len(grid[row]):
                continue
        places = None
        break
    if places is None:
        raise ValueError(
            f"the field 'highlighted_cells' is {value!r:.60}; it must be a list of pairs [row, column] of "
            "cells in the table, counted from 0"
        )
    return [(row, column) for row, column in places]
