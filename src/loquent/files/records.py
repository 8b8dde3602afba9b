"""The record of a file: lines, bytes, SHA-256 and a mark of each line.

The marks show which line has changed.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loquent.core.settings import setting
from loquent.errors import Damaged

MARK = 8  # hexadecimal digits of a line's CRC-32


@dataclass(frozen=True)
class Fingerprint:
    """What a record holds: the numbers of lines and bytes, the SHA-256, and the marks of all lines."""

    lines: int = setting(low=0)
    bytes: int = setting(low=0)
    sha256: str = setting()
    marks: str = setting()

    def __post_init__(self) -> None:
        if len(self.marks) != self.lines * MARK:
            raise ValueError(f"it has marks of {len(self.marks) / MARK:g} lines, and lines = {self.lines}")


class FileRecord:
    """The record of a file that grows.

    Each byte is read once, so a later change of a line is not followed.
    """

    def __init__(self) -> None:
        self._sha, self._bytes, self._marks = hashlib.sha256(), 0, list[str]()

    def read_on(self, path: Path) -> None:
        """Read the lines that were added to the file."""
        with path.open("rb") as file:
            file.seek(self._bytes)
            for line in file:
                self._sha.update(line)
                self._bytes += len(line)
                self._marks.append(mark(line))

    def as_json(self) -> dict[str, Any]:
        """The record as JSON."""
        marks = "".join(self._marks)
        return asdict(Fingerprint(len(self._marks), self._bytes, self._sha.hexdigest(), marks))


def mark(line: bytes) -> str:
    """The CRC-32 of a line, in hexadecimal."""
    return f"{zlib.crc32(line):0{MARK}x}"


def check(path: Path, record: Fingerprint, *, grows: bool) -> bytes:
    """Compare a file with its record and return its bytes up to the record.

    Args:
        grows: whether lines may have been added since; they are not returned.

    Raises:
        Damaged: the file is missing, is not a file, or a line is missing, added or changed; names the file
            and the line.
    """
    advice = f"restore its {record.lines} lines from a copy"
    if not path.is_file():
        raise Damaged(f"{path} {'is no file' if path.exists() else 'is missing'}; {advice}")
    with path.open("rb") as file:
        content = file.read(record.bytes if grows else record.bytes + 1)
    if hashlib.sha256(content).hexdigest() != record.sha256:
        raise Damaged(f"{path}{_difference(content, record.marks)}; {advice}")
    return content


def _difference(content: bytes, marks: str) -> str:
    """The first line that differs, and how it differs."""
    expected = [marks[i : i + MARK] for i in range(0, len(marks), MARK)]
    actual = [mark(line) for line in _lines(content)]
    shorter = min(len(actual), len(expected))
    place = next((i for i in range(shorter) if actual[i] != expected[i]), shorter)
    if place >= len(actual):
        return f" ends after line {len(actual)}, and {len(expected)} were written"
    if place < len(expected) and actual[place] in expected[place + 1 :]:
        return f":{place + 1}: a line is missing before this one"
    if place >= len(expected) or expected[place] in actual[place + 1 :]:
        return f":{place + 1}: this line was not written by the run"
    return f":{place + 1}: this line is not what the run wrote"


def _lines(content: bytes) -> list[bytes]:
    parts = content.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + [parts[-1]] * bool(parts[-1])
