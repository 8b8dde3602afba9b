"""The tables of the geometry, and edits of boxes, against the polygons and a second reading."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tasks.boxes import BOX, ITEM, SIZES
from loquent.core.seeding import Key
from loquent.tasks.blocks.boards import legality, rules
from loquent.tasks.blocks.boards.board import Item
from loquent.tasks.blocks.geometry import tables
from loquent.tasks.blocks.geometry.nearest import distance, nearest_points
from loquent.tasks.blocks.geometry.rings import KINDS, kind_of, ring, size_of
from loquent.tasks.blocks.geometry.tables import snap_of_circles
from tools.corpora.blocks import geometry

OFFSET = st.integers(-tables.REACH, tables.REACH)
KIND = st.integers(0, KINDS - 1)


def inside(points, polygon):
    """bool[n]: whether points are inside a convex polygon, by the side of every edge."""
    starts, ends = polygon[:-1], polygon[1:]
    along, reach = ends - starts, points[:, None] - starts[None]
    side = along[:, 0] * reach[..., 1] - along[:, 1] * reach[..., 0]
    return (side > 1e-9).all(1) | (side < -1e-9).all(1)


def spread(polygon, n=24):
    """Points inside a polygon: its middle, pulled towards points of its edges."""
    middle = polygon[:-1].mean(0)
    shares = np.linspace(0, 1, n, endpoint=False)[:, None, None]
    edges = (polygon[:-1] + shares * (polygon[1:] - polygon[:-1])).reshape(-1, 2)
    return np.concatenate([middle + pull * (edges - middle) for pull in (0.3, 0.7, 0.95, 0.9999)])


def test_the_outlines():
    assert ring(kind_of(1, 20), 3, 4).tolist() == [[3, 4], [23, 4], [23, 24], [3, 24], [3, 4]]
    assert ring(kind_of(2, 30), 3, 4).tolist() == [[18, 4], [3, 34], [33, 34], [18, 4]]
    circle = ring(kind_of(0, 20), 3, 4)
    assert circle.shape == (65, 2)
    assert np.allclose(np.hypot(*(circle - [13, 14]).T), 10, atol=1e-12)
    assert circle[0].tolist() == [23, 14]
    assert circle[1][1] < 14
    assert [size_of(kind) for kind in range(KINDS)] == [*SIZES] * 3


@settings(max_examples=60)
@given(KIND, KIND, OFFSET, OFFSET)
def test_overlap_is_that_of_the_polygons(a, b, x, y):
    table = tables.tables()
    assert table.meet(a, b, x, y) == geometry.overlap(a, b, x, y) == table.meet(b, a, -x, -y)
    first, second = ring(a, 0, 0), ring(b, x, y)
    if inside(spread(first), second).any() or inside(spread(second), first).any():
        assert table.meet(a, b, x, y)


def test_overlap_of_circles_and_squares_by_formulas():
    table, between = tables.tables(), 0
    for a in range(3):
        for b in range(3):
            r, s = size_of(a) / 2, size_of(b) / 2
            for x in range(-tables.REACH, tables.REACH + 1):
                for y in range(-tables.REACH, tables.REACH + 1):
                    boxes = -2 * s < x < 2 * r and -2 * s < y < 2 * r
                    assert table.meet(a + 3, b + 3, x, y) == boxes
                    apart, meet = math.hypot(x + s - r, y + s - r), table.meet(a, b, x, y)
                    if meet != (apart < r + s - 1e-9):
                        # the circles meet, and the polygons inscribed in them do not
                        between += 1
                        assert not meet
                        assert apart >= (r + s) * math.cos(math.pi / 64)
    assert between == 8


def test_far_items_do_not_meet():
    table = tables.tables()
    assert not table.meet(0, 0, 35, 0)
    assert not table.meet(0, 0, 0, -90)
    assert table.gap(0, 0, 99, 0) == tables.FAR
    assert table.area_rank(0, 20, 0) == table.area_rank(0, -30, 0) == 0


@settings(max_examples=60)
@given(KIND, KIND, OFFSET, OFFSET, st.integers(40, 300), st.integers(40, 60))
def test_distances_and_snaps_are_those_of_the_polygons(a, b, x, y, left, top):
    table = tables.tables()
    if table.meet(a, b, x, y):
        assert table.gap(a, b, x, y) == tables.FAR
        return
    first, second = ring(a, left, top), ring(b, left + x, top + y)
    apart, _, _ = distance(first, second)
    assert table.gap(a, b, x, y) == min(int(apart), tables.FAR)
    p, q = nearest_points(first, second)
    assert math.dist(p, q) == pytest.approx(apart, abs=1e-9)
    grid = [s + t * (e - s) for s, e in itertools.pairwise(first) for t in np.linspace(0, 1, 9)]
    others = [s + t * (e - s) for s, e in itertools.pairwise(second) for t in np.linspace(0, 1, 9)]
    assert min(math.dist(one, other) for one in grid[::3] for other in others[::3]) >= apart - 1e-9
    if apart < tables.FAR:
        move = int(q[0]) - int(p[0]), int(q[1]) - int(p[1])
        if a < 3 and b < 3:
            assert snap_of_circles(a, left, top, b, left + x, top + y) == move
        else:
            assert table.move(a, b, x, y) == move


def test_the_snap_of_circles_depends_on_the_place():
    # both polygons have parallel edges there, and rounding chooses between equally near points
    places = ((x, y) for x in range(20, 340, 9) for y in range(20, 60, 7))
    moves = {snap_of_circles(2, x, y, 0, x + 25, y - 9) for x, y in places}
    assert moves == {(3, -3), (2, -4)}


@pytest.mark.parametrize(
    ("neighbour", "place", "size", "number", "paper", "legacy"),
    [
        # Both polygons have an edge whose normal is at 126.5625 degrees, so several pairs of points are
        # equally near, and their truncated differences are (-1, 2) and (-2, 1). The rounding of the
        # coordinates chooses by the place in the picture. All moves are those of shapely 2.2.
        ((75, 39, 10), (80, 20), 20, 0, (78, 21), (78, 21)),
        ((75, 39, 10), (80, 20), 20, 2, (79, 22), (79, 22)),
        ((11, 55, 30), (40, 80), 10, 1, (37, 77), (37, 77)),
        ((7, 70, 30), (36, 66), 20, 2, (36, 67), (36, 67)),
        ((18, 68, 20), (0, 40), 30, 2, (0, 40), (1, 42)),  # the circles would overlap at (1, 42)
    ],
)
def test_circles_snap_as_in_the_released_code(neighbour, place, size, number, paper, legacy):
    box, item = (Item(*neighbour[:2], 0, 0, neighbour[2]),), Item(*place, 0, 1, size)
    assert rules.snap_item(box, item, number, legacy=False)[:2] == paper
    assert rules.snap_item(box, item, number, legacy=True)[:2] == legacy


def test_areas_in_a_cell():
    assert geometry.area(kind_of(1, 10), 5, 5) == 100
    assert geometry.area(kind_of(1, 30), -5, -5) == 400
    assert geometry.area(kind_of(1, 20), 15, -15) == 25
    assert geometry.area(kind_of(2, 20), 0, 0) == 200
    assert geometry.area(kind_of(2, 20), 0, 10) == pytest.approx(50)
    polygon = 64 / 2 * 100 * math.sin(2 * math.pi / 64)
    assert geometry.area(kind_of(0, 20), 0, 0) == pytest.approx(polygon)
    assert geometry.area(kind_of(0, 20), 0, 10) == pytest.approx(polygon / 2)
    ranks = tables.tables().area
    rng = Key(0, ("areas",)).generator()
    drawn = [(int(rng.integers(9)), *map(int, rng.integers(-29, 20, 2))) for _ in range(150)]
    by_rank = sorted(drawn, key=lambda one: ranks[one[0], one[1] + 29, one[2] + 29])
    areas = [geometry.area(*one) for one in by_rank]
    assert all(before <= after + 1e-9 for before, after in itertools.pairwise(areas))


@given(BOX, ITEM, st.integers(0, 2), st.booleans())
def test_a_snap_follows_the_nearest_item(box, item, number, legacy):
    if rules.misfit(box, item):
        return
    place = rules.snap_item(box, item, number, legacy)
    left, kind = 140 * number, kind_of(item.shape, item.size)
    gaps = [
        int(distance(ring(kind, item.x, item.y), ring(kind_of(o.shape, o.size), o.x, o.y))[0]) for o in box
    ]
    if not gaps or min(gaps) > 4:
        assert place == item
        return
    other = box[gaps.index(min(gaps))]
    p, q = nearest_points(
        ring(kind, left + item.x, item.y), ring(kind_of(other.shape, other.size), left + other.x, other.y)
    )
    moved = item._replace(x=item.x + int(q[0]) - int(p[0]), y=item.y + int(q[1]) - int(p[1]))
    assert place == (item if not legacy and rules.misfit(box, moved) else moved)


@settings(max_examples=40)
@given(BOX)
def test_all_legal_edits_of_a_box_at_once(box):
    adds, removals = legality.cells(box)
    adds = adds.reshape(5, 5, 3, 3, 3)
    pixels, drawn = legality.pixels(box)
    assert (pixels[::20, ::20].reshape(5, 5, 3, 1, 3) == adds).all()
    rng = Key(0, ("cells", len(box))).generator()
    every = np.argwhere(np.ones(adds.shape))
    for column, row, shape, color, size in every[rng.permutation(675)[:80]].tolist():
        item = Item(20 * column, 20 * row, shape, color, SIZES[size])
        assert adds[column, row, shape, color, size] == (rules.misfit(box, item) == "")
    for column, row in np.ndindex(5, 5):
        assert removals[5 * column + row] == (rules.item_of_cell(box, 20 * column, 20 * row) >= 0)
    for x, y, kind in rng.integers((100, 100, 9), size=(80, 3)).tolist():
        item = Item(x, y, kind // 3, 0, size_of(kind))
        assert pixels[x, y, kind] == (rules.misfit(box, item) == "")
        assert drawn[x, y] == (rules.item_of_pixel(box, x, y) >= 0)
    free, filled = np.ones(675, np.int8) * legality.cells(())[0], np.zeros(25, np.int8)
    for item in box:
        free, filled = free * legality.effect(item)[0], filled | legality.effect(item)[1]
    assert (free == adds.ravel()).all()
    assert (filled == removals).all()


def test_an_empty_box_takes_what_is_inside():
    adds, removals = legality.cells(())
    assert (int(adds.sum()), int(removals.sum())) == (594, 0)  # three boxes: 1,782


def test_a_removal_takes_the_largest_area_and_the_first_of_equals():
    small, large = Item(0, 0, 1, 0, 10), Item(10, 0, 1, 1, 20)
    assert rules.item_of_cell((small, large), 0, 0) == 1  # 100 against 200 square pixels
    assert rules.item_of_cell((small, Item(10, 10, 1, 1, 10)), 0, 0) == 0
    assert rules.item_of_cell((small,), 20, 0) == -1
    assert rules.item_of_pixel((Item(0, 0, 0, 0, 20), Item(5, 5, 1, 1, 10)), 7, 7) == 1
    assert rules.item_of_pixel((Item(0, 0, 0, 0, 20),), 0, 0) == -1
