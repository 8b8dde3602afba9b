"""Files of records: JSON lines and CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loquent.data.annotated import loading
from loquent.data.columns import Placed
from loquent.data.readers import FORMATS, reader
from loquent.errors import BadSetting


def files(path: Path) -> dict[str, Placed]:
    """The records of a file ("" as its split), or of a folder's files named after splits (.jsonl or .csv).

    Raises:
        BadSetting: the path does not exist, or has no such file.
    """
    found = loading.files(path, (".jsonl", ".csv")) if path.is_dir() else {"": path}
    return {split: loading.at(file, _reader(file)(file)) for split, file in found.items()}


def _reader(file: Path) -> Any:
    read = reader(file)
    if read is None or read is FORMATS[".txt"] or not file.is_file():
        raise BadSetting(f"path = {str(file)!r}: this must be a folder, or a file ending in .jsonl or .csv")
    return read
