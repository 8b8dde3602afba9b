"""What a language model reads: the instruction, the goal, and the items of a box."""

from __future__ import annotations

from functools import lru_cache

from loquent.tasks.blocks.boards.board import BOXES, COLORS, SHAPES, SIZES, Board, Box
from loquent.tasks.blocks.boards.rules import PITCH
from loquent.tasks.blocks.edits.positions import SIZE_NAMES
from loquent.tasks.blocks.geometry.tables import CELL, MOST_GAP

GOAL = (
    "Change three boxes until a statement about them is true or false, as asked, then stop. At most {} "
    "actions."
)
TOWER = (
    "Each box holds a stack of at most 4 blocks, written from the bottom to the top. Actions: add COLOR BOX, "
    "remove BOX (takes the top block), stop. Colors: yellow, black, blue. Boxes: left, middle, right."
)
SCATTER = (
    "The picture has 380 by 100 pixels. The boxes begin at x = 0, 140 and 280, each 100 pixels wide; y grows "
    "downwards. An item is written as SIZE COLOR SHAPE at X Y, its top left corner. Sizes: small (10 "
    "pixels), medium (20), large (30). Colors: yellow, black, blue. Shapes: circle, square, triangle."
)
GRID = (
    f"Actions: add SIZE COLOR SHAPE at X Y, remove at X Y, stop; X and Y are multiples of {CELL}. A "
    f"removal takes the item with the largest area in the {CELL} by {CELL} pixels from X Y."
)
NATIVE = "Actions: add SIZE COLOR SHAPE at X Y, remove at X Y (takes the item at this pixel), stop."
ADDED = (
    f"Items must be inside a box and must not overlap; an added item moves to touch a neighbour within "
    f"{MOST_GAP} pixels."
)


def instruction(appearance: str, actions: str, horizon: int) -> str:
    """The rules, as an agent reads them before the first observation."""
    goal = GOAL.format(horizon)
    if appearance == "tower":
        return f"{goal} {TOWER}"
    return " ".join((goal, SCATTER, NATIVE if actions == "native" else GRID, ADDED))


def opening(sentence: str, target: bool, board: Board, appearance: str) -> str:
    """The statement, the goal, and all boxes, one line each."""
    boxes = "".join(line(i, box, appearance) for i, box in enumerate(board))
    return f"Statement: {sentence}\nMake it {'true' if target else 'false'}.\n{boxes}"


@lru_cache(maxsize=4096)
def line(i: int, box: Box, appearance: str) -> str:
    """The items of box `i`, in the order of the list: for a tower from the bottom to the top."""
    if appearance == "tower":
        items = ", ".join(COLORS[item.color] for item in box)
    else:
        items = ", ".join(
            f"{SIZE_NAMES[SIZES.index(size)]} {COLORS[color]} {SHAPES[shape]} at {x + PITCH * i} {y}"
            for x, y, shape, color, size in box
        )
    return f"{BOXES[i]}: {items or 'empty'}\n"
