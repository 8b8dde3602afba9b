"""Rows of the published files in a folder, with a fixed tenth of the training statements for validation.

Flip-it rows come from the flip-it files, or from NLVR's files beside those from scratch (`nlvr.rebuild`).
"""

from __future__ import annotations

import re
from pathlib import Path

from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data import content
from loquent.data.sources import Splits
from loquent.data.tables.splits import draw_of
from loquent.errors import BadRow, BadSetting, ProgramError
from loquent.tasks.blocks.nlvr import examples, rebuild, statement_files
from loquent.tasks.blocks.programs.program import compile_program

VALIDATION = 0.1  # of the training sentences
SCRATCH, FLIP_IT = "scratch", "flip_it"
FILE_STARTS = {SCRATCH: "scratch", FLIP_IT: "flipit"}
NAMED = {
    "COLOR": "yellow|black|blue|YELLOW|BLACK|BLUE",
    "SHAPE": "circle|square|triangle|CIRCLE|SQUARE|TRIANGLE",
    "SIZE": "small|medium|big|SMALL",
    "N": r"\d+",
}
NAMES = re.compile(
    "|".join(rf"(?P<{kind}>(?<![a-zA-Z]){names}(?![a-zA-Z]))" for kind, names in NAMED.items())
)


def find_files(path: str, appearance: str, start: str) -> dict[str, Path]:
    """The places of a configuration by published split: files, or the folder if NLVR's files give the split.

    Raises:
        BadSetting: the folder has neither.
    """
    folder = Path(path).expanduser()
    there = {
        split: file
        for split in statement_files.SPLITS
        if (file := statement_files.find(folder, appearance, FILE_STARTS[start], split))
    }
    if not there and start == FLIP_IT and folder.is_dir() and examples.holds_any(folder):
        there = dict.fromkeys(rebuild.splits(folder, folder, appearance), folder)
    if not there:
        name = f"{appearance}_{FILE_STARTS[start]}"
        raise BadSetting(
            f"path = {path!r} has no file {name}_train.json, _dev.json or _test.json (also .json.gz); put "
            "lilGym's files there, or for flip it NLVR's files and lilGym's from scratch"
        )
    return there


def split_names(path: str, appearance: str, start: str) -> tuple[str, ...]:
    """The splits that a folder gives; errors as `find_files`."""
    names = find_files(path, appearance, start)
    return tuple(
        name for split in names for name in (("train", "validation") if split == "train" else (split,))
    )


@content.cache_reads(8)
def splits(path: str, appearance: str, start: str) -> Splits:
    """All rows by split, with the ids PUBLISHED_SPLIT-STATEMENT.

    The target of a flip-it row is the opposite of the program's value on its board, because NLVR's labels of
    training examples are noisy.

    Raises:
        BadRow: a file is not as published, or a program fails on its board. BadSetting: as `find_files`.
    """
    rows: Splits = {}
    for split, file in find_files(path, appearance, start).items():
        source = statement_files.read(file) if file.is_file() else rebuild.read(file, file, appearance, split)
        members = [_row(split, each, start, file) for each in source.statements.values()]
        if split == "train":
            rows["train"] = tuple(row for row in members if not is_validation(row["sentence"]))
            rows["validation"] = tuple(row for row in members if is_validation(row["sentence"]))
        else:
            rows[split] = tuple(members)
    return rows


def is_validation(sentence: str) -> bool:
    """Whether a training sentence is set aside for validation: a hash of the sentence decides.

    So the same sentences are set aside from scratch and with boards, and from a part of the files. The paper
    sets a random tenth aside and does not publish which (arXiv:2211.01994, section 4).
    """
    return draw_of(f"validation:{sentence}") < VALIDATION


def template(program: str) -> str:
    """The program without colours, shapes, sizes and numbers."""
    return NAMES.sub(lambda match: match.lastgroup or "", program)


def _row(split: str, statement: statement_files.Statement, start: str, file: Path) -> Row:
    program = statement.program
    try:
        truth = compile_program(program)(statement.board)
    except ProgramError as error:
        raise BadRow(f"statement {statement.id!r:.60}.lf: {error}", file=file) from None
    target = True if start == SCRATCH else not truth
    fields = Record(
        sentence=statement.sentence,
        program=program,
        target=target,
        board=statement.board,
        template=template(program),
    )
    return Row(f"{split}-{statement.id}", fields)
