"""The manifest of a folder: size and SHA-256 of each of its files, and a seal over them all, so that damage
is seen before anything is used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.errors import Damaged
from loquent.files import atomic, names

NAME = "manifest.json"
SEAL = "seal"


def seal(folder: Path) -> None:
    """Write the manifest of a folder whose files are all there, and wait until everything is on disk."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != NAME]
    known = {
        path.relative_to(folder).as_posix(): {"size": path.stat().st_size, "sha256": digest(path)}
        for path in files
    }
    (folder / NAME).write_text(json.dumps(sealed({"files": known}), indent=1), encoding="utf-8")
    for path in (*files, folder / NAME, *(path for path in folder.rglob("*") if path.is_dir()), folder):
        atomic.sync(path)


def check(folder: Path, names: tuple[str, ...] = ()) -> None:
    """Compare a folder with its manifest: every file, and that there is no other; or only some of its files.

    Raises:
        Damaged: the manifest has no seal, or a file is missing, changed, or in the folder without being in
            the manifest; names it.
    """
    known = _read(folder)
    for name in names or known:
        if name not in known:
            raise Damaged(f"{folder} is torn: {NAME} does not name {name}")
        _check_file(folder, name, known[name])
    if names:
        return
    found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }
    for name in sorted(found - known.keys() - {NAME}):
        raise Damaged(f"{folder} is torn: {name} is in the folder and not in {NAME}; move it away")


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with its own digest under the name `seal`."""
    rest = {name: json_files.finite(item) for name, item in value.items() if name != SEAL}
    return {**rest, SEAL: hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()}


def opened(value: Mapping[str, Any], place: Path, advice: str) -> dict[str, Any]:
    """What `sealed` was given.

    Raises:
        Damaged: it has no seal, or another than its contents have.
    """
    if SEAL not in value:
        raise Damaged(f"{place} has no seal, so nothing tells whether it is what was written; {advice}")
    if value[SEAL] != sealed(value)[SEAL]:
        raise Damaged(f"{place} is not what was written (its seal differs); {advice}")
    return {name: item for name, item in value.items() if name != SEAL}


def load(path: Path, advice: str) -> dict[str, Any]:
    """The object of a file that `sealed` made.

    BadCheckpoint where it is no JSON object, Damaged where it is not what was written.
    """
    return opened(json_files.load_object(path, advice), path, advice)


def _check_file(folder: Path, name: str, known: Mapping[str, Any]) -> None:
    path = folder / name
    if not path.exists():
        raise Damaged(f"{folder} is no whole checkpoint: {name} is missing")
    if not path.is_file():
        raise Damaged(f"{folder} is torn: {name} is no file")
    size = path.stat().st_size
    if size != known["size"]:
        raise Damaged(f"{folder} is torn: {name} has {size} bytes where {known['size']} were written")
    if digest(path) != known["sha256"]:
        raise Damaged(f"{folder} is torn: {name} is not what was written (its SHA-256 differs)")


def _read(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / NAME
    unsealed = (
        "an older version of Loquent wrote this checkpoint, or it was damaged; the model in "
        f"{folder / names.POLICY} can be named itself, a run cannot go on from here"
    )
    if not path.exists():
        raise Damaged(f"{folder} is no whole checkpoint: {NAME} is missing: {unsealed}")
    whole = json_files.load_object(path, f"{folder} is torn", error=Damaged)
    if SEAL not in whole:
        raise Damaged(f"{folder} is torn: {NAME} has no seal: {unsealed}")
    files = opened(whole, path, f"{folder} is torn").get("files")
    if not isinstance(files, dict) or not all(_is_entry(name, known) for name, known in files.items()):
        raise Damaged(
            f"{folder} is torn: {NAME} is no manifest; it holds the size and the SHA-256 of each "
            "file under its path in the folder"
        )
    return files


def _is_entry(name: str, known: Any) -> bool:
    inside = not Path(name).is_absolute() and ".." not in Path(name).parts and "\0" not in name
    return (
        inside
        and isinstance(known, dict)
        and isinstance(known.get("size"), int)
        and isinstance(known.get("sha256"), str)
    )


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
