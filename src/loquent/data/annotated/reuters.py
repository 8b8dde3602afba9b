"""Reuters-21578, ModApte split: the collection's own SGML files, or the layout of NLTK (a folder or zip with cats.txt).

Documents are split as a whole. Both forms hold the documents that have a category: the SGML files' others (TOPICS="YES" with an
empty list, and those outside the split) are no rows, as in NLTK's selection. Categories stand in alphabetical order.
"""

from __future__ import annotations

import gzip
import html
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from loquent.data.annotated.placed import Placed
from loquent.data.readers import Fields
from loquent.errors import BadRow

SPLITS = {"TRAIN": "train", "TEST": "test", "training": "train", "test": "test"}
BOUND = re.compile(rb"<(/?)REUTERS\b")
DOCUMENT = re.compile(rb"<REUTERS(.*?)>(.*?)</REUTERS>", re.DOTALL)
ATTRIBUTE = re.compile(r'(\w+)="(.*?)"')
TOPIC = re.compile(r"<D>(.*?)</D>")
ENDINGS = (".sgm", ".sgm.gz", ".sgml", ".sgml.gz")


def is_reuters(path: Path) -> bool:
    """Whether a path holds the collection in one of its forms."""
    if path.is_dir():
        return (path / "cats.txt").is_file() or any(file.name.lower().endswith(ENDINGS) for file in path.iterdir())
    return path.name.lower().endswith((*ENDINGS, ".zip"))


def read(path: Path) -> dict[str, Placed]:
    """The documents of each split, `text` with `labels`, under their numbers in the collection.

    Raises:
        BadRow: a file is no such file, a document has no split or no text; names file and line.
    """
    if path.is_dir() and (path / "cats.txt").is_file():
        return _nltk(lambda name: (path / name).read_bytes(), str(path))
    if path.name.lower().endswith(".zip"):
        return _zip(path)
    found: dict[str, list[tuple[tuple[object, int | None], Fields]]] = {}
    home: dict[str, str] = {}
    for file in [path] if path.is_file() else sorted(file for file in path.iterdir() if file.name.lower().endswith(ENDINGS)):
        for split, line, fields in _sgml(file):
            _once(fields["id"], home, file, line)
            found.setdefault(split, []).append(((file, line), fields))
    if not found:
        raise BadRow("no document here is in the ModApte split and has a category", file=path)
    return {split: iter(records) for split, records in found.items()}


def _sgml(file: Path) -> Iterator[tuple[str, int, Fields]]:
    try:
        raw = gzip.decompress(file.read_bytes()) if file.suffix.lower() == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise BadRow(f"this file cannot be read ({error})", file=file) from error
    if not raw.lstrip().startswith(b"<!DOCTYPE lewis"):
        raise BadRow('this is no file of Reuters-21578: its first line is not <!DOCTYPE lewis SYSTEM "lewis.dtd">', file=file, line=1)
    _whole(raw, file)
    end = line = 0
    for match in DOCUMENT.finditer(raw):
        line, end = line + raw.count(b"\n", end, match.start()), match.start()
        head, body = (part.decode("latin-1") for part in match.groups())
        attributes = dict(ATTRIBUTE.findall(head))
        if not {"TOPICS", "LEWISSPLIT", "NEWID"} <= attributes.keys():
            raise BadRow("this document has no TOPICS, LEWISSPLIT or NEWID", file=file, line=line + 1)
        if "<TOPICS>" not in body:
            raise BadRow("this document has no <TOPICS>", file=file, line=line + 1)
        topics = sorted(TOPIC.findall(_inside(body, "TOPICS")))
        split = SPLITS.get(attributes["LEWISSPLIT"]) if attributes["TOPICS"] == "YES" else None
        if split and topics:
            parts = [html.unescape(_inside(body, part)).strip("\x02\x03 \n") for part in ("TITLE", "BODY")]
            text = "\n".join(part for part in parts if part) or re.sub("<.*?>", "", _inside(body, "TEXT")).strip("\x02\x03 \n")
            yield split, line + 1, {"id": attributes["NEWID"], "text": text, "labels": topics}


def _whole(raw: bytes, file: Path) -> None:
    """BadRow where a document does not begin and end: it would be lost, or run together with the next."""
    opened: int | None = None
    for match in BOUND.finditer(raw):
        if bool(match.group(1)) == (opened is None):
            why = "here a document ends that has no <REUTERS ...>" if opened is None else "this document has no </REUTERS>"
            raise BadRow(why, file=file, line=1 + raw.count(b"\n", 0, match.start() if opened is None else opened))
        opened = None if match.group(1) else match.start()
    if opened is not None:
        raise BadRow("this document has no </REUTERS>; the file is cut off", file=file, line=1 + raw.count(b"\n", 0, opened))


def _once(number: str, home: dict[str, str], file: object, line: int) -> None:
    """BadRow where a document stands twice, in one split or in two: its number is that of the whole collection."""
    if number in home:
        raise BadRow(f"the document {number} stands already at {home[number]}", file=file, line=line)
    home[number] = f"{file}:{line}"


def _inside(body: str, tag: str) -> str:
    match = re.search(rf"<{tag}[^>]*>(.*?)</{tag}>", body, re.DOTALL)
    return match.group(1) if match else ""


def _zip(path: Path) -> dict[str, Placed]:
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise BadRow(f"this is no zip file ({error})", file=path) from error
    with archive:
        lists = [name for name in archive.namelist() if name.split("/")[-1] == "cats.txt"]
        if len(lists) != 1:
            raise BadRow("the layout of NLTK has one cats.txt, which lists the documents and their categories", file=path)
        folder = lists[0].removesuffix("cats.txt")
        return _nltk(lambda name: archive.read(folder + name), str(path))


def _nltk(content: Callable[[str], bytes], place: str) -> dict[str, Placed]:
    found: dict[str, list[tuple[tuple[object, int | None], Fields]]] = {}
    home: dict[str, str] = {}
    listed = f"{place}/cats.txt"
    for line, entry in enumerate(content("cats.txt").decode("latin-1").splitlines(), 1):
        name, *labels = entry.split() or [""]
        folder, slash, number = name.partition("/")
        if not slash or folder not in SPLITS or not labels:
            raise BadRow(f"{entry[:60]!r} is not of the form training/NUMBER CATEGORY ... or test/NUMBER CATEGORY ...", file=listed, line=line)
        _once(number, home, listed, line)
        try:
            text = content(name).decode("latin-1").strip()
        except (OSError, KeyError) as error:
            raise BadRow(f"the document {name} cannot be read ({error})", file=listed, line=line) from error
        found.setdefault(SPLITS[folder], []).append(((listed, line), {"id": number, "text": text, "labels": sorted(labels)}))
    return {split: iter(records) for split, records in found.items()}
