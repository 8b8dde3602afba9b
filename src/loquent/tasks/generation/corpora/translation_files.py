"""Files of sentence pairs, as `translation` describes them."""

from __future__ import annotations

import html
import re
import warnings
from pathlib import Path

from loquent.core.settings import Remark
from loquent.data.columns import Placed
from loquent.data.readers import lines
from loquent.errors import BadRow, BadSetting
from loquent.tasks.generation.corpora import record_files

SEGMENT = re.compile(r"<seg[^>]*>(.*?)</seg>", re.IGNORECASE)
LANGUAGE = re.compile(r"(?:(?:src|ref)\.)?\b(en|de)(\.(?:xml|sgm))?(\.gz)?$")
SPLITS = (  # a part of a file's name, and its split
    (re.compile(r"newstest2015|dev|valid"), "validation"),
    (re.compile(r"newstest2016|tst\d|(?<!news)test"), "test"),
    (re.compile(r"train|europarl|commoncrawl|news-commentary"), "train"),
)
OTHER_YEARS = re.compile(r"news(test|syscomb)\d{4}")


def files(path: Path) -> dict[str, Placed]:
    """The pairs of a file of JSON lines, of a folder of such files, or of a folder of parallel files.

    Raises:
        BadSetting: there are none; a file lacks its partner, or its name tells no split.
    """
    if not path.is_dir():
        return record_files.files(path)
    english = [file for file in sorted(path.iterdir()) if (m := LANGUAGE.search(file.name)) and m[1] == "en"]
    if not english:
        return record_files.files(path)
    splits: dict[str, list[tuple[Path, Path]]] = {}
    for file in english:
        split = _split(file)
        if split:
            splits.setdefault(split, []).append((file, _partner(file)))
    return {split: _pairs(found) for split, found in splits.items()}


def sentences(file: Path) -> list[tuple[int, str]]:
    """The sentences of one file with their lines."""
    if re.search(r"\.(xml|sgm)(\.gz)?$", file.name):
        segments = ((line, segment) for line, whole in lines(file) for segment in SEGMENT.findall(whole))
        return [(line, html.unescape(segment).strip()) for line, segment in segments]
    tagged = ".tags." in file.name
    return [(line, whole.strip()) for line, whole in lines(file) if not (tagged and whole.startswith("<"))]


def _partner(file: Path) -> Path:
    stem = LANGUAGE.sub("", file.name)
    for other in sorted(file.parent.iterdir()):
        match = LANGUAGE.search(other.name)
        if match and match[1] == "de" and LANGUAGE.sub("", other.name) == stem:
            return other
    raise BadSetting(f"{file}: the German file of this English file is missing beside it")


def _split(file: Path) -> str:
    """The split of a file by its name; "" for a test set of another year, with a Remark."""
    split = next((split for part, split in SPLITS if part.search(file.name.lower())), None)
    if split is None and OTHER_YEARS.search(file.name.lower()):
        why = "newstest2015 is validation and newstest2016 is test; other test sets are left out"
        warnings.warn(f"{file}: {why}", Remark, stacklevel=2)
        return ""
    if split is None:
        raise BadSetting(f"{file}: this name tells no split; it must contain train, dev or test")
    return split


def _pairs(found: list[tuple[Path, Path]]) -> Placed:
    for english, german in found:
        sources, targets = sentences(english), sentences(german)
        if len(sources) != len(targets):
            why = f"this file has {len(sources):,} sentences and {german.name} has {len(targets):,}"
            raise BadRow(f"{why}; parallel files must have equally many", file=english)
        blank = 0
        for (line, source), (_, target) in zip(sources, targets, strict=True):
            if source and target:
                yield (english, line), {"translation": {"en": source, "de": target}}
            else:
                blank += 1
        if blank:
            why = f"{english}: {blank:,} pairs have a blank side and are left out"
            warnings.warn(why, Remark, stacklevel=2)
