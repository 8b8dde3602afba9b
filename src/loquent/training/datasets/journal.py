"""The files of a shard: a journal of its finished games, then the episodes of all its games with a digest.

A line of a journal is a checksum (`records.mark`), a space, and `[number, [line, ...]]` in JSON. The number
is that of the game; each line is the text of one of its episodes, as it is written to the dataset. The
checksum covers the rest of the line. Games appear in the order in which they ended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from loquent.core import schema
from loquent.core.episode import Episode, to_json
from loquent.core.guards import json_files
from loquent.errors import Damaged
from loquent.files import atomic
from loquent.files.run_records import MARK, mark

DIGEST = ".digest"  # suffix of the file with the SHA-256 of a shard and the checksum of each of its lines
GAME = schema.check_of(tuple[int, tuple[str, ...]])
ADVICE = "delete this file, and the same command plays its games again"


class Journal:
    """An open journal, which writes each added game to its file at once.

    Opening it drops a last line that a kill cut off.

    Args:
        numbers: the numbers of the shard's games.

    Raises:
        Damaged: a complete line of the file is damaged; the error names file and line.
    """

    def __init__(self, path: Path, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._games, size = read(path, numbers)
        self._file = path.open("r+b" if path.exists() else "xb", buffering=0)
        self._file.truncate(size)
        self._file.seek(size)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def missing(self) -> list[int]:
        """The numbers of the games that the journal does not hold."""
        return [number for number in self._numbers if number not in self._games]

    def add(self, number: int, episodes: Sequence[Episode]) -> None:
        """Write the episodes of a finished game."""
        lines = [json.dumps(to_json(episode), allow_nan=False) for episode in episodes]
        content = (json.dumps([number, lines]) + "\n").encode("ascii")
        line = memoryview(mark(content).encode("ascii") + b" " + content)
        while line:
            line = line[self._file.write(line) :]
        self._games[number] = lines

    def text(self) -> str:
        """The lines of all episodes in the order of the games' numbers; the journal must hold every game."""
        return "".join(f"{line}\n" for number in self._numbers for line in self._games[number])


def read(path: Path, numbers: Sequence[int]) -> tuple[dict[int, list[str]], int]:
    """The games of a journal by number, and the size of its complete lines in bytes.

    A file that does not exist has no games.

    Raises:
        Damaged: a complete line is damaged; the error names file and line.
    """
    games: dict[int, list[str]] = {}
    size = 0
    if not path.is_file():
        return games, size
    with path.open("rb") as file:
        for place, line in enumerate(file, 1):
            if not line.endswith(b"\n"):  # cut off by a kill
                break
            game = _game(line, numbers)
            if game is None:
                raise Damaged(f"{path}:{place}: this line is not what was written; {ADVICE}")
            games.setdefault(*game)
            size += len(line)
    return games, size


def write_shard(path: Path, text: str) -> None:
    """Write the digest of a shard, then replace its file of episodes in one step."""
    content = text.encode("utf-8")
    for target, part in ((path.with_suffix(DIGEST), "\n".join(_digest(content)) + "\n"), (path, text)):
        with atomic.replacing(target, private=True) as aside:
            atomic.write_synced(aside, part)


def read_shard(path: Path) -> bytes:
    """Read the episodes of a shard and compare them with the digest.

    Raises:
        Damaged: the digest is missing, or the shard does not match it; the error names file and line.
    """
    content, digest = path.read_bytes(), path.with_suffix(DIGEST)
    if not digest.is_file():
        raise Damaged(
            f"{path}: {digest.name} is missing, so the episodes cannot be checked for damage; {ADVICE}"
        )
    actual, written = _digest(content), digest.read_bytes().decode("ascii", "replace").splitlines()
    if actual != written:
        pairs = zip(actual[1:], written[1:])
        differing = (line for line, (first, second) in enumerate(pairs, 1) if first != second)
        place = max(1, next(differing, min(len(actual), len(written))))
        raise Damaged(f"{path}:{place}: from this line on the episodes are not what was written; {ADVICE}")
    return content


def _digest(content: bytes) -> list[str]:
    return [hashlib.sha256(content).hexdigest(), *(mark(line) for line in content.splitlines(keepends=True))]


def _game(line: bytes, numbers: Sequence[int]) -> tuple[int, list[str]] | None:
    """The game's number and episodes in a line of a journal; None if `add` did not write the line."""
    content = line[MARK + 1 :]
    if line[: MARK + 1] != mark(content).encode("ascii") + b" ":
        return None
    try:
        number, lines = GAME(json_files.loads(content))
    except ValueError:
        return None
    right = number in numbers and lines and not any("\n" in each for each in lines)
    return (number, list(lines)) if right else None
