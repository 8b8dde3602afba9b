"""The built-in corpora: rows that ship with the package as compressed files, each checked by its hash.

A file is JSON, compressed by xz: the columns of each split. A column is a list, or an object of `values` and
their `places` where few values stand in many rows. Without the column `id` a row is known by its split and
number. `SHA256SUMS` beside the file has its hash; `python -m tools.corpora` makes and writes both.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.core.task import Row
from loquent.core.values import Record, freeze
from loquent.errors import LoquentError

SUMS, ADVICE = "SHA256SUMS", "install the package again"


def contents(file: Path) -> bytes:
    """The bytes of a file of the package; LoquentError where it is damaged or missing."""
    try:
        lines = file.with_name(SUMS).read_text("ascii").splitlines()
        right = {name: digest for digest, name in map(str.split, lines)}[file.name]
        content = file.read_bytes()
    except (OSError, ValueError, KeyError) as error:
        raise LoquentError(f"{file} or its hash in {SUMS} cannot be read ({error!r}); {ADVICE}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != right:
        raise LoquentError(f"{file} has the SHA-256 {found[:12]}, not {right[:12]}; {ADVICE}")
    return content


def records(file: Path) -> dict[str, list[dict[str, Any]]]:
    """The records of each split, as JSON has them; errors as `contents`."""
    return _records(file, lambda value: value)


@cache
def rows(file: Path) -> dict[str, tuple[Row, ...]]:
    """The rows of each split; errors as `contents`."""
    return {
        split: tuple(
            Row(fields.pop("id", f"{split}-{number}"), Record(fields))
            for number, fields in enumerate(members)
        )
        for split, members in _records(file, freeze).items()
    }


def _records(file: Path, convert: Callable[[Any], Any]) -> dict[str, list[dict[str, Any]]]:
    return {
        split: [
            dict(zip(columns, values))
            for values in zip(*(_column(column, convert) for column in columns.values()))
        ]
        for split, columns in json_files.loads(lzma.decompress(contents(file))).items()
    }


def _column(column: Any, convert: Callable[[Any], Any]) -> list[Any]:
    if isinstance(column, list):
        return list(map(convert, column))
    values = list(map(convert, column["values"]))
    return [values[place] for place in column["places"]]
