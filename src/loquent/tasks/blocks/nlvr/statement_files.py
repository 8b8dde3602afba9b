"""The published statements of lilGym: its JSON files, read with typed errors and compared with known hashes.

A file is named `<appearance>_<start>_<split>.json`, for example `tower_flipit_dev.json`; it may be compressed
(`.json.gz`). A training file that holds only a part is named `..._train_partial.json`. The start of a file is
`scratch` (Wu et al. 2023: an empty board) or `flipit` (a board of NLVR, Suhr et al. 2017).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

from loquent.core import schema
from loquent.core.guards.json_files import MOST_BYTES, BadJson, loads, show
from loquent.core.guards.opening import whole
from loquent.core.values import digest
from loquent.errors import BadRow, ProgramError
from loquent.tasks.blocks.boards.board import APPEARANCES, EMPTY_BOARD, Board, board_from_json, is_tower_board
from loquent.tasks.blocks.programs.program import compile_program

STARTS, SPLITS = ("scratch", "flipit"), ("train", "dev", "test")
ENDINGS = (".json", ".json.gz", "_partial.json", "_partial.json.gz")
LONGEST = 320  # characters of a sentence


class Known(NamedTuple):
    """What is known of a published file; None where nobody has measured it.

    Attributes:
        statements: the number of its entries, which are initial states in files of boards.
        contexts: the number of distinct pairs of a sentence and a label.
        sha256: the first 12 hexadecimal digits of the hash of the uncompressed file.
        content: those of `PublishedFile.content`; files built from NLVR's have the rows in another order.
    """

    statements: int
    contexts: int
    sha256: str | None
    content: str | None = None


KNOWN = MappingProxyType(
    {  # Table 2 of Wu et al. 2023
        "tower_scratch_train": Known(989, 989, "522223210b6b", "192a69f2a7f2"),
        "tower_scratch_dev": Known(163, 163, "d86e84fdc6ec", "a93f48039a13"),
        "tower_scratch_test": Known(324, 324, "89001bb4b485"),
        "scatter_scratch_train": Known(1241, 1241, "c059bede0655", "9bb89494e398"),
        "scatter_scratch_dev": Known(87, 87, "41d2f5d8a0ef", "f56ddf9bb3de"),
        "scatter_scratch_test": Known(155, 155, "27c2c9a341eb"),
        "tower_flipit_train": Known(5704, 1910, None),
        "tower_flipit_dev": Known(676, 317, "7bac6bc936cc", "e79887333b51"),
        "tower_flipit_test": Known(1383, 619, "e9115b8af96d"),
        "scatter_flipit_train": Known(6696, 2340, None),
        "scatter_flipit_dev": Known(313, 164, "a85e9ba7df59", "ec933cea807d"),
        "scatter_flipit_test": Known(591, 285, "dd8374baeab2"),
    }
)


class Statement(NamedTuple):
    """A published statement.

    Attributes:
        id: its key in the file: a number from scratch, `<n>-<m>-0` with a board.
        uid: the number of the statement, which files from scratch have as the key.
        sentence: the sentence, with the writers' typing errors.
        program: the text of the program, without blanks at both ends.
        label: whether the sentence is true on the board; None from scratch.
        board: the initial board.
    """

    id: str
    uid: str
    sentence: str
    program: str
    label: bool | None
    board: Board


@dataclass(frozen=True)
class _Entry:
    """An entry of a file from scratch."""

    sentence: Annotated[str, schema.require_text]
    lf: Annotated[str, schema.require_text]


@dataclass(frozen=True)
class _WithBoard(_Entry):
    """An entry of a file of boards."""

    uid: Annotated[str, schema.require_text]
    label: Literal["true", "false"]
    structured_rep: Any


class PublishedFile(NamedTuple):
    """The statements of a file by their ids, in its order.

    Attributes:
        name: the file's name without its ending, such as `tower_flipit_dev`.
        partial: whether it holds only a part of the published statements.
        sha256: the hash of the uncompressed file.
        statements: the statements by id.
    """

    name: str
    partial: bool
    sha256: str
    statements: Mapping[str, Statement]

    @property
    def differences(self) -> list[str]:
        """How the file differs from the published one; empty for the same file, and for a partial one."""
        known, found = KNOWN[self.name], self.statements.values()
        if self.partial:
            return []
        contexts = len({(each.sentence, each.label) for each in found})
        compared: list[tuple[str, object, object]] = [
            ("statements", len(found), known.statements),
            ("contexts", contexts, known.contexts),
        ]
        if not self._is_same_file and known.content is not None:
            compared.append(("hash of the statements", self.content, known.content))
        elif not self._is_same_file and "scratch" in self.name:
            compared.append(("SHA-256", self.sha256[:12], known.sha256))
        return [
            f"{what}: {value}, the published file has {right}"
            for what, value, right in compared
            if value != right
        ]

    @property
    def remarks(self) -> list[str]:
        """What could not be compared: a set of boards with another hash, and no known hash of statements."""
        known = KNOWN[self.name]
        if self.partial or self._is_same_file or known.content is not None or "scratch" in self.name:
            return []
        return [
            f"SHA-256: {self.sha256[:12]}, the published file has {known.sha256 or 'one that is not known'}; "
            "a file built from NLVR's has its rows in another order"
        ]

    @property
    def content(self) -> str:
        """12 digits of the hash of all fields of the statements that are read, sorted by id."""
        return digest(sorted(tuple(each) for each in self.statements.values()), 12)

    @property
    def _is_same_file(self) -> bool:
        return self.sha256[:12] == KNOWN[self.name].sha256


def find(folder: Path, appearance: str, start: str, split: str) -> Path | None:
    """The file of a configuration and split in a folder, whole or partial; None without one."""
    names = [f"{appearance}_{start}_{split}{ending}" for ending in ENDINGS]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def find_all(folder: Path) -> list[Path]:
    """The files of all configurations and splits that a folder has.

    Raises:
        BadRow: the folder has none of the files.
    """
    found = [
        file
        for a in APPEARANCES
        for start in STARTS
        for split in SPLITS
        if (file := find(folder, a, start, split))
    ]
    if not found:
        raise BadRow(
            f"no published file is here; put files such as {next(iter(KNOWN))}.json there", file=folder
        )
    return found


def read(file: Path) -> PublishedFile:
    """The statements of a published file. Every program is compiled.

    Raises:
        BadRow: the file's name, its JSON or a statement is not as published; the message names the file and
            the statement.
    """
    name, partial = _name(file)
    content = _content(file)
    try:
        entries = loads(content, unique=True)
    except BadJson as error:
        raise BadRow(str(error), file=file, line=error.line or None) from None
    if not isinstance(entries, dict):
        raise BadRow(f"it must hold a JSON object of statements, got {show(entries)}", file=file)
    try:
        return from_entries(name, entries, partial=partial, content=content)
    except BadRow as error:
        raise BadRow(str(error), file=file) from None


def from_entries(
    name: str, entries: Mapping[str, Any], *, partial: bool, content: bytes = b""
) -> PublishedFile:
    """The statements of the entries of a file, with the hash of its uncompressed content.

    Raises:
        BadRow: a statement is not as published; names it.
    """
    appearance, start, _ = name.split("_")
    statements = {key: _statement(key, entry, appearance, start) for key, entry in entries.items()}
    return PublishedFile(name, partial, hashlib.sha256(content).hexdigest(), MappingProxyType(statements))


def _name(file: Path) -> tuple[str, bool]:
    stem = file.name.removesuffix(".gz").removesuffix(".json")
    name = stem.removesuffix("_partial")
    if name not in KNOWN:
        raise BadRow(f"the name of a published file must be as {next(iter(KNOWN))}.json", file=file)
    return name, stem != name


def _content(file: Path) -> bytes:
    try:
        return whole(file, MOST_BYTES)
    except OSError as error:
        raise BadRow(f"it cannot be read ({error})", file=file) from None


def _statement(key: str, entry: Any, appearance: str, start: str) -> Statement:
    place = f"statement {key!r:.60}"
    try:
        found = schema.read(_Entry if start == "scratch" else _WithBoard, entry, place, extra=True)
    except ValueError as error:
        raise BadRow(str(error)) from None
    sentence, program = found.sentence.strip(), found.lf.strip()
    if len(sentence) > LONGEST:
        raise BadRow(f"{place}.sentence must have at most {LONGEST} characters, got {len(sentence):,}")
    try:
        compile_program(program)
    except ProgramError as error:
        raise BadRow(f"{place}.lf: {error}") from None
    if not isinstance(found, _WithBoard):
        return Statement(key, key, sentence, program, None, EMPTY_BOARD)
    board = board_from_json(found.structured_rep, f"{place}.structured_rep")
    if appearance == "tower" and not is_tower_board(board):
        raise BadRow(f"{place}.structured_rep must be towers, listed from the bottom to the top")
    return Statement(key, found.uid.strip(), sentence, program, found.label == "true", board)
