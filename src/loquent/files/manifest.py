"""The manifest of a folder: size and SHA-256 of each of its files, and a seal.

With it, damage is detected before a file is used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.errors import Damaged
from loquent.files import atomic, names

NAME = "manifest.json"
SEAL = "seal"


@dataclass(frozen=True)
class Entry:
    """The size and the SHA-256 of a file."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Files:
    """What a manifest holds beside its seal: the files of the folder by path."""

    files: Mapping[str, Entry]

    def __post_init__(self) -> None:
        for name in self.files:
            if not names.is_inside(name):
                raise ValueError(f"{name!r:.80} is outside the folder")


def seal(folder: Path) -> None:
    """Write the manifest of a folder after all its files, and wait until everything is on disk."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != NAME]
    entries = {
        path.relative_to(folder).as_posix(): {"size": path.stat().st_size, "sha256": digest(path)}
        for path in files
    }
    (folder / NAME).write_text(json.dumps(add_seal({"files": entries}), indent=1), encoding="utf-8")
    for path in (*files, folder / NAME, *(path for path in folder.rglob("*") if path.is_dir()), folder):
        atomic.sync(path)


def check(folder: Path, names: tuple[str, ...] = ()) -> None:
    """Compare a folder with its manifest.

    Args:
        names: the files to check; by default all files, and that the folder has no other file.

    Raises:
        Damaged: the manifest has no seal, or a file is missing, changed, or not in the manifest; names it.
    """
    entries = _read(folder)
    for name in names or entries:
        if name not in entries:
            raise Damaged(f"{folder} is torn: {NAME} does not name {name}")
        _check_file(folder, name, entries[name])
    if names:
        return
    present = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }
    for name in sorted(present - entries.keys() - {NAME}):
        raise Damaged(f"{folder} is torn: {name} is in the folder and not in {NAME}; move it away")


def add_seal(value: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with its own digest under the name `seal`."""
    rest = {name: json_files.finite(item) for name, item in value.items() if name != SEAL}
    return {**rest, SEAL: hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()}


def remove_seal(value: Mapping[str, Any], place: Path, advice: str) -> dict[str, Any]:
    """The object without its seal, which is checked.

    Raises:
        Damaged: it has no seal, or its seal does not match its contents.
    """
    if SEAL not in value:
        raise Damaged(f"{place} has no seal, so a change of it cannot be detected; {advice}")
    if value[SEAL] != add_seal(value)[SEAL]:
        raise Damaged(f"{place} is not what was written (its seal differs); {advice}")
    return {name: item for name, item in value.items() if name != SEAL}


def load(path: Path, advice: str) -> dict[str, Any]:
    """The JSON object of a file with a seal.

    Raises:
        BadCheckpoint: it is not a JSON object.
        Damaged: it has changed, or has no seal.
    """
    return remove_seal(json_files.load_object(path, advice), path, advice)


def _check_file(folder: Path, name: str, entry: Entry) -> None:
    path = folder / name
    if not path.exists():
        raise Damaged(f"{folder} is no whole checkpoint: {name} is missing")
    if not path.is_file():
        raise Damaged(f"{folder} is torn: {name} is no file")
    size = path.stat().st_size
    if size != entry.size:
        raise Damaged(f"{folder} is torn: {name} has {size} bytes where {entry.size} were written")
    if digest(path) != entry.sha256:
        raise Damaged(f"{folder} is torn: {name} is not what was written (its SHA-256 differs)")


def _read(folder: Path) -> Mapping[str, Entry]:
    path = folder / NAME
    unsealed = (
        "an older version of Loquent wrote this checkpoint, or it was damaged; a run cannot continue from "
        f"it, but the model can be used: name {folder / names.POLICY}"
    )
    if not path.exists():
        raise Damaged(f"{folder} is no whole checkpoint: {NAME} is missing: {unsealed}")
    content = json_files.load_object(path, f"{folder} is torn", error=Damaged)
    if SEAL not in content:
        raise Damaged(f"{folder} is torn: {NAME} has no seal: {unsealed}")
    try:
        return schema.read(Files, remove_seal(content, path, f"{folder} is torn")).files
    except ValueError as error:
        raise Damaged(
            f"{folder} is torn: {NAME} is no manifest ({error}); it must have the size and the SHA-256 of "
            "each file under its path in the folder"
        ) from None


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
