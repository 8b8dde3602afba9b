"""The flip-it sets of lilGym, built again from NLVR's examples and the statements from scratch.

An example belongs to the towers if all its items are blocks of towers, otherwise to the scattered items. Its
program is that of the same sentence, letter by letter, in the scratch file of its appearance and split. One
whose sentence has no program is dropped. The label is the program's value on the board, not NLVR's, because
some of NLVR's labels are wrong. Two items stand where lilGym moved them (`MOVED`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from loquent.core.guards.opening import open_bytes
from loquent.errors import BadRow, BadSetting, ProgramError
from loquent.tasks.blocks.boards.board import APPEARANCES, SIZES, TOWER_X, Board, board_to_json
from loquent.tasks.blocks.nlvr import examples, statement_files
from loquent.tasks.blocks.nlvr.decoder import decode_file
from loquent.tasks.blocks.nlvr.examples import Example, Folder
from loquent.tasks.blocks.programs.program import compile_program

# the first 12 digits of the SHA-256 of the files of lil-lab/nlvr at 18924841; of train, the hash of git
SHA256 = MappingProxyType({"dev": "0d312c3d7309", "test": "9a337ac01645", "hidden": "d54d7060ea80"})
GIT_BLOB = MappingProxyType({"train": "f61bcfa8c0b0094e9f219cb0994e46775cfba7b5"})
# (set, identifier) -> the places (x, y) of an item in NLVR and in lilGym's file, one or two pixels apart
MOVED = MappingProxyType(
    {
        ("scatter_flipit_dev", "1845-3"): ((10, 69), (10, 70)),
        ("scatter_flipit_test", "15-1"): ((65, 64), (66, 66)),
    }
)


@dataclass(frozen=True)
class Rebuilt:
    """A flip-it set built again.

    Attributes:
        name: the published name, such as `tower_flipit_dev`.
        entries: the statements in the published form, by id.
        dropped: the identifiers of examples whose sentence has no program.
        corrected: the identifiers of examples whose label differs from the program's value.
        complete: whether all files were there and the set has the published number of initial states and
            contexts.
    """

    name: str
    entries: dict[str, dict[str, Any]]
    dropped: tuple[str, ...]
    corrected: tuple[str, ...]
    complete: bool

    @property
    def contexts(self) -> int:
        """The number of distinct pairs of a sentence and a label."""
        return len({(entry["sentence"], entry["label"]) for entry in self.entries.values()})


@dataclass(frozen=True)
class Report:
    """What was built, and what is missing or differs.

    Attributes:
        sets: the sets that could be built.
        missing: the names of files that are not there.
        unknown: NLVR's files whose hash is not the known one.
        pictures: the number of pictures that were decoded and compared with an example's board.
        differing: the pictures that show another board than the example says.
        decoded: the number of examples whose board comes from a picture alone.
    """

    sets: tuple[Rebuilt, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    pictures: int
    differing: tuple[str, ...]
    decoded: int


def rebuild(nlvr: Path, scratch: Path) -> Report:
    """All flip-it sets for which files are there.

    Args:
        nlvr: a folder with NLVR's JSON files, and pictures if there are any.
        scratch: a folder with lilGym's files from scratch.

    Raises:
        BadSetting: a folder does not hold the files. BadRow: a file or an example is bad.
    """
    folder = examples.find(nlvr)
    read = {name: list(examples.read(folder, name)) for name in folder.files}
    missing = [f"{name}.json" for names in examples.FILES.values() for name in names if name not in read]
    missing += [
        f"{appearance}_scratch_{split}.json"
        for appearance, split in product(APPEARANCES, examples.FILES)
        if statement_files.find(scratch, appearance, "scratch", split) is None
    ]
    sets = [
        built
        for appearance, split in product(APPEARANCES, examples.FILES)
        if (built := _set(appearance, split, read, scratch))
    ]
    compared, differing = _compared(folder, read)
    return Report(
        tuple(sets),
        tuple(missing),
        tuple(sorted(name for name, file in folder.files.items() if not is_known(name, file))),
        compared,
        differing,
        sum(example.decoded for members in read.values() for example in members),
    )


def splits(nlvr: Path, scratch: Path, appearance: str) -> tuple[str, ...]:
    """The splits of an appearance for which both folders have files; nothing is read.

    Raises:
        BadSetting: `nlvr` does not hold NLVR's files.
    """
    there = examples.find(nlvr).files
    return tuple(
        split
        for split, names in examples.FILES.items()
        if any(name in there for name in names)
        and statement_files.find(scratch, appearance, "scratch", split)
    )


def read(nlvr: Path, scratch: Path, appearance: str, split: str) -> statement_files.PublishedFile:
    """The flip-it set of an appearance and a split, as if it were read from its published file.

    Raises:
        BadSetting: the folders do not have its files. BadRow: a file or an example is bad.
    """
    folder = examples.find(nlvr)
    members = {
        name: list(examples.read(folder, name)) for name in examples.FILES[split] if name in folder.files
    }
    built = _set(appearance, split, members, scratch)
    if built is None:
        raise BadSetting(f"{str(nlvr)!r} and {str(scratch)!r} have no files of {appearance}_flipit_{split}")
    return statement_files.from_entries(built.name, built.entries, partial=not built.complete)


def is_tower(board: Board) -> bool:
    """Whether all items are medium squares in the middle column, which makes an example one of towers."""
    return all(
        item[:1] == (TOWER_X,) and item[2] == 1 and item.size == SIZES[1] for box in board for item in box
    )


def moved_board(name: str, example: Example) -> Board:
    """The board of an example in the set `name`: NLVR's, or the one that lilGym changed."""
    old, new = MOVED.get((name, example.identifier), (None, (0, 0)))
    left, middle, right = (
        tuple(item._replace(x=new[0], y=new[1]) if (item.x, item.y) == old else item for item in box)
        for box in example.board
    )
    return left, middle, right


def is_known(name: str, file: Path) -> bool:
    """Whether an NLVR file is, byte for byte, the one that the published counts were measured on."""
    with open_bytes(file) as stream:
        content = stream.read()
    if name in GIT_BLOB:
        blob = b"blob %d\0" % len(content) + content
        return hashlib.sha1(blob, usedforsecurity=False).hexdigest() == GIT_BLOB[name]
    return hashlib.sha256(content).hexdigest().startswith(SHA256[name])


def _set(appearance: str, split: str, read: dict[str, list[Example]], scratch: Path) -> Rebuilt | None:
    """The set of an appearance and a split; None without examples or without programs."""
    file = statement_files.find(scratch, appearance, "scratch", split)
    names = examples.FILES[split]
    members = [example for name in names for example in read.get(name, ())]
    if file is None or not members:
        return None
    statements = {each.sentence: each for each in statement_files.read(file).statements.values()}
    set_name = f"{appearance}_flipit_{split}"
    entries: dict[str, dict[str, Any]] = {}
    dropped, corrected = [], []
    for example in members:
        if is_tower(example.board) != (appearance == "tower"):
            continue
        statement = statements.get(example.sentence)
        if statement is None:
            dropped.append(example.identifier)
            continue
        board = moved_board(set_name, example)
        try:
            truth = compile_program(statement.program)(board)
        except ProgramError as error:
            raise BadRow(
                f"statement {statement.id!r:.60}.lf: {error}", file=example.file, line=example.line
            ) from None
        if truth != example.label:
            corrected.append(example.identifier)
        entries[f"{example.identifier}-0"] = {
            "sentence": example.sentence,
            "lf": statement.program,
            "label": "true" if truth else "false",
            "structured_rep": board_to_json(board),
            "uid": statement.uid,
            "identifier": example.identifier,
            **example.extra,
        }
    whole = all(name in read for name in names)
    known = statement_files.KNOWN[set_name]
    built = Rebuilt(set_name, entries, tuple(dropped), tuple(corrected), whole)
    same = (len(entries), built.contexts) == (known.statements, known.contexts)
    return replace(built, complete=whole and same)


def _compared(folder: Folder, read: dict[str, list[Example]]) -> tuple[int, tuple[str, ...]]:
    """The number of pictures beside examples with boards, and the names of those that show another board."""
    pairs = list(_pairs(folder, read))
    differing = [
        picture.name
        for example, picture in pairs
        if [sorted(box) for box in decode_file(picture)] != [sorted(box) for box in example.board]
    ]
    return len(pairs), tuple(differing)


def _pairs(folder: Folder, read: dict[str, list[Example]]) -> Iterator[tuple[Example, Path]]:
    for name, members in read.items():
        for example in members:
            picture = examples.picture_of(folder, name, example.identifier)
            if picture and not example.decoded:
                yield example, picture
