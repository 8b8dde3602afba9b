"""Files of vectors: `.vec` and `.txt` (one word per line, also gzipped), word2vec's `.bin`, and `.npy`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import opening
from loquent.core.guards.opening import open_bytes, raw_lines
from loquent.errors import BadRow, BadSetting

MOST_NUMBERS = 1 << 16  # of a vector
LONGEST_WORD = 10_000  # bytes

KINDS = ".vec, .txt, .vec.gz, .txt.gz, .bin or .npy"
Table = tuple[dict[str, int], NDArray[np.float32]]  # the row of each word; float32[rows, dimension]


def read(path: str, words: str = "", limit: int = 0) -> Table:
    """The words of a file and their vectors, in the file's order.

    If a word occurs twice, its first vector counts.

    Args:
        words: for `.npy` the file with one word per line; empty: the same name with `.words.txt`.
        limit: the number of words to read from the beginning; 0: all.

    Raises:
        BadSetting: the file does not exist, or has another format.
        BadRow: a line is not a word with as many finite numbers as the first line; names file and line.
    """
    place = existing(path)
    name = place.name.removesuffix(".gz")
    if name.endswith(".npy"):
        return _array(
            place, existing(words) if words else existing(str(place.with_suffix(".words.txt"))), limit
        )
    if name.endswith(".bin"):
        return _table(place, _binary(place, limit))
    if name.endswith((".vec", ".txt")):
        return _table(place, _lines(place, limit))
    raise BadSetting(f"{path} is not a known file of vectors; its name must end in {KINDS}")


def existing(path: str) -> Path:
    """The path of an existing file, with ~ expanded; BadSetting if there is no such file."""
    place = Path(path).expanduser()
    if not place.is_file():
        raise BadSetting(f"there is no file {path}; it must be the path of a file of vectors or of its words")
    return place


def hash_files(*paths: str) -> str:
    """A hash of the contents of files, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in paths:
        with existing(path).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, gzipped or not, numbered from 1; BadRow for a line that is not UTF-8."""
    number = 0
    try:
        with open_bytes(path) as file:
            for number, line in enumerate(raw_lines(file), 1):
                yield number, line.decode("utf-8").rstrip("\r\n ")
    except UnicodeDecodeError as error:
        why = f"this line is not UTF-8 ({error.reason}); save the file as UTF-8"
        raise BadRow(why, file=path, line=number) from error
    except OSError as error:
        raise BadRow(f"this file cannot be read further ({error})", file=path, line=number + 1) from error


def _table(place: Path, rows: Iterator[tuple[int, str, NDArray[np.float32]]]) -> Table:
    places: dict[str, int] = {}
    vectors: list[NDArray[np.float32]] = []
    for number, word, vector in rows:
        if not np.isfinite(vector).all():
            raise BadRow(
                f"the vector of {word!r} has a number that is not finite; all numbers must be finite",
                file=place,
                line=number,
            )
        if word not in places:
            places[word] = len(vectors)
            vectors.append(vector)
    if not vectors:
        raise BadRow("this file holds no vector; it must hold at least one", file=place)
    return places, np.stack(vectors)


def _lines(place: Path, limit: int) -> Iterator[tuple[int, str, NDArray[np.float32]]]:
    """Lines of a word and its numbers; the first may be fastText's header: word count, dimension."""
    dimension = count = 0
    for number, line in text_lines(place):
        parts = line.split(" ")
        if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
            dimension = int(parts[1])
            continue
        if not line:
            continue
        dimension = dimension or len(parts) - 1
        try:
            vector = np.array(list(map(float, parts[-dimension:])))
        except ValueError:
            vector = np.zeros(0)
        word = " ".join(parts[:-dimension])  # a few words of GloVe's hold spaces
        if len(vector) != dimension or not word or not dimension:
            why = f"this line is {line[:60]!r}; it must hold a word and {dimension} numbers"
            raise BadRow(why, file=place, line=number)
        yield number, word, vector.astype(np.float32)
        count += 1
        if count == limit:
            return


def _binary(place: Path, limit: int) -> Iterator[tuple[int, str, NDArray[np.float32]]]:
    """word2vec's binary format: a header, then each word, a space and little-endian float32 numbers."""
    with place.open("rb") as file:
        header = file.readline(100).split()
        if len(header) != 2 or not all(part.isdigit() for part in header) or not int(header[1]):
            raise BadRow(
                "this file has no header; it must begin with the number of words and the dimension",
                file=place,
            )
        count, dimension = map(int, header)
        if dimension > MOST_NUMBERS:
            raise BadRow(f"vectors of {dimension:,} numbers; at most {MOST_NUMBERS:,} are read", file=place)
        for i in range(min(count, limit or count)):
            name = bytearray()
            while (byte := file.read(1)) not in (b" ", b""):
                name += byte
                if len(name) > LONGEST_WORD:
                    raise BadRow(f"word {i + 1} has more than {LONGEST_WORD:,} bytes", file=place)
            raw = file.read(4 * dimension)
            if len(raw) < 4 * dimension:
                raise BadRow(
                    f"the file ends within word {i + 1} of {count}; get a new copy of it", file=place
                )
            yield (
                i + 1,
                name.decode("utf-8", "replace").lstrip("\n"),
                np.frombuffer(raw, dtype="<f4").astype(np.float32),
            )


def _array(place: Path, word_file: Path, limit: int) -> Table:
    """The rows of an array, memory-mapped from disk."""
    try:
        array = opening.array(place)
    except OSError as error:
        raise BadRow(
            f"this file cannot be read ({error}); it must be an array in numpy's format without pickles",
            file=place,
        ) from error
    words = [line for _, line in text_lines(word_file)]
    if array.ndim != 2 or array.dtype.kind != "f" or len(array) != len(words):
        raise BadRow(
            f"the array {array.dtype}{list(array.shape)} does not fit the {len(words)} words of "
            f"{word_file.name}; it must be float[words, n]",
            file=place,
        )
    count = min(len(words), limit or len(words))
    places: dict[str, int] = {}
    for i, word in enumerate(words[:count]):
        places.setdefault(word, i)
    return places, array[:count]
