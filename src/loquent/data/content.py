"""What files hold, by a hash: rows that were read are used again only while their files hold the same."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from loquent.core import registry
from loquent.core.guards import json_files
from loquent.core.metric import cache_folder
from loquent.core.options import options_of
from loquent.errors import LoquentError
from loquent.files import atomic

Result = TypeVar("Result")
SETTLED = 2_000_000_000  # nanoseconds; a file that changed later before its hash was taken is hashed again
LARGE = 1 << 24  # bytes, 16 MiB; the hash of a file that has more is noted on disk for other processes
_hashes: dict[str, tuple[tuple[int, ...], str]] = {}


def of(*chosen: Any) -> str:
    """A hash of the content of all files that options name; "" if they name none.

    Args:
        chosen: dataclasses whose settings of files are declared with `setting(file=True)`, or paths.
    """
    named = [name for each in chosen for name in ([each] if isinstance(each, str) else _named(each))]
    found = [path for path in (Path(name).expanduser() for name in named if name) if path.exists()]
    if not found:
        return ""
    total = hashlib.sha256()
    for path in found:
        for file in sorted(_files(path)):
            total.update(f"{file.relative_to(path)}\0{_hash(file)}\n".encode(errors="surrogateescape"))
    return total.hexdigest()[:32]


def of_task(task: Any, *chosen: Any) -> str:
    """As `of`, for the files that a task and the agents of its seats name, and for `chosen`."""
    seats = [("agent", agent) for agent in task.seats.values()]
    return of(getattr(task, "options", None), *named_by(seats), *chosen)


def named_by(made: Iterable[tuple[str, Any]]) -> list[str]:
    """The files that agents, rewards or metrics name.

    Args:
        made: the kind ("agent", ...) and the name, or the name as `kind` in a mapping with options.
    """
    paths = []
    for kind, chosen in made:
        settings = chosen if isinstance(chosen, Mapping) else {"kind": chosen}
        if name := settings.get("kind"):
            declared = options_of(registry.resolve(kind, name))
            fields = dataclasses.fields(declared) if declared else ()
            paths += [settings.get(field.name) for field in fields if field.metadata.get("file")]
    return [path for path in paths if isinstance(path, str)]


def cache_reads(maxsize: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """A cache for a function that reads files: like `lru_cache`, but rows of changed files are read again.

    The first argument of the function is that of `of`.
    """

    def decorate(read: Callable[..., Result]) -> Callable[..., Result]:
        cached = lru_cache(maxsize)(lambda content, *arguments: read(*arguments))

        @wraps(read)
        def call(options: Any, *arguments: Any) -> Result:
            return cached(of(options), options, *arguments)

        call.__dict__["cache_clear"] = cached.cache_clear
        return call

    return decorate


def kept_of_rows(maxsize: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """A cache for a function of tuples of rows, by identity: the same tuples, not equal ones, are a hit.

    Texts among its arguments must be equal. Nothing is kept for rows that are no tuple: files may change.
    """

    def decorate(make: Callable[..., Result]) -> Callable[..., Result]:
        results: deque[tuple[tuple[Any, ...], Result]] = deque(maxlen=maxsize)

        @wraps(make)
        def call(*given: Any) -> Result:
            for before, result in tuple(results):
                if all(a is b or (isinstance(a, str) and a == b) for a, b in zip(before, given, strict=True)):
                    return result
            result = make(*given)
            if all(isinstance(each, tuple | str) for each in given):
                results.append((given, result))
            return result

        return call

    return decorate


def _named(options: Any) -> list[str]:
    fields = dataclasses.fields(options) if dataclasses.is_dataclass(options) else ()
    values = [getattr(options, field.name) for field in fields if field.metadata.get("file")]
    return [value for value in values if isinstance(value, str)]


def _files(path: Path) -> Iterator[Path]:
    """The regular files of a path, also those behind links to folders, as far as these lead in no circle."""
    if path.is_dir():
        yield from _inside(path, frozenset())
    elif path.is_file():  # a device or a pipe may have no end
        yield path


def _inside(folder: Path, above: frozenset[Path]) -> Iterator[Path]:
    if (real := folder.resolve()) in above:
        return
    for path in folder.iterdir():
        if path.is_dir():
            yield from _inside(path, above | {real})
        elif path.is_file():
            yield path


def _hash(file: Path) -> str:
    """The hash of a file's content; a hash in memory or in a note is used if nothing can have changed since.

    A file that was written shortly before its hash was taken could have changed again within the resolution
    of the file system's clock, so its hash is not used again. A program that has the file in its memory
    (`numpy.memmap`) changes the time only with the first write after a synchronisation.
    """
    atomic.synchronise(file)
    about = file.stat()
    state = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    known = _hashes.get(str(file))
    if known is not None and known[0] == state:
        return known[1]
    note = _note_of(file) if about.st_size >= LARGE else None
    result = _noted(note, state) if note else ""
    if result:
        _hashes[str(file)] = (state, result)
        return result
    begun = time.time_ns()
    with file.open("rb") as opened:
        result = hashlib.file_digest(opened, "sha256").hexdigest()
    if begun - max(about.st_mtime_ns, about.st_ctime_ns) > SETTLED:
        _hashes[str(file)] = (state, result)
        if note:
            # without a cache that can be written, each process takes the hash itself
            with suppress(OSError), atomic.replacing(note, private=True) as aside:
                atomic.write_synced(aside, json.dumps({"state": state, "sha256": result}))
    return result


def _note_of(file: Path) -> Path:
    """Where the hash of a large file is noted for other processes."""
    name = hashlib.sha256(str(file.resolve()).encode(errors="surrogateescape")).hexdigest()[:32]
    return cache_folder() / "hashes" / f"{name}.json"


def _noted(note: Path, state: tuple[int, ...]) -> str:
    """The hash in a note that was made of a file in this state; "" if there is none."""
    try:
        content = json_files.load_object(note)
    except LoquentError:
        return ""
    result = content.get("sha256")
    if content.get("state") != list(state) or not isinstance(result, str):
        return ""
    return result if re.fullmatch("[0-9a-f]{64}", result) else ""
