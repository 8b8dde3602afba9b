"""The functions of the program language, one by one, with values worked out by hand."""

import pytest

from loquent.errors import ProgramError
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Item, tower_block
from loquent.tasks.blocks.programs.functions import FUNCTIONS, LOOPS
from loquent.tasks.blocks.programs.predicates import is_closely_touching_wall, is_touching_corner
from loquent.tasks.blocks.programs.program import compile_program
from loquent.tasks.blocks.programs.relations import get_above, get_box_exclusive, get_box_inclusive
from loquent.tasks.blocks.programs.scene import Color, Scene, Side

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
    [
        ("All([], is_black)", False),
        ("All(all_items, is_black)", False),
        ("Any([], is_black)", False),
        ("contained([], all_items)", True),
        ("equal_set([], [])", True),
        ("all_same([])", False),
        ("all_same_attribute([], count)", False),
        ("intersect_all([]) == set()", True),
        ("query_color([]) == []", True),
        ("exist(all_boxes)", True),
        ("exist(all_boxes[0])", False),
        ("exist(filter_obj(all_boxes, lambda x: x))", False),
        ("count(all_boxes) == 3 and len(all_boxes[1:]) == 2", True),
        ("Any(all_boxes, lambda x: x.is_tower())", False),
        ("all([]) and not all([0, 1])", True),
        ("1 < 2 < 3 and not 1 < 3 < 2", True),
        ("7 % 4 == 3 and 3 + 4 == 7 and [1] + [2] == [1, 2]", True),
        ("1 in {1, 2} and 3 not in [1, 2] and 1 != 2", True),
        ("equal(1, 1) and not equal([1], 2) and equal([1, 1], 1)", True),
        ("equal_color(Color.BLACK, [Color.BLACK]) and not equal_color([Color.BLACK], Color.BLUE)", True),
        (
            "equal_color([Color.BLACK, Color.BLUE], [Color.BLUE, Color.BLACK])",
            False,
        ),  # lists keep their order
        ("equal_set([Color.BLACK, Color.BLUE], [Color.BLUE, Color.BLACK])", True),
        ("union({1}, {2}) == {1, 2} and union_all([{1}, {2}, set()]) == {1, 2}", True),
        ("intersect([1, 2, 3], {3, 1}) == [1, 3] and intersect_all([[1, 2], {2}]) == [2]", True),
        ("count(combinations([1, 2, 3, 4], 2)) == 6 and count(select(3, [1, 2, 3, 4])) == 4", True),
        ("combinations([1, 2, 3], 2)[1][1] == 3", True),
        ("member_of(Shape.CIRCLE, {Shape.CIRCLE, Shape.SQUARE})", True),
        ("le(1, 1) and ge(2, 1) and lt(1, 2) and gt(2, 1) and equal_int(2, 2)", True),
        ("AND(exist(all_boxes), NOT(exist(all_items)))", True),
        ("OR(exist(all_items), check_np_bool_convert(exist(all_items)))", False),
    ],
)
def test_values_on_the_empty_board(text, right):
    assert value(text) is right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("count(get_above(filter_obj(all_items, is_yellow))) == 1", True),  # a tower: only the next block
        ("count(get_box_all_above(filter_obj(all_items, is_yellow))) == 2", True),
        ("count(get_box_all_below(filter_obj(all_items, is_blue))) == 2", True),
        ("query_color(get_below(unique(filter_obj(all_items, is_blue)))) == [Color.BLACK]", True),
        ("count(get_touching(unique(filter_obj(all_items, is_black)))) == 2", True),  # a gap of 1 pixel
        ("count(get_closely_touching(unique(filter_obj(all_items, is_black)))) == 2", True),
        ("get_above(all_items) == get_touching(all_items)", False),
        ("filter_obj(all_items, is_second) == filter_obj(all_items, is_black)", True),
        ("filter_obj(all_items, is_third) == filter_obj(all_items, is_top)", True),
        ("query_color(filter_obj(all_items, is_bottom)) == [Color.YELLOW]", True),
        ("query_color(filter_obj(all_items, is_touching_wall)) == [Color.YELLOW]", True),
        ("unique(filter_obj(all_boxes, lambda b: b.is_tower())) == all_boxes[0]", True),
        ("all_boxes[0] == all_boxes[1]", False),
        ("count(filter_obj(all_boxes, lambda b: b.is_tower)) == 3", True),  # not called: always true
        ("all_items == all_boxes[0].all_items_in_box()", True),
        ("count(all_items + all_items) == 3 and len(all_items + all_items) == 6", True),
        ("all_same(filter_obj(all_items, is_black)) and not all_same(all_items)", True),
        ("all_same_shape(all_items) and all_same_size(all_items) and not all_same_color(all_items)", True),
        ("count(get_set_colors(all_items)) == 3 and get_set_shapes(all_items) == {Shape.SQUARE}", True),
        ("get_set_sizes(all_items) == {Size.MEDIUM} and query_size(all_items[0]) == [Size.MEDIUM]", True),
        ("query_shape(all_items)[2] == Shape.SQUARE", True),
        ("filter_size(all_items, Size.MEDIUM) == filter_shape(all_items, Shape.SQUARE)", True),
        ("filter_color(all_items, [Color.BLACK]) == filter_color(all_items, Color.BLACK)", True),
        ("filter_color([all_boxes[0]], Color.BLACK) == []", True),  # a box: all of its things
        ("filter_shape([all_boxes[0]], Shape.SQUARE) == [all_boxes[0]]", True),
        ("min(all_boxes, key=count) == all_boxes[1]", True),  # the first of equal ones
        ("min([3, 1, 2]) == 1", True),
        ("all_same_attribute(all_items, lambda x: x.box)", True),
        ("all_items[0] in all_boxes[0] and all_items[0] not in all_boxes[1]", True),
        ("get_box_inclusive(all_items[1]) == all_items", True),
        ("count(get_box_exclusive(all_items[1])) == 2", True),
        ("is_closely_touching(all_items[0], all_items[1])", True),
        ("is_closely_touching(all_items[0], all_items[2])", False),
        (
            "equal_size(Size.MEDIUM, query_size(all_items[0])) "
            "and equal_shape({Shape.SQUARE}, {Shape.SQUARE})",
            True,
        ),
    ],
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
    [
        ("AND(1, exist(all_items))", "truth values are needed, got int"),
        ("OR(exist(all_items), all_items)", "truth values are needed, got list"),
        ("NOT(all_items)", "truth values are needed, got list"),
        ("le(exist(all_items), 1)", "integers are needed, got bool"),
        ("unique(all_items)", "exactly 1 element, got 3"),
        ("unique([])", "exactly 1 element, got 0"),
        ("is_black(all_boxes[0])", "'Box' object has no attribute 'color'"),
        ("all_items[0].is_tower()", "a box is needed, got Thing"),
        ("all_items[0].is_tower", "a box is needed, got Thing"),
        ("all_boxes[0].box", "no attribute 'box'"),
        ("all_items[7] == 1", "index out of range"),
        ("set(all_items)[0] == 1", "only lists and boxes have numbered elements, got set"),
        ("all_items < all_items", "only numbers have an order, got list and list"),
        ("1 % 0 == 1", "modulo by zero"),
        ("all_items % 2 == 1", "% cannot take list and int"),
        ("all_items + 1 == 1", r"\+ cannot take list and int"),
        ("count(1) == 1", "not iterable"),
        ("len(1) == 1", "has no len"),
        ("filter_obj(1, is_black)", "has no len"),
        ("query_color(all_boxes)", "items are needed, got Box"),
        ("equal(1, Color.BLACK)", "equal needs values of one type"),
        ("equal_color(Shape.CIRCLE, Color.BLACK)", "values of Color are needed"),
        ("equal_color(1, Color.BLACK)", "not iterable"),
        ("filter_color(all_items, Shape.CIRCLE)", "equal needs values of one type"),
        ("union([1], {1})", "sets are needed, got list"),
        ("exist(set([all_items]))", "unhashable"),
        ("min(all_items) == 1", "min compares numbers, got Thing"),
        ("min([]) == 1", "min needs at least 1 element"),
        ("count(all_items)", "its value must be a bool, got int"),
        ("is_touching_wall(all_items[0], 3)", "its value must be a bool, got NoneType"),
        ("all_items", "its value must be a bool, got list"),
        ("all_items[::0] == []", "slice step cannot be zero"),
    ],
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
