"""WordNet's files read in place: the words that share a sense with a word, and irregular forms. A folder or a zip, of NLTK or Debian.

The index is read once and a sense when it is asked for, so that one word costs microseconds. Base forms are found as WordNet's
`morphy` does (exceptions, else endings), words before endings are cut included.
"""

from __future__ import annotations

import os
import sys
import zipfile
from functools import cache, lru_cache
from pathlib import Path

from loquent.errors import BadSetting

PARTS = ("noun", "verb", "adj", "adv")
ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}
DEBIAN = Path("/usr/share/wordnet")


class WordNet:
    """The senses of English words."""

    def __init__(self, path: Path) -> None:
        read = _reader(path)
        self._index = {part: _index(read(f"index.{part}")) for part in PARTS}
        self._data = {part: read(f"data.{part}") for part in PARTS}
        self._exceptions = {part: _exceptions(read(f"{part}.exc")) for part in PARTS}
        self.synonyms = lru_cache(maxsize=1 << 16)(self._synonyms)

    def _synonyms(self, word: str) -> frozenset[str]:
        """All single words of all senses of `word` and of its base forms; empty where WordNet has none."""
        word = word.lower()
        senses = {(part, offset) for part in PARTS for form in self._forms(word, part) for offset in self._index[part][form]}
        return frozenset(name for part, offset in senses for name in self._names(part, offset) if "_" not in name)

    def _forms(self, word: str, part: str) -> list[str]:
        """The word and its base forms, as far as WordNet has them as this part of speech."""
        cut = self._exceptions[part].get(word)
        if cut is None:
            cut = [word[: -len(old)] + new for old, new in ENDINGS[part] if word.endswith(old)]
        return [form for form in dict.fromkeys([word, *cut]) if form in self._index[part]]

    def _names(self, part: str, offset: int) -> list[str]:
        """The words of one sense: a line `offset file type count word id word id ...`, with markers such as "(a)" behind adjectives."""
        data = self._data[part]
        fields = data[offset : data.index(b"\n", offset)].split(b" ", 4)
        count = int(fields[3], 16)
        return [name.partition(b"(")[0].decode() for name in fields[4].split(b" ", 2 * count)[: 2 * count : 2]]


def find(asked: str) -> Path | None:
    """Where WordNet is: the path asked for; with "auto" NLTK's folders, then Debian's, None without one; None when "none" is asked for.

    Raises:
        BadSetting: a path was asked for, and no WordNet is there.
    """
    if asked == "none":
        return None
    if asked != "auto":
        path = Path(asked).expanduser()
        if not _complete(path):
            raise BadSetting(f"wordnet = {asked!r} holds no WordNet: {_lacking(path)}; a folder or zip with index.*, data.* and *.exc is right")
        return path
    return next((place for place in places() if _complete(place)), None)


def places() -> list[Path]:
    """Where "auto" looks, in this order."""
    roots: list[str | Path] = [*filter(None, os.environ.get("NLTK_DATA", "").split(os.pathsep)), Path.home() / "nltk_data"]
    roots += [Path(sys.prefix) / folder for folder in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    roots += [Path(root) / "nltk_data" for root in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")]
    return [*(Path(root) / "corpora" / name for root in roots for name in ("wordnet", "wordnet.zip")), DEBIAN]


@cache
def load(path: Path) -> WordNet:
    """The WordNet at a path, read once in a process."""
    return WordNet(path)


def exceptions(asked: str) -> dict[str, str]:
    """Irregular forms and their base form: the first one of the last list that has the form, verbs being the last (ROUGE's choice).

    Raises:
        BadSetting: no WordNet is there.
    """
    path = find(asked)
    if path is None:
        raise BadSetting(f"wordnet = {asked!r}: there is none in {', '.join(map(str, places()))}")
    read, found = _reader(path), dict[str, str]()
    for part in ("adj", "adv", "noun", "verb"):
        for form, base in _exceptions(read(f"{part}.exc")).items():
            found[form] = base[0]
    return found


def _files(path: Path) -> dict[str, str]:
    """The names in a folder or zip by their last part."""
    if path.is_dir():
        return {file.name: file.name for file in path.iterdir()}
    if not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name.rpartition("/")[2]: name for name in archive.namelist()}


def _complete(path: Path) -> bool:
    return not _lacking(path)


def _lacking(path: Path) -> str:
    files = _files(path)
    lacking = [name for part in PARTS for name in (f"index.{part}", f"data.{part}", f"{part}.exc") if name not in files]
    return f"{', '.join(lacking[:3])} missing" if lacking else ""


def _reader(path: Path):  # type: ignore[no-untyped-def]
    files = _files(path)

    def read(name: str) -> bytes:
        if path.is_dir():
            return (path / name).read_bytes()
        with zipfile.ZipFile(path) as archive:
            return archive.read(files[name])

    return read


def _index(text: bytes) -> dict[str, tuple[int, ...]]:
    """Words and the offsets of their senses: `word part senses pointers pointer... senses tagged offset...`."""
    found = {}
    for line in text.decode().splitlines():
        if line and not line.startswith(" "):
            fields = line.split()
            found[fields[0]] = tuple(map(int, fields[-int(fields[2]) :]))
    return found


def _exceptions(text: bytes) -> dict[str, list[str]]:
    return {form: base for form, *base in (line.split() for line in text.decode().splitlines()) if base}
