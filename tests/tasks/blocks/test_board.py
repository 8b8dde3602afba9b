"""The board and its published JSON form."""

import copy
import gzip
import json

import pytest

from loquent.core.values import problem
from loquent.errors import BadRow
from loquent.tasks.blocks.boards.board import (
    EMPTY_BOARD,
    Item,
    board_from_json,
    board_to_json,
    is_tower_board,
    tower_block,
)

BOARD = (
    (Item(80, 49, 0, 1, 20), Item(3, 0, 2, 2, 30)),
    (),
    (Item(90, 90, 1, 0, 10),),
)
JSON = [
    [
        {"x_loc": 80, "y_loc": 49, "size": 20, "color": "Black", "type": "circle"},
        {"x_loc": 3, "y_loc": 0, "size": 30, "color": "#0099ff", "type": "triangle"},
    ],
    [],
    [{"x_loc": 90, "y_loc": 90, "size": 10, "color": "Yellow", "type": "square"}],
]


def test_the_published_form_is_read_and_written():
    assert board_to_json(BOARD) == JSON
    assert board_from_json(JSON) == BOARD
    assert board_from_json([[], [], []]) == EMPTY_BOARD


def test_a_board_is_a_value():
    assert problem(BOARD) is None
    assert hash(board_from_json(copy.deepcopy(JSON))) == hash(BOARD)


def changed(place, value):
    rep = copy.deepcopy(JSON)
    rep[0][1][place] = value
    return rep


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "structured_rep must be a list of 3, got null"),
        ([[], []], "structured_rep must be a list of 3"),
        ([[], {}, []], r"structured_rep\[1\] must be a list \[...\], got \{\}"),
        ([[], [], [1]], r"structured_rep\[2\]\[0\] must be an object \{...\}, got 1"),
        (changed("z", 1), r"structured_rep\[0\]\[1\] has an unknown field 'z'; known: x_loc, y_loc, size"),
        (changed("size", 15), r"structured_rep\[0\]\[1\].size must be one of 10, 20, 30, got 15"),
        (changed("size", True), r"\.size must be one of 10, 20, 30, got true"),
        (changed("size", [10]), r"\.size must be one of 10, 20, 30"),
        (changed("x_loc", 71), r"\[0\]\[1\].x_loc must be an integer from 0 to 70 \(size 30\), got 71"),
        (changed("y_loc", -1), r"\.y_loc must be an integer from 0 to 70"),
        (changed("y_loc", 1.0), r"\.y_loc must be an integer"),
        (changed("color", "blue"), r"\.color must be one of 'Yellow', 'Black', '#0099ff', got 'blue'"),
        (changed("type", ["circle"]), r"\.type must be one of 'circle', 'square', 'triangle'"),
    ],
)
def test_a_wrong_board_is_refused_with_its_place(value, message):
    with pytest.raises(BadRow, match=message):
        board_from_json(value)


def test_towers_are_recognized():
    tower = tuple(tower_block(level, 2) for level in range(4))
    assert [item.y for item in tower] == [80, 59, 38, 17]
    assert is_tower_board(EMPTY_BOARD)
    assert is_tower_board((tower, tower[:1], ()))
    assert not is_tower_board((tower[::-1], (), ()))  # the list begins at the bottom
    assert not is_tower_board(((*tower, tower[0]), (), ()))
    assert not is_tower_board(BOARD)


@pytest.mark.data
def test_published_boards_survive_reading_and_writing(beside):
    for name, tower in (("tower_flipit_dev", True), ("scatter_flipit_dev", False)):
        rows = json.loads(gzip.decompress((beside / "data/lilgym" / f"{name}.json.gz").read_bytes()))
        for row in rows.values():
            board = board_from_json(row["structured_rep"])
            assert board_to_json(board) == row["structured_rep"]
            assert is_tower_board(board) is tower
