"""Files of texts with labels: JSON lines, CSV, AAPD and Reuters-21578."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from loquent.data.annotated import reuters
from loquent.data.annotated.loading import at, files
from loquent.data.columns import Place, Placed
from loquent.data.readers import Fields, csv_rows, jsonl, lines
from loquent.errors import BadRow, BadSetting

ENDINGS = (".jsonl", ".csv")
SPLITS_OF_AAPD = {"train": "train", "validation": "val", "test": "test"}


def read(path: Path) -> dict[str, Placed]:
    """The texts of a file or folder by split: AAPD's files, Reuters-21578, or JSON lines and CSV.

    JSON lines and CSV have one file per split, or one file for all splits (split "").
    """
    if path.is_dir() and (pairs := _aapd_files(path)):
        return {split: _aapd(*pair) for split, pair in pairs.items()}
    if reuters.is_reuters(path):
        return reuters.read(path)
    if path.is_dir():
        return {split: _file(file) for split, file in files(path, ENDINGS).items()}
    return {"": _file(path)}


def _file(path: Path) -> Placed:
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith(ENDINGS):
        allowed = f"{', '.join(ENDINGS)}, Reuters' .sgm and NLTK's reuters.zip"
        raise BadSetting(f"{path}: no reader for this kind of file; it must be one of {allowed}")
    return at(path, jsonl(path) if name.endswith(".jsonl") else csv_rows(path))


def _aapd_files(folder: Path) -> dict[str, tuple[Path, Path]]:
    """The files (texts, labels) of each split; empty for a folder in another format.

    Raises:
        BadSetting: a split has only one of its two files.
    """
    pairs: dict[str, tuple[Path, Path]] = {}
    missing: list[Path] = []
    for split, name in SPLITS_OF_AAPD.items():
        for ending in ("", ".gz", ".txt", ".txt.gz"):
            pair = folder / f"text_{name}{ending}", folder / f"label_{name}{ending}"
            exists = [file.is_file() for file in pair]
            if all(exists):
                pairs[split] = pair
            elif any(exists):
                missing.append(pair[exists.index(False)])
    if pairs and missing:
        name = missing[0].name
        raise BadSetting(
            f"path = {str(folder)!r}: the file {name} is missing; the folder must hold it beside "
            f"{_other(name)}"
        )
    return pairs


def _other(name: str) -> str:
    return name.replace("label_", "text_") if name.startswith("label_") else name.replace("text_", "label_")


def _aapd(texts: Path, labels: Path) -> Iterator[tuple[Place, Fields]]:
    for text, label in zip_longest(lines(texts), lines(labels)):
        if text is None or label is None:
            longer, number = (labels, label[0]) if text is None else (texts, text[0])
            shorter = (texts if text is None else labels).name
            raise BadRow(
                f"line {number} has no counterpart in {shorter}; both files must have the same lines",
                file=longer,
                line=number,
            )
        if not text[1].strip():
            raise BadRow("this line has no text; each line must be a text", file=texts, line=text[0])
        yield (labels, label[0]), {"text": text[1].strip(), "labels": label[1].strip()}
