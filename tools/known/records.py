"""The records of docs/results, and what one of them says about a claim."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from loquent.statistics.tables import NONE

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
ENTRIES = Path(__file__).with_name("records.yaml")
ONE_SEED, ON_ROWS = "one seed: about these runs", "on these rows"


@dataclass(frozen=True)
class Record:
    """A line of a file of results, and how verdicts were made from it."""

    file: str
    line: int
    content: Mapping[str, Any]
    made: str = "verdicts as the command printed them"

    def at(self, path: Sequence[Any]) -> Any:
        """The node at a path of keys and numbers of items."""
        node: Any = self.content
        for key in path:
            node = node[key]
        return node


@dataclass(frozen=True)
class Known:
    """What a record says about a claim; the fields of texts are those of the page."""

    claim: str
    verdict: str
    record: Record | None = None
    effect: str = NONE
    p: str = NONE
    seeds: int = 0
    rows: str = NONE
    shared: str = NONE
    seconds: str = NONE
    settings: str = ""
    rank: tuple[Any, ...] = ()


def records(folder: Path = RESULTS) -> tuple[Record, ...]:
    """All records of a folder, by file and line."""
    return tuple(
        Record(file.name, number, json.loads(line))
        for file in sorted(folder.glob("*.jsonl"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    )


def entries() -> dict[str, Any]:
    """The entries of `records.yaml`."""
    found: dict[str, Any] = yaml.safe_load(ENTRIES.read_text(encoding="utf-8"))
    return found


def of_entry(entry: Mapping[str, Any], all_records: Sequence[Record]) -> Record:
    """The record of an entry of `records.yaml`."""
    file, line = entry["record"]
    return next(record for record in all_records if (record.file, record.line) == (file, line))


def costs_text(seconds: Iterable[float]) -> str:
    """The seconds of several runs, such as "9 → 51"."""
    return " → ".join(f"{own:,.0f}" for own in seconds)
