"""The published files of CNN/DailyMail: one `.story` file for each article, and lists of addresses by split.

A file holds the lines of an article, then `@highlight` before each highlight. They become a record as in the
loader of the hub's version 3.0.0: a line without an end of a sentence gets one, spaces join the lines of the
article, and line breaks join the highlights. A file's name is the SHA-1 of its article's address.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path

from loquent.core.settings import Remark
from loquent.data.columns import Placed
from loquent.data.readers import lines
from loquent.data.tables.splits import ALIASES
from loquent.tasks.generation.corpora import record_files

ENDING = ".story"
HIGHLIGHT = "@highlight"
LISTS = {"train": "all_train.txt", "validation": "all_val.txt", "test": "all_test.txt"}
ENDS = (".", "!", "?", "'", "`", '"', "\u2019", "\u201d", ")")  # of a sentence, as in the published scripts


def files(path: Path) -> dict[str, Placed]:
    """The articles of a folder with `.story` files by split; of any other path as `record_files.files`.

    The lists `all_train.txt`, `all_val.txt` and `all_test.txt`, in the folder or in `url_lists/`, choose the
    splits. Without lists they are the folders named after splits, and without such folders "" has all.

    Warns:
        Remark: stories stand in no list or no folder of a split, or have no article or no highlight.
    """
    stories = sorted(file for end in ("", ".gz") for file in path.rglob(f"*{ENDING}{end}"))
    if not path.is_dir() or not stories:
        return record_files.files(path)
    listed = _lists(path)
    split_of = {file: listed.get(name(file)) if listed else _folder(path, file) for file in stories}
    if not any(split_of.values()) and not listed:
        split_of = dict.fromkeys(stories, "")
    splits: dict[str, list[Path]] = {}
    for file, split in split_of.items():
        if split is not None:
            splits.setdefault(split, []).append(file)
    found = sum(map(len, splits.values()))
    if found < len(stories):
        _remark(path, len(stories) - found, "in no split")
    return {split: _records(path, part) for split, part in splits.items()}


def name(file: Path) -> str:
    """The name of a story without its endings."""
    return file.name.removesuffix(".gz").removesuffix(ENDING)


def _lists(path: Path) -> dict[str, str]:
    """The split of each story by its name; empty without lists."""
    found: dict[str, str] = {}
    for split, list_name in LISTS.items():
        for file in (path / list_name, path / "url_lists" / list_name):
            if file.is_file():
                addresses = (line.strip().encode() for _, line in lines(file))
                found |= {hashlib.sha1(one, usedforsecurity=False).hexdigest(): split for one in addresses}
    return found


def _folder(path: Path, file: Path) -> str | None:
    """The split that a folder of a story is named after."""
    folders = (part.lower() for part in file.relative_to(path).parts[:-1])
    return next((ALIASES[part] for part in folders if part in ALIASES), None)


def _records(path: Path, stories: Sequence[Path]) -> Placed:
    blank = 0
    for file in stories:
        article, highlights = story([line for _, line in lines(file)])
        if article and highlights:
            yield (file, None), {"article": article, "highlights": highlights}
        else:
            blank += 1
    if blank:
        _remark(path, blank, "without an article or a highlight")


def story(text: Sequence[str]) -> tuple[str, str]:
    """The article and the highlights of a story's lines."""
    article: list[str] = []
    highlights: list[str] = []
    part = article
    for line in map(str.strip, text):
        if line.startswith(HIGHLIGHT):
            part = highlights
        elif line:
            part.append(line if line.endswith(ENDS) or HIGHLIGHT in line else f"{line} .")
    return " ".join(article), "\n".join(highlights)


def _remark(path: Path, count: int, what: str) -> None:
    warnings.warn(f"{path}: {count:,} stories {what} are left out", Remark, stacklevel=3)
