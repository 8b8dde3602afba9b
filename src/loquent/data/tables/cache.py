"""Where stores lie: `rows` in the cache folder, each under the hash of its content and of how it is read.

A store is written aside and renamed, so a reader finds the whole of it or nothing. Of several processes that
need the same store one writes it and the others wait. Before a store is written, those are deleted that are
of the same files with other content, and those that nobody has used for thirty days.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from loquent.core.guards import json_files
from loquent.core.metric import cache_folder
from loquent.core.values import digest
from loquent.data.tables import writing
from loquent.data.tables.rows import Reader
from loquent.data.tables.store import ABOUT, VERSION, Store
from loquent.data.tables.writing import Tables
from loquent.errors import BadRow, LoquentError
from loquent.files import atomic

UNUSED = 30 * 24 * 3600  # seconds


def store(tables: Tables, columns: Reader, limit: int, content: str) -> Store:
    """The store of a source, which is made if it is not there.

    Args:
        limit: the most rows of a split; 0: all.
        content: a hash of what the tables hold.

    Raises:
        BadRow: a row is bad, or a file changes while it is read.
        LoquentError: the store cannot be written.
    """
    settings = digest((columns, limit, tuple(prefix for prefix, _ in tables.values())), 16)
    name = digest((VERSION, content, settings), 32)
    folder = cache_folder() / "rows" / name
    with suppress(OSError):
        return _opened(folder)
    places = [str(table.place) for _, table in tables.values()]
    try:
        with _locked(folder.with_suffix(".lock")):
            with suppress(OSError):
                return _opened(folder)
            _tidy(folder, places, settings)
            with atomic.replacing(folder, private=True) as aside:
                aside.mkdir()
                before = _states(tables)
                about = {"content": name, "places": places, "settings": settings}
                writing.write(aside, tables, columns, limit, about)
                if _states(tables) != before:
                    raise BadRow("this file changed while it was read; start again", file=places[0])
            return _opened(folder)
    except OSError as error:
        raise LoquentError(
            f"the rows of {places[0]} cannot be kept in {folder} ({error}); make room there, or set "
            "XDG_CACHE_HOME to a folder on another disk"
        ) from error


def _opened(folder: Path) -> Store:
    """The store in a folder, which is noted as used; OSError if there is none."""
    store = Store(folder)
    with suppress(OSError):  # a cache that this user may only read
        os.utime(folder / ABOUT)
    return store


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Inside, no other process is in such a block for this path."""
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _tidy(folder: Path, places: list[str], settings: str) -> None:
    """Delete what is left of a store that was not finished, and the stores that are not needed any more."""
    leftovers = [path for path in folder.parent.iterdir() if path.name.startswith(f".{folder.name}.")]
    for path in [folder, *leftovers]:
        shutil.rmtree(path, ignore_errors=True)
    for other in folder.parent.iterdir():
        try:
            about = json_files.load_object(other / ABOUT)
            age = time.time() - (other / ABOUT).stat().st_mtime
        except (OSError, LoquentError):
            continue
        if age > UNUSED or (about.get("places"), about.get("settings")) == (places, settings):
            with suppress(OSError):
                atomic.remove(other)
    for note in (cache_folder() / "hashes").glob("*.json"):
        if time.time() - note.stat().st_mtime > UNUSED:
            note.unlink(missing_ok=True)


def _states(tables: Tables) -> list[tuple[int, ...]]:
    """What changes when a file is written."""
    stats = [file.stat() for _, table in tables.values() for file in table.files()]
    return [(about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns) for about in stats]
