"""WordNet's files, read in place from a folder or a zip of NLTK or Debian: synonyms, and irregular forms.

The index is read once, and a sense when it is needed, so a look-up costs microseconds. Base forms are those
of WordNet's `morphy` (exceptions, else endings), and the word itself is included.
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from loquent.core.guards import opening
from loquent.data import content
from loquent.errors import BadSetting

PARTS = ("noun", "verb", "adj", "adv")
ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}
DEBIAN = Path("/usr/share/wordnet")


class WordNet:
    """The senses of English words."""

    def __init__(self, path: Path) -> None:
        read = _reader(path)
        with _named(path):
            self._index = {part: _index(read(f"index.{part}")) for part in PARTS}
            self._data = {part: read(f"data.{part}") for part in PARTS}
            self._exceptions = {part: _exceptions(read(f"{part}.exc")) for part in PARTS}
        self.synonyms = lru_cache(maxsize=1 << 16)(self._synonyms)

    def _synonyms(self, word: str) -> frozenset[str]:
        """All single words of all senses of `word` and of its base forms; empty for an unknown word."""
        word = word.lower()
        senses = {
            (part, offset)
            for part in PARTS
            for form in self._forms(word, part)
            for offset in self._index[part][form]
        }
        return frozenset(
            name for part, offset in senses for name in self._names(part, offset) if "_" not in name
        )

    def _forms(self, word: str, part: str) -> list[str]:
        """The word and its base forms that WordNet has as this part of speech."""
        bases = self._exceptions[part].get(word)
        if bases is None:
            bases = [word[: -len(old)] + new for old, new in ENDINGS[part] if word.endswith(old)]
        return [form for form in dict.fromkeys([word, *bases]) if form in self._index[part]]

    def _names(self, part: str, offset: int) -> list[str]:
        """The words of one sense, without markers such as "(a)" after adjectives.

        Its line is `offset file type count word id word id ...`.
        """
        data = self._data[part]
        fields = data[offset : data.index(b"\n", offset)].split(b" ", 4)
        count = int(fields[3], 16)
        return [
            name.partition(b"(")[0].decode() for name in fields[4].split(b" ", 2 * count)[: 2 * count : 2]
        ]


def find(setting: str) -> Path | None:
    """The path of WordNet, or None without WordNet.

    Args:
        setting: a path; "auto" for the first of `places()` with WordNet; "none" for no WordNet.

    Raises:
        BadSetting: `setting` is a path without WordNet.
    """
    if setting == "none":
        return None
    if setting != "auto":
        path = Path(setting).expanduser()
        if not _complete(path):
            raise BadSetting(
                f"wordnet = {setting!r} is not a WordNet: {_missing(path)}. A folder or zip with "
                "index.*, data.* and *.exc is allowed"
            )
        return path
    return next((place for place in places() if _complete(place)), None)


def places() -> list[Path]:
    """The paths that "auto" searches, in this order: NLTK's folders, then Debian's."""
    roots: list[str | Path] = [
        *filter(None, os.environ.get("NLTK_DATA", "").split(os.pathsep)),
        Path.home() / "nltk_data",
    ]
    roots += [Path(sys.prefix) / folder for folder in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    roots += [
        Path(root) / "nltk_data" for root in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")
    ]
    return [*(Path(root) / "corpora" / name for root in roots for name in ("wordnet", "wordnet.zip")), DEBIAN]


@content.cache_reads(4)
def load(path: str) -> WordNet:
    """The WordNet at a path, read again if its files have changed."""
    return WordNet(Path(path))


def exceptions(setting: str) -> dict[str, str]:
    """The base form of each irregular form.

    If several parts of speech have the form, verbs come first, then nouns, adverbs, adjectives (ROUGE's
    choice).

    Raises:
        BadSetting: there is no WordNet.
    """
    path = find(setting)
    if path is None:
        raise BadSetting(
            f"wordnet = {setting!r}, and there is no WordNet in {', '.join(map(str, places()))}. "
            "Install WordNet, or name its folder or zip"
        )
    read, bases = _reader(path), dict[str, str]()
    with _named(path):
        for part in ("adj", "adv", "noun", "verb"):
            for form, base in _exceptions(read(f"{part}.exc")).items():
                bases[form] = base[0]
    return bases


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """BadSetting with the path where a file cannot be read or is not as WordNet's."""
    try:
        yield
    except (OSError, ValueError, IndexError) as error:
        raise BadSetting(f"wordnet = {str(path)!r}: it cannot be read ({error}); get it again") from error


def _files(path: Path) -> dict[str, str]:
    """The names in a folder or zip, by their last part."""
    if path.is_dir():
        return {file.name: file.name for file in path.iterdir()}
    if not zipfile.is_zipfile(path):
        return {}
    with opening.archive(path) as archive:
        return {name.rpartition("/")[2]: name for name in archive.namelist()}


def _complete(path: Path) -> bool:
    return not _missing(path)


def _missing(path: Path) -> str:
    with _named(path):
        files = _files(path)
    names = [name for part in PARTS for name in (f"index.{part}", f"data.{part}", f"{part}.exc")]
    missing = [name for name in names if name not in files]
    return f"{', '.join(missing[:3])} missing" if missing else ""


def _reader(path: Path) -> Callable[[str], bytes]:
    files = _files(path)

    def read(name: str) -> bytes:
        if path.is_dir():
            return opening.whole(path / name)
        with opening.archive(path) as archive:
            return opening.member(archive, files[name])

    return read


def _index(text: bytes) -> dict[str, tuple[int, ...]]:
    """The offsets of each word's senses: `word part senses pointers pointer... senses tagged offset...`."""
    offsets = {}
    for line in text.decode().splitlines():
        if line and not line.startswith(" "):
            fields = line.split()
            offsets[fields[0]] = tuple(map(int, fields[-int(fields[2]) :]))
    return offsets


def _exceptions(text: bytes) -> dict[str, list[str]]:
    return {form: bases for form, *bases in (line.split() for line in text.decode().splitlines()) if bases}
