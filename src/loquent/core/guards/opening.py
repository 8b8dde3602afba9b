"""The one opener of files that may be compressed, with bounds on what comes out of them.

A small file can decompress to gigabytes, and a file without line ends is one line. Both raise an OSError with
the bound, which readers report with the file.
"""

from __future__ import annotations

import gzip
import io
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

EXPANSION = 50  # decompressed bytes for each byte; texts have 3 to 20
FREE = 1 << 23  # 8 MiB, decompressed whatever the size
MOST_LINE = 1 << 24  # 16 MiB: bytes of a line
PIECE = 1 << 20  # bytes that are read at a time
MOST_WHOLE = 1 << 26  # 64 MiB: bytes of a file that is read as one piece
BROKEN = (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, RuntimeError, NotImplementedError)


class _Bounded(io.RawIOBase):
    """The decompressed bytes of a file, up to a bound that grows with the bytes that were read of it."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("rb")
        self.inner: Any = gzip.GzipFile(fileobj=self.file)
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.inner.read(min(len(buffer), PIECE))
        except BROKEN as error:
            raise OSError(str(error)) from error
        self.count += len(data)
        check_expansion(self.count, self.file.tell())
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.inner.close()
        self.file.close()
        super().close()


def open_bytes(path: Path) -> BinaryIO:
    """A file to read bytes from; a file whose name ends with .gz is decompressed.

    Raises:
        OSError: the file cannot be opened; while it is read, also if it decompresses to too much.
    """
    check_regular(path)
    if path.suffix.lower() == ".gz":
        return io.BufferedReader(_Bounded(path))
    return path.open("rb")


def whole(path: Path, most: int = MOST_WHOLE) -> bytes:
    """The bytes of a file, decompressed; OSError where there are more than `most`."""
    content = bytearray()
    with open_bytes(path) as file:
        while part := file.read(PIECE):  # to ask for `most` at once would take as much memory
            content += part
            if len(content) > most:
                raise OSError(f"it has more than {most:,} bytes")
    return bytes(content)


def array(path: Path) -> Any:
    """The array of a .npy file, mapped from disk; OSError if the file is none, or needs pickle."""
    import numpy as np

    check_regular(path)
    with _numpy_errors():
        return np.load(path, mmap_mode="r", allow_pickle=False)


@contextmanager
def _numpy_errors() -> Iterator[None]:
    """One kind of error for all that numpy raises for a damaged header or a size that does not fit."""
    try:
        yield
    except (*BROKEN, ValueError, TypeError, ArithmeticError, SyntaxError, TokenError, MemoryError) as error:
        raise OSError(f"it is no file of numpy ({str(error)[:200]})") from error


def member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of a file in a zip archive.

    Raises:
        KeyError: there is no such file. OSError: it is damaged, or it would decompress to too much.
    """
    _check_member(archive.getinfo(name))
    try:
        return archive.read(name)
    except BROKEN as error:
        raise OSError(f"{name} in the archive cannot be read: {error}") from error


@contextmanager
def archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip archive; OSError if the file is none."""
    check_regular(path)
    try:
        opened = zipfile.ZipFile(path)
    except (*BROKEN, ValueError) as error:
        raise OSError(f"it is no zip archive: {error}") from error
    with opened:
        yield opened


def _check_member(entry: zipfile.ZipInfo) -> None:
    check_expansion(entry.file_size, entry.compress_size)
    if entry.file_size > MOST_WHOLE and entry.compress_type != zipfile.ZIP_STORED:
        raise OSError(f"{entry.filename} in the archive has more than {MOST_WHOLE:,} bytes")


def check_regular(path: Path) -> None:
    """OSError for a device, a pipe or a folder, which may have no end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is not a regular file")


def check_expansion(bytes_of_content: int, bytes_of_file: int) -> None:
    """OSError for a content that is much larger than the file which it stands in."""
    most = FREE + EXPANSION * bytes_of_file
    if bytes_of_content > most:
        raise OSError(
            f"it decompresses to more than {most:,} bytes, which is {EXPANSION} times its size and {FREE:,} "
            "bytes more; decompress it yourself if you trust it"
        )


def raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file with their ends; OSError for a line of more than `MOST_LINE` bytes."""
    for line in iter(lambda: file.readline(MOST_LINE + 1), b""):
        _check_line(len(line))
        yield line


def blocks_of_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file with their ends, about `PIECE` bytes at a time; errors as `raw_lines`."""
    rest = b""
    while piece := file.read(PIECE):
        block, end, rest = (rest + piece).rpartition(b"\n")
        if len(block) >= MOST_LINE:
            yield from raw_lines(io.BytesIO(block + end))
        elif end:
            yield block + end
        _check_line(len(rest))
    if rest:
        yield rest


def _check_line(length: int) -> None:
    if length > MOST_LINE:
        raise OSError(f"a line has more than {MOST_LINE:,} bytes; put each row on a line of its own")
