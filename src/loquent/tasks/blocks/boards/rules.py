"""The rules of the edits: which are invalid and why, and the board after each.

Rules "paper": a snap is kept only where the item then fits. Rules "legacy": as in the released code of
arXiv:2211.01994, which moves the item without this check.
"""

from __future__ import annotations

from loquent.tasks.blocks.boards.board import BOX_SIDE, COLORS, TOWER_Y, Board, Box, Item, tower_block
from loquent.tasks.blocks.geometry.rings import kind_of
from loquent.tasks.blocks.geometry.sprites import covers
from loquent.tasks.blocks.geometry.tables import FAR, REACH, WIDTH, snap_of_circles, tables

PITCH = 140  # pixels from a box to the next
SEPARATOR, BOUNDS, OVERLAP = "separator", "bounds", "overlap"
EMPTY_CELL, FULL_STACK, EMPTY_STACK = "empty cell", "full stack", "empty stack"
INVALID = (SEPARATOR, BOUNDS, OVERLAP, EMPTY_CELL, FULL_STACK, EMPTY_STACK)
_BLOCKS = tuple(
    tuple(tower_block(level, color) for color in range(len(COLORS))) for level in range(len(TOWER_Y))
)
KIND = {(shape, size): kind_of(shape, size) for shape in range(3) for size in (10, 20, 30)}


def with_box(board: Board, i: int, box: Box) -> Board:
    """The board with another box in place of box `i`."""
    left, middle, right = board
    if i == 0:
        return box, middle, right
    return (left, box, right) if i == 1 else (left, middle, box)


def stack_block(box: Box, color: int) -> Box:
    """The tower with a block on its top."""
    return (*box, _BLOCKS[len(box)][color])


def misfit(box: Box, item: Item) -> str:
    """Why an item does not fit into a box; "" where it fits. Items may touch."""
    x, y, shape, _, size = item
    if x < 0 or y < 0 or x + size > BOX_SIDE or y + size > BOX_SIDE:
        return BOUNDS
    meets, left, top = tables().overlap_bytes[KIND[shape, size]], x - REACH, y - REACH
    for other_x, other_y, other_shape, _, other_size in box:
        column, row = other_x - left, other_y - top
        near = 0 <= column < WIDTH and 0 <= row < WIDTH
        if near and meets[KIND[other_shape, other_size]][column * WIDTH + row]:
            return OVERLAP
    return ""


def snap_item(box: Box, item: Item, number: int, legacy: bool) -> Item:
    """The place of an item that fits: it moves to touch the nearest item within a distance below 5 pixels.

    The distance is compared without its decimals; the first neighbour in the list wins.

    Args:
        number: the box's number, for its place in the picture.
    """
    x, y, shape, color, size = item
    if not box:
        return item
    kind = KIND[shape, size]
    gaps, left, top = tables().distance_bytes[kind], x - REACH, y - REACH
    nearest, least = None, FAR
    for other in box:
        column, row = other[0] - left, other[1] - top
        if 0 <= column < WIDTH and 0 <= row < WIDTH:
            distance = gaps[KIND[other[2], other[4]]][column * WIDTH + row]
            if distance < least:
                nearest, least = other, distance
    if nearest is None:
        return item
    if shape == nearest.shape == 0:
        place = PITCH * number
        move_x, move_y = snap_of_circles(
            kind, place + x, y, KIND[0, nearest.size], place + nearest.x, nearest.y
        )
    else:
        near_kind = KIND[nearest.shape, nearest.size]
        move_x, move_y = tables().move(kind, near_kind, nearest.x - x, nearest.y - y)
    if not move_x and not move_y:
        return item
    moved = Item(x + move_x, y + move_y, shape, color, size)
    return item if not legacy and misfit(box, moved) else moved


def item_of_cell(box: Box, x: int, y: int) -> int:
    """The item with the largest area in the cell at (x, y), the first among equals; -1: none."""
    rank, best, most = tables().area_rank, -1, 0
    for i, item in enumerate(box):
        area = rank(KIND[item.shape, item.size], item.x - x, item.y - y)
        if area > most:
            best, most = i, area
    return best


def item_of_pixel(box: Box, x: int, y: int) -> int:
    """The item that the picture shows at a pixel, the last one drawn there; -1: none."""
    for i in range(len(box) - 1, -1, -1):
        item = box[i]
        if covers(KIND[item.shape, item.size], x - item.x, y - item.y):
            return i
    return -1


def without(box: Box, i: int) -> Box:
    """The box without item `i`."""
    return box[:i] + box[i + 1 :]
