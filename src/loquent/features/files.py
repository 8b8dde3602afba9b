"""Files of vectors: one line a word (`.vec`, `.txt`, also gzipped), word2vec's `.bin`, and `.npy` with a list of words beside it."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadRow, BadSetting

KINDS = ".vec, .txt, .vec.gz, .txt.gz, .bin or .npy"
Table = tuple[dict[str, int], NDArray[np.float32]]  # the row of each word; float32[rows, dimension]


def read(path: str, words: str = "", limit: int = 0) -> Table:
    """The words of a file with their vectors, in its order; of a word that stands twice the first counts.

    Args:
        words: for `.npy` the file with one word a line; empty: the same name with `.words.txt`.
        limit: only the first so many words; 0: all.

    Raises:
        BadSetting: there is no such file, or it is of another kind.
        BadRow: a line is none of a word and as many finite numbers as the first has; names file and line.
    """
    place = existing(path)
    name = place.name.removesuffix(".gz")
    if name.endswith(".npy"):
        return _array(place, existing(words) if words else existing(str(place.with_suffix(".words.txt"))), limit)
    if name.endswith(".bin"):
        return _table(place, _binary(place, limit))
    if name.endswith((".vec", ".txt")):
        return _table(place, _lines(place, limit))
    raise BadSetting(f"{path} is no file of vectors that can be read; {KINDS} is right")


def existing(path: str) -> Path:
    """The file of that name; BadSetting where there is none."""
    place = Path(path).expanduser()
    if not place.is_file():
        raise BadSetting(f"there is no file {path}; the path of a file of vectors or of its words is right")
    return place


def hashed(*paths: str) -> str:
    """A hash of what stands in some files."""
    found = hashlib.sha256()
    for path in paths:
        with existing(path).open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()[:16]


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, gzipped or not, with their numbers from 1; BadRow where it is no UTF-8."""
    with gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield number, line.decode("utf-8").rstrip("\r\n ")
            except UnicodeDecodeError as error:
                raise BadRow(f"this line is no UTF-8 ({error.reason})", file=path, line=number) from error


def _table(place: Path, rows: Iterator[tuple[int, str, NDArray[np.float32]]]) -> Table:
    known: dict[str, int] = {}
    vectors: list[NDArray[np.float32]] = []
    for number, word, vector in rows:
        if not np.isfinite(vector).all():
            raise BadRow(f"the vector of {word!r} has a number that is not finite", file=place, line=number)
        if word not in known:
            known[word] = len(vectors)
            vectors.append(vector)
    if not vectors:
        raise BadRow("there is no vector in this file", file=place)
    return known, np.stack(vectors)


def _lines(place: Path, limit: int) -> Iterator[tuple[int, str, NDArray[np.float32]]]:
    """A word and its numbers a line; the first line may be fastText's head: how many words, how many numbers."""
    dimension = given = 0
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
            raise BadRow(f"this line is no word with {dimension} numbers behind it: {line[:60]!r}", file=place, line=number)
        yield number, word, vector.astype(np.float32)
        given += 1
        if given == limit:
            return


def _binary(place: Path, limit: int) -> Iterator[tuple[int, str, NDArray[np.float32]]]:
    """word2vec's own form: a head, then each word, a space, and its float32 numbers, little end first."""
    with place.open("rb") as file:
        head = file.readline(100).split()
        if len(head) != 2 or not all(part.isdigit() for part in head) or not int(head[1]):
            raise BadRow("this file does not begin with the number of words and of dimensions", file=place)
        count, dimension = map(int, head)
        for i in range(min(count, limit or count)):
            name = bytearray()
            while (byte := file.read(1)) not in (b" ", b""):
                name += byte
            raw = file.read(4 * dimension)
            if len(raw) < 4 * dimension:
                raise BadRow(f"the file ends within word {i + 1} of {count}", file=place)
            yield i + 1, name.decode("utf-8", "replace").lstrip("\n"), np.frombuffer(raw, dtype="<f4").astype(np.float32)


def _array(place: Path, listed: Path, limit: int) -> Table:
    """The rows of an array, left on disk until they are looked at."""
    try:
        array = np.load(place, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise BadRow(f"this is no array in numpy's format without pickles ({error})", file=place) from error
    words = [line for _, line in text_lines(listed)]
    if array.ndim != 2 or array.dtype.kind != "f" or len(array) != len(words):
        raise BadRow(
            f"an array of {array.dtype}{list(array.shape)} does not fit the {len(words)} words of {listed.name}; floats[words, n] are right",
            file=place,
        )
    count = min(len(words), limit or len(words))
    known: dict[str, int] = {}
    for i, word in enumerate(words[:count]):
        known.setdefault(word, i)
    return known, array[:count]
