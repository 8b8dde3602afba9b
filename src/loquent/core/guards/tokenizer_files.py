"""The check of a tokenizer.json before its first use here.

A tokenizer is a program: a few kilobytes of it can make a text gigabytes long. A process with limits reads
it first, bounds how much longer it can make any text, and uses it on a few texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loquent.core.guards import sandbox
from loquent.errors import BadModel, MissingExtra

WORKER = Path(__file__).with_name("tokenizer_worker.py")
SECONDS = 30  # of processor time; 256,000 tokens take 2
MEMORY = 3 << 30  # bytes of address space
MEMORY_OF_TRANSFORMERS = 8 << 30  # its import takes most of it
MOST_BYTES = 1 << 26  # of a file; tokenizer.json of Gemma 3 has 33 MB
_ACCEPTED: set[str] = set()  # digests of the contents that passed in this process
ADVICE = "use a model with another tokenizer, or get the file again"


def check(file: Path) -> None:
    """Check a tokenizer.json; a content is checked once in a process.

    Raises:
        BadModel: there is no such file, it is no tokenizer, or reading or using it exceeds a bound.
    """
    if not file.is_file():
        raise BadModel(f"{file} is missing or is no file; {ADVICE}")
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise BadModel(
            f"{file} has {size:,} bytes; at most {MOST_BYTES:,} are allowed. Use a model with a smaller file"
        )
    _check(file, [file], WORKER, {"file": str(file.resolve())}, MEMORY)


def check_folder(folder: Path, names: Iterable[str], worker: Path) -> None:
    """Check the tokenizer of a folder without tokenizer.json, of which transformers makes one.

    Args:
        names: the names of all files that may be read.
        worker: the file that converts and checks them.

    Raises:
        BadModel: as `check`.
    """
    files = [folder / name for name in sorted(names) if (folder / name).is_file()]
    _check(folder, files, worker, {"folder": str(folder.resolve())}, MEMORY_OF_TRANSFORMERS)


def _check(place: Path, files: Sequence[Path], worker: Path, job: dict[str, str], memory: int) -> None:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    if digest.hexdigest() in _ACCEPTED:
        return
    try:
        sandbox.run(worker, job, seconds=SECONDS, memory=memory)
    except sandbox.Failed as reason:
        raise BadModel(f"{place} is not a tokenizer that can be used: {reason}; {ADVICE}") from None
    _ACCEPTED.add(digest.hexdigest())


def load(file: Path, what: str) -> Any:
    """The `tokenizers.Tokenizer` of a checked file, without the truncation and the padding it may ask for.

    Args:
        what: what needs the library, for the error if it is not installed.

    Raises:
        BadModel: as `check`.
        MissingExtra: the package tokenizers is not installed.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra(what, "train") from error
    check(file)
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except BaseException as error:  # the check reads large files in part; the library raises Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise BadModel(f"{file} is not a tokenizer ({str(error)[:200]}); {ADVICE}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@contextmanager
def encoding(tokenizer: Any, texts: Sequence[str], place: object = None) -> Iterator[None]:
    """A block that encodes texts with a tokenizer, which may have no token for unknown words.

    Args:
        tokenizer: one of the package tokenizers, or of transformers.
        place: where it is from; None: as it says itself.

    Raises:
        BadModel: a word has no token.
    """
    try:
        yield
    except Exception as error:
        if type(error) is not Exception:  # the package raises the bare class
            raise
        unknown = _without_token(tokenizer, texts)
        raise BadModel(
            f"{place or tokenizer.name_or_path}: the tokenizer has no token for {unknown} and none for "
            f"unknown words ({str(error)[:200]}); use a tokenizer with unk_token in its vocabulary"
        ) from error


def _without_token(tokenizer: Any, texts: Sequence[str]) -> str:
    """The first character that a tokenizer cannot encode, and its word."""

    def fails(text: str) -> bool:
        try:
            tokenizer.encode(text)
        except Exception:
            return True
        return False

    word = next((word for text in texts for word in text.split() if fails(word)), "".join(texts))
    character = next(filter(fails, word), word)
    return f"{character[:60]!r} in {word[:60]!r}"
