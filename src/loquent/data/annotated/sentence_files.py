"""Files of sentences with labels: CoNLL columns, CoNLL-U, and JSON lines."""

from __future__ import annotations

from pathlib import Path

from loquent.data.annotated.conll import conll, conllu
from loquent.data.annotated.loading import at, files
from loquent.data.columns import Placed
from loquent.data.readers import jsonl

COLUMNS = (".conll", ".iob", ".iob2", ".bio", ".tsv", ".txt")
ENDINGS = (*COLUMNS, ".conllu", ".jsonl")


def read(path: Path, token_field: str = "", label_field: str = "") -> dict[str, Placed]:
    """The sentences of a file, or of a folder with one file per split: CoNLL columns, CoNLL-U, JSON lines."""
    if path.is_dir():
        return {split: _file(file, token_field, label_field) for split, file in files(path, ENDINGS).items()}
    return {"": _file(path, token_field, label_field)}


def _file(path: Path, token_field: str, label_field: str) -> Placed:
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".jsonl"):
        return at(path, jsonl(path))
    columns = conllu if name.endswith(".conllu") else conll
    names = {"tokens": token_field or "tokens", "labels": label_field or "labels"}  # as `check` reads them
    records = columns(path, token_field, label_field)
    return at(
        path,
        (
            (line, {names.get(name, name): value for name, value in record.items()})
            for line, record in records
        ),
    )
