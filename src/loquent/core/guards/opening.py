"""The one opener of files that may be compressed, with bounds on what comes out of them.

A small file can decompress to gigabytes, and a file without line ends is one line. Both raise an OSError with
the bound, which readers report with the file.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

EXPANSION = 100  # decompressed bytes for each byte of the file; texts have 3 to 20
FREE = 1 << 26  # 64 MiB, decompressed whatever the size of the file
MOST_LINE = 1 << 26  # bytes of a line


class _Bounded(io.RawIOBase):
    """The decompressed bytes of a file, up to a bound."""

    def __init__(self, path: Path) -> None:
        self.inner: Any = gzip.open(path, "rb")  # noqa: SIM115 - closed with this object
        self.most = FREE + EXPANSION * path.stat().st_size
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.inner.read(len(buffer))
        self.count += len(data)
        if self.count > self.most:
            raise OSError(
                f"it decompresses to more than {self.most:,} bytes, which is {EXPANSION} times its size and "
                f"{FREE:,} bytes more; decompress it yourself if you trust it"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.inner.close()
        super().close()


def open_bytes(path: Path) -> BinaryIO:
    """A file to read bytes from; a file whose name ends with .gz is decompressed.

    Raises:
        OSError: the file cannot be opened; while it is read, also if it decompresses to too much.
    """
    if path.suffix.lower() == ".gz":
        return io.BufferedReader(_Bounded(path))
    return path.open("rb")


def raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file with their ends; OSError for a line of more than `MOST_LINE` bytes."""
    for line in iter(lambda: file.readline(MOST_LINE + 1), b""):
        if len(line) > MOST_LINE:
            raise OSError(f"a line has more than {MOST_LINE:,} bytes; put each row on a line of its own")
        yield line
