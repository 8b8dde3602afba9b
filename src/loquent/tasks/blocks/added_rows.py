"""Rows that a user adds: a statement with its program, the wanted truth value and a first board."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.core.values import Record
from loquent.errors import BadRow, ProgramError, kind_of
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Board, Item, board_from_json, is_tower_board
from loquent.tasks.blocks.programs.program import compile_program

FIELDS = ("sentence", "program", "target", "board", "template")


def check_fields(fields: Mapping[str, Any], tower: bool, flip: bool = False) -> Record:
    """The fields of a row; `board` is empty by default, and `target` True or the value to flip to.

    Args:
        fields: `sentence`, `program`, `target`, and `board`: three lists of items, each an object in the
            published form or [x, y, shape, color, size] in numbers.
        tower: whether the board must consist of towers.
        flip: whether the target is the opposite of the program's value on the board.

    Raises:
        BadRow: a field is missing, unknown or invalid, the program has no truth value on the board, or
            there is nothing to flip.
    """
    if unknown := [name for name in fields if name not in FIELDS]:
        raise BadRow(f"a row of blocks has no field {unknown[0]!r}; fields: {', '.join(FIELDS)}")
    for name in ("sentence", "program"):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise BadRow(f"{name} = {fields.get(name)!r:.80}: must be a text that is not empty")
    target, template = fields.get("target"), fields.get("template", "")
    if target is not None and not isinstance(target, bool):
        raise BadRow(f"target = {target!r:.80} is {kind_of(target)}; it must be true or false")
    if not isinstance(template, str):
        raise BadRow(f"template = {template!r:.80} is {kind_of(template)}; it must be a text")
    board = _board(fields.get("board", EMPTY_BOARD))
    if tower and not is_tower_board(board):
        what = "board: every box must hold one stack of at most 4 medium squares at x = 40"
        raise BadRow(f"{what}; set appearance = 'scatter' for other boards")
    try:
        truth = compile_program(fields["program"].strip())(board)
    except ProgramError as error:
        raise BadRow(f"program: {error}") from error
    if flip and target is truth:
        raise BadRow(
            f"target = {target}: the statement is {str(truth).lower()} on the board already, and start = "
            "'flip_it' changes its value; leave target out, or give another board"
        )
    if target is None:
        target = not truth if flip else True
    sentence, program = fields["sentence"], fields["program"].strip()
    return Record(sentence=sentence, program=program, target=target, board=board, template=template)


def _board(value: Any) -> Board:
    boxes = value if isinstance(value, list | tuple) else [value]
    right = "board must be three lists of items [x, y, shape, color, size]"
    if len(boxes) != 3 or any(not isinstance(box, list | tuple) for box in boxes):
        raise BadRow(f"{right}, got {value!r:.80}")
    items = [item for box in boxes for item in box]
    if any(isinstance(item, Mapping) for item in items):
        published = [[dict(item) if isinstance(item, Mapping) else item for item in box] for box in boxes]
        return board_from_json(published, "board")
    for item in items:
        whole = isinstance(item, list | tuple) and len(item) == 5 and all(type(part) is int for part in item)
        x, y, shape, color, size = item if whole else (-1,) * 5
        places = all(0 <= place <= 100 - size for place in (x, y))
        if not (places and 0 <= shape < 3 and 0 <= color < 3 and size in (10, 20, 30)):
            raise BadRow(f"{right} inside the box, got the item {item!r:.80}")
    left, middle, right_box = (tuple(Item(*item) for item in box) for box in boxes)
    return left, middle, right_box
