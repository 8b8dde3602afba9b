"""Atomic writes: a reader sees the old file or the new one, never a part of one, even after a crash."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from loquent.core.guards.json_files import finite
from loquent.errors import BadCheckpoint

OWNERS = 0o600  # readable and writable by the owner alone
PARTIAL, REMOVED = ".partial", ".removed"  # the suffixes of files and folders being written or deleted


@contextmanager
def replacing(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a path at which a file or a folder is written, and rename it to `target` at the end of the block.

    An error in the block deletes what was written and leaves `target` as it was. Parent folders are created.
    Files that a library keeps to their owner, as safetensors does, get the mode of other new files.

    Args:
        private: give a path that only this process uses and that ends with the target's name. Use it if
            several processes may write the same target, or if the content depends on the name.
    """
    aside = target.with_name(f".{target.name}{f'.{os.getpid()}' if private else ''}{PARTIAL}")
    path = aside / target.name if private else aside
    _delete(aside)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield path
        _open_to_readers(path)
        if path.is_file():
            sync(path)
        os.replace(path, target)
        sync(target.parent)
    finally:
        _delete(aside)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as aside:
        write_synced(aside, text)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically; a number that is not finite becomes null."""
    write_text(path, json.dumps(finite(value), allow_nan=False, indent=1))


def append_line(path: Path, value: Any) -> None:
    """Append one JSON value to a JSONL file and wait until it is on disk.

    A number that is not finite becomes null.

    Raises:
        BadCheckpoint: the disk is full.
    """
    line = memoryview((json.dumps(finite(value), allow_nan=False) + "\n").encode())
    try:
        # without a buffer, which would be written again, and fail again, on closing
        with path.open("ab", buffering=0) as file:
            while line:
                line = line[file.write(line) :]
            os.fsync(file.fileno())
    except OSError as error:
        advice = f"make room, then continue with `loquent resume {path.parent}`"
        raise BadCheckpoint(f"{path} could not be written ({error}); {advice}") from error


def write_synced(path: Path, text: str) -> None:
    """Write a text file in place and wait until it is on disk.

    It is for files in a folder that is renamed later.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def move(source: Path, target: Path) -> None:
    """Rename a file or a folder; a file at `target` is replaced."""
    os.replace(source, target)


def remove(folder: Path) -> None:
    """Delete a folder. It is renamed first, so that a crash never leaves a part of it under its name."""
    aside = folder.with_name(f".{folder.name}{REMOVED}")
    os.replace(folder, aside)
    shutil.rmtree(aside)


def _open_to_readers(path: Path) -> None:
    files = [path] if path.is_file() else path.rglob("*")
    kept = [file for file in files if stat.S_IMODE(file.lstat().st_mode) == OWNERS and not file.is_dir()]
    if not kept:
        return
    new = path.with_name(f"{path.name}.new")  # its mode follows from the process and the folder
    try:
        new.touch()
        mode = stat.S_IMODE(new.stat().st_mode)
    finally:
        new.unlink(missing_ok=True)
    for file in kept:
        file.chmod(mode)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def synchronise(file: Path) -> None:
    """Write what a mapping of a file has changed to the file; a read-only file system needs nothing."""
    with suppress(OSError), file.open("rb") as opened:
        os.fsync(opened.fileno())
