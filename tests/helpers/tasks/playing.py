"""Play of blocks on rows of the tests' own: actions in the short notation of the published checks."""

from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.tasks.blocks.boards.board import BOXES, COLORS, EMPTY_BOARD, SHAPES
from loquent.tasks.blocks.edits.positions import SIZE_NAMES
from loquent.tasks.blocks.task import Blocks, BlocksOptions

TOP_OF_THREE = (
    "exist(filter_obj(all_boxes, lambda b: count(b) == 3 and exist(filter_obj(b, lambda i: is_top(i) and "
    "is_black(i)))))"
)
TWO_CORNERS = (
    "equal_int(2, count(filter_obj(all_boxes, lambda b: exist(filter_obj(b, lambda i: "
    "is_closely_touching_corner(i) and is_triangle(i))))))"
)
ALWAYS = "count(all_boxes) == 3"
STOP = "stop"


def task(**options):
    return Blocks(BlocksOptions(**options))


def row(program=ALWAYS, board=EMPTY_BOARD, target=True, sentence="a statement"):
    fields = {"sentence": sentence, "program": program, "target": target, "board": board, "template": ""}
    return Row("own", Record(fields))


def play(world, texts, **fields):
    """The steps of an episode: the first, and the one after each text."""
    steps = [world.start(fields.get("row") or row(**fields), Key(0))]
    for text in texts:
        steps.append(world.act(steps[-1], text))
    return steps


def rewards(world, steps):
    return [round(world.total(step.rewards), 10) for step in steps[1:]]


def A(box, color):
    return f"add {COLORS[color]} {BOXES[box]}"


def R(box):
    return f"remove {BOXES[box]}"


def SA(gx, gy, shape, color, size):
    return f"add {SIZE_NAMES[size]} {COLORS[color]} {SHAPES[shape]} at {20 * gx} {20 * gy}"


def SR(gx, gy):
    return f"remove at {20 * gx} {20 * gy}"
