"""The action sets of blocks: numbers, texts and array forms, legality, draws, and edits at pixels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tasks.boxes import BOX
from helpers.tasks.playing import SA, SR, A, R, play, task
from loquent.core.seeding import Key
from loquent.errors import LoquentError
from loquent.tasks.blocks.boards import rules
from loquent.tasks.blocks.boards.board import BOXES, COLORS, EMPTY_BOARD, Item, tower_block
from loquent.tasks.blocks.edits.base import ADD, REMOVE, STOP
from loquent.tasks.blocks.edits.positions import GridEdits, PlacedEdits
from loquent.tasks.blocks.edits.towers import TowerEdits

TOWERS, GRID, NATIVE = TowerEdits(), GridEdits(), PlacedEdits(1)
BOARD = st.tuples(BOX, BOX, BOX)


def test_the_sizes():
    assert (len(TOWERS), len(GRID), len(NATIVE)) == (13, 2661, 1_064_001)
    assert [int(edits.mask(edits.legal(EMPTY_BOARD)).sum()) for edits in (TOWERS, GRID)] == [10, 1783]
    with pytest.raises(LoquentError, match="100,000"):
        NATIVE.mask(EMPTY_BOARD)


@pytest.mark.parametrize(
    ("edits", "numbers"),
    [
        (TOWERS, range(13)),
        (GRID, range(2661)),
        (NATIVE, sorted({*range(0, 1_064_001, 53), *range(1_026_000, 1_026_100), 1_064_000})),
    ],
    ids=["towers", "grid", "native"],
)
def test_numbers_texts_and_array_forms_are_bijections(edits, numbers):
    texts, forms = set(), set()
    for i in numbers:
        text, form = edits.text(i), edits.factors(i)
        assert edits.index(text) == i
        assert edits.number(form) == edits.number(list(np.array(form))) == i
        assert len(form) == len(edits.parts)
        texts.add(text)
        forms.add(form)
    assert len(texts) == len(forms) == len(list(numbers))
    for outside in (-1, len(edits)):
        with pytest.raises(IndexError):
            edits.text(outside)


def test_the_order_of_the_released_code():
    assert TOWERS.factors(0) == (STOP, -1, -1)
    assert [TOWERS.text(1 + 3 * box + color) for box in range(3) for color in range(3)] == [
        A(box, color) for box in range(3) for color in range(3)
    ]
    assert [TOWERS.text(10 + box) for box in range(3)] == [R(box) for box in range(3)]
    for gx, gy, shape, color, size in ((0, 0, 0, 0, 0), (18, 4, 2, 2, 2), (7, 3, 1, 2, 0)):
        i = 1 + (((gx * 5 + gy) * 3 + shape) * 3 + color) * 3 + size
        assert GRID.text(i) == SA(gx, gy, shape, color, size)
        assert GRID.factors(i) == (ADD, gx, gy, shape, color, size)
        assert GRID.text(2566 + gx * 5 + gy) == SR(gx, gy)
        assert GRID.factors(2566 + gx * 5 + gy) == (REMOVE, gx, gy, -1, -1, -1)
    assert GRID.text(2660) == SR(18, 4)
    assert NATIVE.text(1_064_000) == "remove at 379 99"
    assert NATIVE.text(1) == "add small yellow circle at 0 0"
    assert NATIVE.text(1 + 27 * (100 * 150 + 7)) == "add small yellow circle at 150 7"


OTHER_FORMS = [(3, 0, 0), (-1,), (ADD, 3, 0), (ADD, 0), (STOP, 0), (REMOVE, 0, 0), (ADD, 0, 0, 0)]


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_other_array_forms_are_no_actions(form):
    assert TOWERS.number(form) is None


def test_a_short_array_form_is_filled_up():
    assert TOWERS.number((STOP,)) == 0
    assert TOWERS.number((REMOVE, 2)) == 12
    assert GRID.number((REMOVE, 18, 4)) == 2660


@pytest.mark.parametrize(
    "text",
    [
        "add small black circle at 20 5",
        "add small black circle at 00 0",
        "remove at 380 0",
        "remove at 0 100",
        "add tiny black circle at 0 0",
        "remove at -20 0",
        "add small black circle at 20",
        "remove at ٢٠ 0",
    ],
)
def test_other_texts_are_no_actions_of_the_grid(text):
    assert GRID.index(text) is None
    assert NATIVE.index(text) is None or text == "add small black circle at 20 5"


@settings(max_examples=25)
@given(BOARD)
def test_mask_contains_draw_and_problem_agree(board):
    mask = GRID.mask(board)
    rng = Key(0, ("agree",)).generator()
    for i in rng.permutation(len(GRID))[:200].tolist():
        assert GRID.contains(board, i) == mask[i] == (GRID.problem(board, i) == "")
    for edits in (GRID, NATIVE):
        for _ in range(5):
            assert edits.contains(board, edits.draw(board, rng))
    assert not GRID.contains(board, -1)
    assert not NATIVE.contains(board, len(NATIVE))


def test_a_draw_from_a_crowded_board_is_uniform():
    # no item fits any more, so all draws are `stop` and removals
    full = tuple(Item(10 * x, 10 * y, 1, 0, 10) for x in range(10) for y in range(10))
    board = (full, full, full)
    rng = Key(1, ("crowded",)).generator()
    drawn = [NATIVE._listed_draw(board, rng) for _ in range(500)]
    assert {NATIVE.factors(i)[0] for i in drawn} <= {STOP, REMOVE}
    boxes = np.bincount([NATIVE.edit(i).box for i in drawn if i], minlength=3)
    assert (np.abs(boxes / 500 - 1 / 3) < 0.1).all()
    assert len(set(drawn)) > 450


def test_the_draws_of_a_small_board_cover_the_legal_actions():
    board = ((tower_block(0, 0),), (), tuple(tower_block(i, i % 3) for i in range(4)))
    legal, rng = TOWERS.legal(board), Key(2, ("towers",)).generator()
    drawn = {TOWERS.draw(legal, rng) for _ in range(400)}
    assert drawn == set(np.flatnonzero(TOWERS.mask(legal)).tolist())
    assert TOWERS.legal_texts(legal) == tuple(TOWERS.text(i) for i in sorted(drawn))
    assert f"add {COLORS[0]} {BOXES[2]}" not in TOWERS.legal_texts(legal)


def test_legal_values_of_other_kinds_are_refused():
    for legal in (None, 5, b"\\0\\0\\0"):
        with pytest.raises(LoquentError, match="legal must be"):
            TOWERS.mask(legal)
    with pytest.raises(LoquentError, match="legal must be a board"):
        GRID.mask(None)


@pytest.mark.parametrize("legacy", ["paper", "legacy"])
def test_edits_at_pixels(legacy):
    world = task(appearance="scatter", actions="native", rules=legacy)
    for texts, reason in (
        (["add large blue circle at 170 33", "remove at 185 48"], ""),
        (["add large blue circle at 170 33", "remove at 170 33"], "empty cell"),  # the corner is not drawn
        (["add small black square at 100 0"], "separator"),
        (["remove at 279 0"], "separator"),
        (["add small black square at 91 0"], "bounds"),
        (["add small black square at 370 91"], "bounds"),
        (["add medium black square at 290 7", "add small blue square at 309 26"], "overlap"),
        (["add medium black square at 290 7", "add small blue square at 310 27"], ""),
    ):
        steps = play(world, texts)
        assert steps[-1].invalid == reason, texts
    steps = play(world, ["add medium black square at 290 7", "add small blue square at 313 9"])
    assert steps[-1].state.board[2] == (Item(10, 7, 1, 1, 20), Item(30, 9, 1, 2, 10))
    over = ((Item(0, 0, 1, 0, 30), Item(10, 10, 0, 1, 10)), (), ())
    steps = play(world, ["remove at 15 15", "remove at 15 15"], board=over)
    assert [len(step.state.board[0]) for step in steps] == [2, 1, 0]
    assert steps[1].state.board[0] == over[0][:1]


def test_a_box_is_replaced():
    board = (("a",), ("b",), ("c",))
    assert [rules.with_box(board, i, ()) for i in range(3)] == [
        ((), ("b",), ("c",)),
        (("a",), (), ("c",)),
        (("a",), ("b",), ()),
    ]
