"""Texts with sets of labels: what a record must hold, and the files that hold them (JSON lines, CSV, AAPD, Reuters-21578)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from loquent.data.annotated import reuters
from loquent.data.annotated.placed import Placed, at, files, strings
from loquent.data.annotated.sentences import weighted
from loquent.data.columns import Place, field
from loquent.data.readers import Fields, csv_rows, jsonl, lines
from loquent.errors import BadRow, BadSetting
from loquent.values import Record

ENDINGS = (".jsonl", ".csv")
SPLITS_OF_AAPD = {"train": "train", "validation": "val", "test": "test"}


def check(record: Mapping[str, Any], *, text_field: str = "", label_field: str = "") -> Record:
    """The row's fields `text` and `labels`: no label twice, in the order given; ValueError otherwise. A string of labels is cut at its spaces."""
    text = field(record, text_field or "text")
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"the field {text_field or 'text'!r} is {text!r:.60}; a text that is not empty is right")
    name = label_field or "labels"
    field(record, name)
    labels = strings(record, name, "labels", split=True)
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise ValueError(f"the label {twice!r} stands twice in {name!r}")
    return Record(text=text, labels=labels, **weighted(record))


def read(path: Path) -> dict[str, Placed]:
    """The texts of a file or folder: AAPD's text_train and label_train, Reuters-21578, or JSON lines and CSV, one file per split or one for all."""
    if path.is_dir() and (found := _aapd_files(path)):
        return {split: _aapd(*pair) for split, pair in found.items()}
    if reuters.is_reuters(path):
        return reuters.read(path)
    if path.is_dir():
        return {split: _file(file) for split, file in files(path, ENDINGS).items()}
    return {"": _file(path)}


def _file(path: Path) -> Placed:
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith(ENDINGS):
        raise BadSetting(f"{path}: no reader for this kind of file; {', '.join(ENDINGS)}, Reuters' .sgm and NLTK's reuters.zip are known")
    return at(path, jsonl(path) if name.endswith(".jsonl") else csv_rows(path))


def _aapd_files(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Text and labels of each split, line by line in two files; none where the folder is of another kind.

    Raises:
        BadSetting: a split has one of its two files.
    """
    found: dict[str, tuple[Path, Path]] = {}
    alone: list[Path] = []
    for split, name in SPLITS_OF_AAPD.items():
        for ending in ("", ".gz", ".txt", ".txt.gz"):
            pair = folder / f"text_{name}{ending}", folder / f"label_{name}{ending}"
            there = [file.is_file() for file in pair]
            if all(there):
                found[split] = pair
            elif any(there):
                alone.append(pair[there.index(False)])
    if found and alone:
        raise BadSetting(f"path = {str(folder)!r}: the file {alone[0].name} is missing, which belongs to {_other(alone[0].name)}")
    return found


def _other(name: str) -> str:
    return name.replace("label_", "text_") if name.startswith("label_") else name.replace("text_", "label_")


def _aapd(texts: Path, labels: Path) -> Iterator[tuple[Place, Fields]]:
    for text, label in zip_longest(lines(texts), lines(labels)):
        if text is None or label is None:
            longer, number = (labels, label[0]) if text is None else (texts, text[0])
            raise BadRow(f"line {number} has no counterpart in {(texts if text is None else labels).name}", file=longer, line=number)
        yield (texts, text[0]), {"text": text[1].strip(), "labels": label[1].strip()}
