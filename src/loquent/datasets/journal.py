"""The files of a shard: the journal of its games that have ended, and the episodes of all its games with
their digest.

A line of a journal is a checksum (`records.mark`) of what follows it, a space, and `[number, [line, ...]]` in
JSON: the number of a game, and the text of each of its episodes as the dataset will hold it. Games stand in
the order in which they ended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from loquent.core.episode import Episode, to_json
from loquent.core.guards import json_files
from loquent.errors import Damaged
from loquent.files import atomic
from loquent.files.records import MARK, mark

DIGEST = ".digest"  # beside a shard: the SHA-256 of its bytes, then the checksum of each of its lines
ADVICE = "delete this file, and the same command plays its games again"


class Journal:
    """An open journal.

    Opening it drops a last line that a kill cut off; each added game is written to the file at once.

    Args:
        numbers: of the shard's games.

    Raises:
        Damaged: as `read`.
    """

    def __init__(self, path: Path, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._kept, good = read(path, numbers)
        self._file = path.open("r+b" if path.exists() else "xb", buffering=0)
        self._file.truncate(good)
        self._file.seek(good)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def missing(self) -> list[int]:
        """The numbers of the games that are still to be played."""
        return [number for number in self._numbers if number not in self._kept]

    def add(self, number: int, episodes: Sequence[Episode]) -> None:
        """Keep a game that has ended."""
        lines = [json.dumps(to_json(one), allow_nan=False) for one in episodes]
        content = (json.dumps([number, lines]) + "\n").encode("ascii")
        line = memoryview(mark(content).encode("ascii") + b" " + content)
        while line:
            line = line[self._file.write(line) :]
        self._kept[number] = lines

    def whole(self) -> str:
        """The lines of all episodes in the order of their games; every game has been kept."""
        return "".join(f"{line}\n" for number in self._numbers for line in self._kept[number])


def read(path: Path, numbers: Sequence[int]) -> tuple[dict[int, list[str]], int]:
    """The games of a journal by number, and the number of bytes that hold them; none where there is no file.

    Raises:
        Damaged: a whole line is not what was written; names file and line.
    """
    kept: dict[int, list[str]] = {}
    good = 0
    if not path.is_file():
        return kept, good
    with path.open("rb") as file:
        for place, line in enumerate(file, 1):
            if not line.endswith(b"\n"):  # cut off by a kill
                break
            found = _game(line, numbers)
            if found is None:
                raise Damaged(f"{path}:{place}: this line is not what was written; {ADVICE}")
            kept.setdefault(*found)
            good += len(line)
    return kept, good


def write_shard(path: Path, text: str) -> None:
    """Write the episodes of a shard; first their digest, then, in one step, the file."""
    content = text.encode("utf-8")
    for target, part in ((path.with_suffix(DIGEST), "\n".join(_digest(content)) + "\n"), (path, text)):
        with atomic.replacing(target, private=True) as aside:
            atomic.write_synced(aside, part)


def read_shard(path: Path) -> bytes:
    """The episodes of a shard, compared with their digest.

    Raises:
        Damaged: the digest is missing, or the shard is not what was written; names file and line.
    """
    content, digest = path.read_bytes(), path.with_suffix(DIGEST)
    if not digest.is_file():
        raise Damaged(
            f"{path}: {digest.name} is missing, so nothing tells whether the episodes are as they "
            f"were written; {ADVICE}"
        )
    found, written = _digest(content), digest.read_bytes().decode("ascii", "replace").splitlines()
    if found != written:
        place = next(
            (i for i, (one, other) in enumerate(zip(found[1:], written[1:]), 1) if one != other),
            min(len(found), len(written)),
        )
        raise Damaged(
            f"{path}:{max(place, 1)}: from this line on the episodes are not what was written; {ADVICE}"
        )
    return content


def _digest(content: bytes) -> list[str]:
    return [hashlib.sha256(content).hexdigest(), *(mark(line) for line in content.splitlines(keepends=True))]


def _game(line: bytes, numbers: Sequence[int]) -> tuple[int, list[str]] | None:
    """The number and the episodes of a journal's line; None where it is not what `add` writes."""
    content = line[MARK + 1 :]
    if line[: MARK + 1] != mark(content).encode("ascii") + b" ":
        return None
    try:
        found = json_files.loads(content)
    except json_files.BadJson:
        return None
    return (found[0], found[1]) if _is_game(found, numbers) else None


def _is_game(found: Any, numbers: Sequence[int]) -> bool:
    if not isinstance(found, list) or len(found) != 2 or type(found[0]) is not int or found[0] not in numbers:
        return False
    return (
        isinstance(found[1], list)
        and bool(found[1])
        and all(isinstance(line, str) and "\n" not in line for line in found[1])
    )
