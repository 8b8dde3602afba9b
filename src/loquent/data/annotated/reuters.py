"""Reuters-21578, ModApte split: the collection's own SGML files, or NLTK's layout.

NLTK's layout is a folder or a zip file with cats.txt. A document belongs to one split. Rows are the documents
with a category. Other documents of the SGML files (TOPICS="YES" with an empty list, and documents outside the
ModApte split) are ignored, as in NLTK's selection. Categories are in alphabetical order.
"""

from __future__ import annotations

import html
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Set
from pathlib import Path

from loquent.core.guards import opening
from loquent.core.settings import Remark
from loquent.data.columns import Placed
from loquent.data.readers import Fields
from loquent.errors import BadRow

SPLITS = {"TRAIN": "train", "TEST": "test", "training": "train", "test": "test"}
BOUND = re.compile(rb"<(/?)REUTERS\b")
DOCUMENT = re.compile(rb"<REUTERS(.*?)>(.*?)</REUTERS>", re.DOTALL)
ATTRIBUTE = re.compile(r'(\w+)="(.*?)"')
TOPIC = re.compile(r"<D>(.*?)</D>")
ENDINGS = (".sgm", ".sgm.gz", ".sgml", ".sgml.gz")


def is_reuters(path: Path) -> bool:
    """Whether a path holds the collection in one of its two formats."""
    if path.is_dir():
        return (path / "cats.txt").is_file() or any(
            file.name.lower().endswith(ENDINGS) for file in path.iterdir()
        )
    return path.name.lower().endswith((*ENDINGS, ".zip"))


def read(path: Path) -> dict[str, Placed]:
    """The documents of each split: `id` (the number in the collection), `text` and `labels`.

    Raises:
        BadRow: a file has another format or cannot be read, or a document is incomplete or occurs twice;
            names file and line.
    """
    if path.is_dir() and (path / "cats.txt").is_file():
        return _nltk(
            lambda name: opening.whole(path / name), str(path), {part.name for part in path.iterdir()}
        )
    if path.name.lower().endswith(".zip"):
        return _zip(path)
    splits: dict[str, list[tuple[tuple[object, int | None], Fields]]] = {}
    place_of: dict[str, str] = {}
    for file in (
        [path]
        if path.is_file()
        else sorted(file for file in path.iterdir() if file.name.lower().endswith(ENDINGS))
    ):
        for split, line, fields in _sgml(file):
            _check_unique(fields["id"], place_of, file, line)
            splits.setdefault(split, []).append(((file, line), fields))
    if not splits:
        raise BadRow(
            "no document here is in the ModApte split and has a category; there must be at least one",
            file=path,
        )
    return {split: iter(records) for split, records in splits.items()}


def _sgml(file: Path) -> Iterator[tuple[str, int, Fields]]:
    try:
        raw = opening.whole(file)
    except OSError as error:
        raise BadRow(f"this file cannot be read ({error}); get a new copy of it", file=file) from error
    if not raw.lstrip().startswith(b"<!DOCTYPE lewis"):
        why = (
            'this is not a file of Reuters-21578: its first line must be <!DOCTYPE lewis SYSTEM "lewis.dtd">'
        )
        raise BadRow(why, file=file, line=1)
    _check_documents(raw, file)
    end = line = 0
    for match in DOCUMENT.finditer(raw):
        line, end = line + raw.count(b"\n", end, match.start()), match.start()
        head, body = (part.decode("latin-1") for part in match.groups())
        attributes = dict(ATTRIBUTE.findall(head))
        if not {"TOPICS", "LEWISSPLIT", "NEWID"} <= attributes.keys():
            why = "this document has no TOPICS, LEWISSPLIT or NEWID; it must have all three attributes"
            raise BadRow(why, file=file, line=line + 1)
        if "<TOPICS>" not in body:
            raise BadRow("this document has no <TOPICS>; it must have this element", file=file, line=line + 1)
        topics = sorted(TOPIC.findall(_inside(body, "TOPICS")))
        split = SPLITS.get(attributes["LEWISSPLIT"]) if attributes["TOPICS"] == "YES" else None
        if split and topics:
            parts = [html.unescape(_inside(body, part)).strip("\x02\x03 \n") for part in ("TITLE", "BODY")]
            text = "\n".join(part for part in parts if part) or re.sub(
                "<.*?>", "", _inside(body, "TEXT")
            ).strip("\x02\x03 \n")
            yield split, line + 1, {"id": attributes["NEWID"], "text": text, "labels": topics}


def _check_documents(raw: bytes, file: Path) -> None:
    """BadRow for a document without a begin or end tag: it would be lost, or joined with the next."""
    start: int | None = None
    for match in BOUND.finditer(raw):
        if bool(match.group(1)) == (start is None):
            missing = "<REUTERS ...>" if start is None else "</REUTERS>"
            why = (
                f"this document has no {missing}; each document must begin with <REUTERS ...> and end "
                "with </REUTERS>"
            )
            raise BadRow(
                why, file=file, line=1 + raw.count(b"\n", 0, match.start() if start is None else start)
            )
        start = None if match.group(1) else match.start()
    if start is not None:
        why = "this document has no </REUTERS>; the file is cut off; get a new copy of it"
        raise BadRow(why, file=file, line=1 + raw.count(b"\n", 0, start))


def _check_unique(number: str, place_of: dict[str, str], file: object, line: int) -> None:
    """BadRow for a document that occurs twice; its number is unique in the collection, over all splits."""
    if number in place_of:
        why = f"the document {number} occurs at {place_of[number]} too; each document must occur once"
        raise BadRow(why, file=file, line=line)
    place_of[number] = f"{file}:{line}"


def _inside(body: str, tag: str) -> str:
    match = re.search(rf"<{tag}[^>]*>(.*?)</{tag}>", body, re.DOTALL)
    return match.group(1) if match else ""


def _zip(path: Path) -> dict[str, Placed]:
    try:
        return _archived(path)
    except OSError as error:
        why = f"this is not a zip file that can be read ({error}); it must be NLTK's reuters.zip"
        raise BadRow(why, file=path) from error


def _archived(path: Path) -> dict[str, Placed]:
    with opening.archive(path) as archive:
        lists = [name for name in archive.namelist() if name.split("/")[-1] == "cats.txt"]
        if len(lists) != 1:
            why = (
                f"this zip file holds {len(lists)} files cats.txt; it must hold one, which lists the "
                "documents and their categories"
            )
            raise BadRow(why, file=path)
        folder = lists[0].removesuffix("cats.txt")
        parts = {name.removeprefix(folder).split("/")[0] for name in archive.namelist()}
        return _nltk(lambda name: opening.member(archive, folder + name), str(path), parts)


def _nltk(content: Callable[[str], bytes], place: str, parts: Set[str]) -> dict[str, Placed]:
    """The documents that cats.txt lists.

    A part whose folder is missing as a whole, such as `training`, is left out with a `Remark`.
    """
    splits: dict[str, list[tuple[tuple[object, int | None], Fields]]] = {}
    place_of: dict[str, str] = {}
    cats = f"{place}/cats.txt"
    omitted: Counter[str] = Counter()
    for line, entry in enumerate(content("cats.txt").decode("latin-1").splitlines(), 1):
        name, *labels = entry.split() or [""]
        folder, slash, number = name.partition("/")
        if not slash or folder not in SPLITS or not labels or not number.isalnum():
            allowed = "it must have the form training/NUMBER CATEGORY ... or test/NUMBER CATEGORY ..."
            raise BadRow(f"this line is {entry[:60]!r}; {allowed}", file=cats, line=line)
        _check_unique(number, place_of, cats, line)
        if folder not in parts and parts & SPLITS.keys():
            omitted[folder] += 1
            continue
        try:
            text = content(name).decode("latin-1").strip()
        except (OSError, KeyError) as error:
            why = f"the document {name} cannot be read ({error}); get a new copy of the collection"
            raise BadRow(why, file=cats, line=line) from error
        splits.setdefault(SPLITS[folder], []).append(
            ((cats, line), {"id": number, "text": text, "labels": sorted(labels)})
        )
    for folder, count in omitted.items():
        warnings.warn(
            f"{place}: the folder {folder} is missing, so its {count:,} documents are left out",
            Remark,
            stacklevel=2,
        )
    return {split: iter(records) for split, records in splits.items()}
