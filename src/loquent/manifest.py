"""The manifest of a folder: size and SHA-256 of each of its files, so that a torn or changed one is seen before it is used."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from loquent.errors import BadCheckpoint

NAME = "manifest.json"


def seal(folder: Path) -> None:
    """Write the manifest of a folder whose files are all there, and wait until everything is on disk."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != NAME]
    found = {path.relative_to(folder).as_posix(): {"size": path.stat().st_size, "sha256": _digest(path)} for path in files}
    (folder / NAME).write_text(json.dumps(found, indent=1), encoding="utf-8")
    for path in (*files, folder / NAME, *(path for path in folder.rglob("*") if path.is_dir()), folder):
        sync(path)


def check(folder: Path) -> None:
    """Compare a folder with its manifest.

    Raises:
        BadCheckpoint: a file is torn or changed; names it.
        FileNotFoundError: a file, or the manifest itself, is missing.
        ValueError: the manifest is none.
    """
    for name, known in _read(folder).items():
        path = folder / name
        size = path.stat().st_size
        if size != known["size"]:
            raise BadCheckpoint(f"{folder} is torn: {name} has {size} bytes where {known['size']} were written")
        if _digest(path) != known["sha256"]:
            raise BadCheckpoint(f"{folder} is torn: {name} is not what was written (its SHA-256 differs)")


def holds(folder: Path, names: Iterable[str]) -> None:
    """Raise BadCheckpoint where the manifest lacks one of these files: what it does not name, it does not vouch for."""
    known = _read(folder)
    for name in names:
        if name not in known:
            raise BadCheckpoint(f"{folder} is torn: {NAME} does not name {name}")


def _read(folder: Path) -> dict[str, dict[str, Any]]:
    found = json.loads((folder / NAME).read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not all(isinstance(known, dict) and {"size", "sha256"} <= known.keys() for known in found.values()):
        raise ValueError(f"{NAME} is no manifest")
    return found


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
