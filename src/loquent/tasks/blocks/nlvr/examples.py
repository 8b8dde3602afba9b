"""NLVR's examples: sentences with labels and boards, from its JSON files and its pictures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from loquent.core import schema
from loquent.core.guards.json_files import show
from loquent.data.readers import jsonl
from loquent.errors import BadRow, BadSetting
from loquent.tasks.blocks.boards.board import Board, board_from_json
from loquent.tasks.blocks.nlvr.decoder import decode_file

# the files of each split of lilGym; "hidden" is NLVR's second test set
FILES = {"train": ("train",), "dev": ("dev",), "test": ("test", "hidden")}
KNOWN_FILES = {
    f"{name}{ending}": name for names in FILES.values() for name in names for ending in (".json", ".json.gz")
}
IDENTIFIER = re.compile(r"\d+-\d+")


@dataclass(frozen=True)
class Example:
    """An example of NLVR.

    Attributes:
        identifier: "n-m": group n, member m.
        label: whether raters found the sentence true.
        board: the board in the order of the file, or of the decoder where the file has none.
        extra: the fields `directory` and `evals`, where the file has them.
        decoded: whether the board comes from a picture.
        file, line: the place of the example.
    """

    identifier: str
    sentence: str
    label: bool
    board: Board
    extra: dict[str, Any]
    decoded: bool
    file: Path
    line: int


@dataclass(frozen=True)
class _Record:
    """The fields of a line that are read."""

    identifier: str
    sentence: Annotated[str, schema.require_text]
    label: Literal["true", "false"]
    structured_rep: Any = None

    def __post_init__(self) -> None:
        if not IDENTIFIER.fullmatch(self.identifier):
            raise ValueError(f".identifier must be like '12-0', got {show(self.identifier)}")


@dataclass(frozen=True)
class Folder:
    """What a folder holds of NLVR: JSON files by name, such as "dev", and pictures by file name."""

    path: Path
    files: dict[str, Path]
    pictures: dict[str, Path]


def find(path: Path) -> Folder:
    """NLVR's files in a folder and the folders below it.

    Raises:
        BadSetting: there is no such folder, it holds none of the JSON files, or it holds one of them twice.
    """
    if not path.is_dir():
        raise BadSetting(f"{str(path)!r} is no folder; name the folder with NLVR's train.json and the others")
    files: dict[str, Path] = {}
    pictures: dict[str, Path] = {}
    for folder, _, members in sorted(os.walk(path)):
        for member in members:
            file = Path(folder) / member
            if member.endswith(".png"):
                pictures[member] = file
            elif name := KNOWN_FILES.get(member):
                if name in files:
                    raise BadSetting(
                        f"{str(path)!r} holds {files[name]} and {file}; keep one file with NLVR's {name} "
                        "examples"
                    )
                files[name] = file
    if not files:
        raise BadSetting(
            f"{str(path)!r} holds none of NLVR's files {', '.join(sorted(KNOWN_FILES))}; name NLVR's folder"
        )
    return Folder(path, files, pictures)


def holds_any(path: Path) -> bool:
    """Whether a folder or a folder below it holds one of NLVR's JSON files."""
    return any(member in KNOWN_FILES for _, _, members in os.walk(path) for member in members)


def read(folder: Folder, name: str) -> Iterator[Example]:
    """The examples of one JSON file, such as "dev", in its order.

    The board of an example without `structured_rep` is decoded from the picture NAME-IDENTIFIER-0.png, whose
    boxes stand in the first order.

    Raises:
        BadRow: an example is bad, or has neither `structured_rep` nor a picture; names file and line.
    """
    file = folder.files[name]
    seen: dict[str, int] = {}
    for line, record in jsonl(file):
        try:
            example = _example(record, folder, name, line)
        except ValueError as error:
            raise BadRow(str(error), file=file, line=line) from error
        if example.identifier in seen:
            raise BadRow(
                f"the identifier {example.identifier!r} repeats line {seen[example.identifier]}",
                file=file,
                line=line,
            )
        seen[example.identifier] = line
        yield example


def picture_of(folder: Folder, name: str, identifier: str) -> Path | None:
    """The picture of an example with its boxes in the first order."""
    return folder.pictures.get(f"{name}-{identifier}-0.png")


def _example(record: dict[str, Any], folder: Folder, name: str, line: int) -> Example:
    found = schema.read(_Record, record, extra=True)
    identifier = found.identifier
    if found.structured_rep is not None:
        board, decoded = board_from_json(found.structured_rep), False
    elif picture := picture_of(folder, name, identifier):
        board, decoded = decode_file(picture), True
    else:
        raise ValueError(
            f"the example has no structured_rep, and there is no picture {name}-{identifier}-0.png"
        )
    extra: dict[str, Any] = {field: record[field] for field in ("directory", "evals") if field in record}
    label, file = found.label == "true", folder.files[name]
    return Example(identifier, found.sentence, label, board, extra, decoded, file, line)
