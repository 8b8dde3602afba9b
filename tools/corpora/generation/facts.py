"""Tables with highlighted cells and sentences, in the form of ToTTo's files.

A table lists the seasons of a player, the towers of a town, the films of an actor, the trains of a line, the
votes of a village or the rivers of a country. The sentences describe the highlighted cells of one row.
Rivers occur in validation and test only, which is ToTTo's non-overlap subset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tools.corpora.drawing import Draws, names, tables
from tools.corpora.drawing import words as split
from tools.corpora.generation.filling import SIZES, Records, distinct, written

NAMES = names("tables", 560)
TABLES = tables("facts")
FIRST = TABLES["first"]
Row = dict[str, str]


@dataclass(frozen=True)
class Domain:
    """A kind of table: its titles, its columns, and sentences about the columns that they need."""

    page: str
    section: str
    columns: list[str]
    row: Callable[[Draws, int], Row]
    sentences: dict[str, list[str]]
    count: int = 3  # sentences of a table


def _year(number: int, start: int = 1961) -> str:
    return str(start + number)


def _season(draw: Draws, number: int) -> Row:
    games = 8 + int(draw.uniform() * 30)
    return {
        "Year": _year(number, 1980 + int(draw.uniform() * 30)),
        "Club": draw.choice(NAMES) + draw.choice((" United", " Rovers", " City", " Athletic")),
        "Games": str(games),
        "Goals": str(int(draw.uniform() * games)),
    }


def _tower(draw: Draws, number: int) -> Row:
    return {
        "Rank": str(number + 1),
        "Name": draw.choice(NAMES) + draw.choice((" Tower", " House", " Plaza")),
        "Metres": str(240 - 9 * number - int(draw.uniform() * 8)),
        "Finished": str(1950 + int(draw.uniform() * 70)),
    }


def _film(draw: Draws, number: int) -> Row:
    return {
        "Year": _year(number, 1970 + int(draw.uniform() * 40)),
        "Title": f"The {draw.choice(NAMES)} {draw.choice(split('Letter Garden Affair Road Winter Case'))}",
        "Role": f"{draw.choice(FIRST)} {draw.choice(NAMES)}",
        "Director": f"{draw.choice(FIRST)} {draw.choice(NAMES)}",
    }


def _train(draw: Draws, number: int) -> Row:
    return {
        "Train": str(100 + int(draw.uniform() * 800)),
        "Departs": f"{6 + number}:{10 + int(draw.uniform() * 49)}",
        "Platform": str(1 + int(draw.uniform() * 12)),
        "Destination": draw.choice(NAMES),
    }


def _vote(draw: Draws, number: int) -> Row:
    return {
        "Candidate": f"{draw.choice(FIRST)} {draw.choice(NAMES)}",
        "Party": draw.choice(split("Liberal Green Farmers Labour Unity Civic")),
        "Votes": f"{int(draw.uniform() * 8) + 1},{100 + int(draw.uniform() * 899)}",
        "Share": f"{1 + int(draw.uniform() * 60)}.{int(draw.uniform() * 10)}",
    }


def _river(draw: Draws, number: int) -> Row:
    return {
        "River": draw.choice(NAMES),
        "Length": f"{40 + int(draw.uniform() * 900)}",
        "Source": f"Mount {draw.choice(NAMES)}",
        "Mouth": f"Lake {draw.choice(NAMES)}",
    }


ROWS: dict[str, Callable[[Draws, int], Row]] = {
    "seasons": _season,
    "towers": _tower,
    "films": _film,
    "trains": _train,
    "votes": _vote,
    "rivers": _river,
}
DOMAINS = {name: Domain(row=ROWS[name], **domain) for name, domain in TABLES["domains"].items()}
UNSEEN = "rivers"
OVERLAP_SHARE = 0.7


@lru_cache(maxsize=1)
def records() -> Records:
    """The records of all splits; no two describe the same cells of the same page."""
    return distinct("tables", _write, SIZES)


def _write(draw: Draws, part: str) -> tuple[Any, dict[str, Any]]:
    overlap = part == "train" or draw.below(OVERLAP_SHARE)
    domain = DOMAINS[draw.choice([name for name in DOMAINS if name != UNSEEN]) if overlap else UNSEEN]
    subject = {"first": draw.choice(FIRST), "name": draw.choice(NAMES)}
    rows = [domain.row(draw, number) for number in range(3 + int(draw.uniform() * 4))]
    chosen, needed = int(draw.uniform() * len(rows)), draw.choice(tuple(domain.sentences))
    found = written(draw, domain.sentences[needed], domain.count, subject | rows[chosen])
    page = domain.page.format(**subject)
    record: dict[str, Any] = {
        "table_page_title": page,
        "table_section_title": domain.section,
        "table_section_text": "",
        "table": [
            _line(domain.columns, header=True),
            *(_line([row[c] for c in domain.columns]) for row in rows),
        ],
        "highlighted_cells": [[chosen + 1, domain.columns.index(column)] for column in needed.split()],
        "sentence_annotations": [{"final_sentence": sentence} for sentence in found],
    }
    if part != "train":
        record["overlap_subset"] = overlap
    return (page, tuple(rows[chosen].items())), record


def _line(values: Any, header: bool = False) -> list[dict[str, Any]]:
    return [{"value": value, "is_header": header, "column_span": 1, "row_span": 1} for value in values]
