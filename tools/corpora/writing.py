"""The form of a corpus, as `loquent.data.corpora` reads it: columns by split, as JSON, compressed by xz."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from loquent.core.task import Row
from loquent.core.values import plain
from loquent.data.corpora import SUMS

REPEATED = 0.5  # a column with fewer different values than this share of its rows has each value once
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]  # best for texts


def records(splits: Mapping[str, Iterable[Row]]) -> dict[str, list[dict[str, Any]]]:
    """Rows as records, with their ids where these are not their split and number."""
    found: dict[str, list[dict[str, Any]]] = {}
    for split, rows in splits.items():
        members = list(rows)
        named = any(row.id != f"{split}-{i}" for i, row in enumerate(members))
        found[split] = [({"id": row.id} if named else {}) | plain(row.fields) for row in members]
    return found


def encoded(splits: Mapping[str, Iterable[Mapping[str, Any]]]) -> bytes:
    """Records by split as JSON; ValueError where the records of a split have different fields."""
    tables = {}
    for split, found in splits.items():
        members = list(found)
        names = list(members[0])
        if any(list(record) != names for record in members):
            raise ValueError(f"the records of {split} have different fields")
        tables[split] = {name: _column([plain(record[name]) for record in members]) for name in names}
    return json.dumps(tables, ensure_ascii=False, separators=(",", ":")).encode()


def _column(values: list[Any]) -> Any:
    keys = [json.dumps(value) for value in values]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    if len(places) > REPEATED * len(keys):
        return values
    return {"values": [json.loads(key) for key in places], "places": [places[key] for key in keys]}


def write(file: Path, content: bytes) -> None:
    """Write a file, compressed if its name ends so, and its hash."""
    if file.suffix == ".xz":
        content = lzma.compress(content, filters=FILTERS)
    file.write_bytes(content)
    sums = file.with_name(SUMS)
    lines = sums.read_text().splitlines() if sums.exists() else []
    others = [line for line in lines if line.split()[1] != file.name]
    own = f"{hashlib.sha256(content).hexdigest()}  {file.name}"
    sums.write_text("\n".join(sorted([*others, own], key=lambda line: line.split()[1])) + "\n")
