"""The functions of the program language, one by one, with values worked out by hand."""

from pathlib import Path

import pytest
import yaml

from loquent.errors import ProgramError
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Item, tower_block
from loquent.tasks.blocks.programs.functions import FUNCTIONS, LOOPS
from loquent.tasks.blocks.programs.predicates import is_closely_touching_wall, is_touching_corner
from loquent.tasks.blocks.programs.program import compile_program
from loquent.tasks.blocks.programs.relations import get_above, get_box_exclusive, get_box_inclusive
from loquent.tasks.blocks.programs.scene import Color, Scene, Side

CASES = yaml.safe_load(Path(__file__).with_name("programs.yaml").read_text("utf-8"))
YELLOW, BLACK, BLUE = range(3)
CIRCLE, SQUARE, TRIANGLE = range(3)
TOWER = (tuple(tower_block(level, color) for level, color in enumerate((YELLOW, BLACK, BLUE))), (), ())
PAIR = (
    (Item(0, 0, SQUARE, BLACK, 20), Item(60, 70, CIRCLE, BLUE, 30)),
    (Item(90, 90, TRIANGLE, YELLOW, 10),),
    (),
)


def value(text, board=EMPTY_BOARD):
    return compile_program(text).compute(board)


def items(*places):
    """A board whose left box has yellow squares of (x, y, size)."""
    return (tuple(Item(x, y, SQUARE, YELLOW, size) for x, y, size in places), (), ())


@pytest.mark.parametrize(
    ("text", "right"),
    CASES["empty"].items(),
)
def test_values_on_the_empty_board(text, right):
    assert value(text) is right


@pytest.mark.parametrize(
    ("text", "right"),
    CASES["tower"].items(),
)
def test_values_on_a_tower(text, right):
    assert value(text, TOWER) is right


def test_bottom_compares_top_edges():
    """Of two things on the floor only the small one is at the "bottom"."""
    board = items((0, 90, 10), (50, 70, 30))
    assert value("filter_obj(all_items, is_bottom) == [all_items[0]]", board)
    assert value("filter_obj(all_items, is_top) == [all_items[1]]", board)


@pytest.mark.parametrize(
    ("gap", "touching", "closely"), [(0, 1, 1), (1, 1, 1), (2, 0, 1), (4, 0, 1), (5, 0, 0)]
)
def test_touching_is_a_gap_of_at_most_one_pixel_and_closely_of_four(gap, touching, closely):
    board = items((10, 10, 20), (30 + gap, 10, 20))
    assert value(f"count(get_touching(all_items[0])) == {touching}", board)
    assert value(f"count(get_closely_touching(all_items[0])) == {closely}", board)


def test_above_needs_no_touching_outside_of_towers():
    board = items((0, 80, 20), (70, 0, 20))
    assert value(
        "get_above(all_items[0]) == {all_items[1]} and get_below(all_items[1]) == {all_items[0]}", board
    )
    assert value("get_above(all_items[1]) == set()", board)


@pytest.mark.parametrize("margin", range(6))
def test_walls_are_touched_within_their_margins(margin):
    """Each side at a distance: 0 pixels touch, up to 4 touch closely."""
    for side, (x, y) in {
        "LEFT": (margin, 40),
        "RIGHT": (80 - margin, 40),
        "TOP": (40, margin),
        "BOTTOM": (40, 80 - margin),
    }.items():
        board = items((x, y, 20))
        for name in ("LEFT", "RIGHT", "TOP", "BOTTOM", "ANY"):
            right = name in (side, "ANY")
            assert value(f"is_touching_wall(all_items[0], Side.{name})", board) is (right and margin == 0)
            assert value(f"is_closely_touching_wall(all_items[0], side=Side.{name})", board) is (
                right and margin < 5
            )


def test_a_corner_is_exactly_two_sides():
    corner, wall = items((0, 80, 20)), items((0, 40, 20))
    assert value("is_touching_corner(all_items[0])", corner)
    assert value("is_touching_corner(all_items[0], Side.LEFT)", corner)
    assert not value("is_touching_corner(all_items[0], side=Side.TOP)", corner)
    assert not value("is_touching_corner(all_items[0])", wall)
    assert value("is_closely_touching_corner(all_items[0], Side.TOP)", items((76, 4, 20)))
    assert not value("is_closely_touching_corner(all_items[0])", items((75, 4, 20)))
    specific = "is_closely_touching_specific_corner(all_items[0], Side.{}, Side.{})"
    assert value(specific.format("LEFT", "BOTTOM"), corner)
    assert not value(specific.format("LEFT", "TOP"), corner)


def test_a_value_that_is_no_side_gives_none():
    (thing,) = Scene(items((0, 80, 20))).all_items
    assert is_closely_touching_wall(thing, Color.BLACK) is None
    assert is_touching_corner(thing, 3) is None
    assert value("not is_touching_wall(all_items[0], Color.BLACK)", items((0, 80, 20)))


def test_only_true_counts_in_quantifiers():
    """`All` and `Any` compare with True; a filter takes any true value."""
    assert not value("All(all_items, lambda x: x)", TOWER)
    assert not value("Any(all_items, lambda x: 1)", TOWER)
    assert value("count(filter_obj(all_items, lambda x: [x])) == 3", TOWER)


def test_a_tower_is_squares_with_one_right_edge():
    assert value("all_boxes[0].is_tower()", items((3, 5, 10)))
    assert value("all_boxes[0].is_tower()", items((20, 5, 10), (10, 50, 20)))
    assert not value("all_boxes[0].is_tower()", items((20, 5, 10), (20, 50, 20)))
    assert not value("all_boxes[1].is_tower()", PAIR)
    assert not value("all_boxes[2].is_tower()", PAIR)


@pytest.mark.parametrize(
    ("text", "why"),
    CASES["wrong"].items(),
)
def test_wrong_values_are_typed_errors_with_the_program(text, why):
    with pytest.raises(ProgramError, match=why) as caught:
        compile_program(text, "s17").compute(TOWER)
    assert str(caught.value).startswith("program s17: ")


def test_sets_have_one_order_in_every_process():
    assert [hash(color) for color in Color] == [0, 1, 2, 3]
    scene = Scene(TOWER)
    assert [hash(thing) for thing in scene.all_items] == [0, 1, 2]
    assert [hash(box) for box in scene.all_boxes] == [0, 1, 2]
    assert hash(Side.ANY) == 4


def test_helpers_give_the_things_of_a_box():
    first, second, third = Scene(PAIR).all_items
    assert get_box_inclusive(first) == [first, second]
    assert get_box_exclusive(first) == [second]
    assert get_box_exclusive(third) == []
    assert get_above([second]) == {first}


def test_the_language_has_the_sound_functions_of_lilgym_and_four_builtins():
    """74 public functions, 5 of them broken; `set`, `len`, `min` and `all` are Python's."""
    assert len(FUNCTIONS) + len(LOOPS) == 74 - 5 + 4
