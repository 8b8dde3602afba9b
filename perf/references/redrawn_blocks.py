"""A step of blocks the way lilGym's released code makes it: notes on lilGym, §4 to §6 and §13.

Every step copies the state, parses the program's text and computes its value, draws all items over the kept
picture with PIL, and takes the mean of every 2 x 2 pixels. Kinder than the original: legality and snaps come
from our tables instead of polygons, actions are numbers, and a program is not compiled again after its text
has been parsed.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from PIL import Image, ImageDraw

from loquent.core.task import Row
from loquent.tasks.blocks.boards import rules
from loquent.tasks.blocks.boards.board import BOX_SIDE, Board, Item
from loquent.tasks.blocks.edits.base import ADD, STOP, Edits
from loquent.tasks.blocks.programs.program import compile_program

COLORS = ((250, 255, 0), (0, 0, 0), (15, 131, 255))
GROUND, SEPARATOR = (211, 211, 211), (128, 128, 128)
DELTA, HORIZON = 0.1, 11


class Environment:
    """`reset(row)` and `step(action)`, with the rewards and flags of the released code."""

    def __init__(self, edits: Edits, tower: bool) -> None:
        self.edits, self.tower = edits, tower

    def reset(self, row: Row) -> dict[str, Any]:
        """Copy the row's board and draw it."""
        self.row, self.turn = row, 0
        self.state = [[dict(item._asdict()) for item in box] for box in row["board"]]
        self.image = Image.new("RGB", (380, 100), SEPARATOR)
        draw = ImageDraw.Draw(self.image)
        for i in range(3):
            draw.rectangle((140 * i, 0, 140 * i + 99, 99), fill=GROUND)
        return self._observation()

    def step(self, action: int) -> tuple[dict[str, Any], float, bool, bool]:
        """One action, in the order of the released code."""
        self.turn += 1
        edit, board = self.edits.edit(action), self.board()
        text = self.row["program"]
        ast.parse(text, mode="eval")
        truth = compile_program(text).compute(board)
        reward = (1.0 if truth == self.row["target"] else -1.0) if edit.type == STOP else -DELTA
        truncated = self.turn == HORIZON
        if self.edits.problem(board, action):
            truncated, reward = True, -1.0
        terminated = edit.type == STOP
        state = copy.deepcopy(self.state)
        if not terminated and not truncated:
            self._edit(state, edit, board)
        self.state = state
        return self._observation(), reward, terminated, truncated

    def board(self) -> Board:
        """The state as the program sees it."""
        left, middle, right = (tuple(Item(**item) for item in box) for box in self.state)
        return left, middle, right

    def _edit(self, state: list[list[dict[str, Any]]], edit: Any, board: Board) -> None:
        items, box = state[edit.box], board[edit.box]
        if edit.type == ADD:
            new = (
                rules.stack_block(box, edit.item.color)[-1]
                if self.tower
                else rules.snap_item(box, edit.item, edit.box, legacy=True)
            )
            items.append(dict(new._asdict()))
            return
        gone = items.pop(-1 if self.tower else rules.item_of_cell(box, edit.x, edit.y))
        draw = ImageDraw.Draw(self.image)
        draw.rectangle(_corners(gone, edit.box), fill=GROUND)

    def _observation(self) -> dict[str, Any]:
        """All items are drawn again, and the whole picture is reduced."""
        draw = ImageDraw.Draw(self.image)
        for i, box in enumerate(self.state):
            for item in box:
                corners, color = _corners(item, i), COLORS[item["color"]]
                left, top, right, bottom = corners
                if item["shape"] == 0:
                    draw.ellipse(corners, fill=color)
                elif item["shape"] == 1:
                    draw.rectangle(corners, fill=color)
                else:
                    apex = (right - int((item["size"] - 1) / 2), top)
                    draw.polygon([(left, bottom), (right, bottom), apex], fill=color)
        image = block_mean(np.array(self.image))
        return {"sentence": self.row["sentence"], "image": image, "target": int(self.row["target"])}


def block_mean(image: np.ndarray) -> np.ndarray:
    """The mean of blocks of 2 x 2 x 1, as a view of blocks and numpy's mean over its last three axes."""
    height, width, colors = image.shape
    shape = (height // 2, width // 2, colors, 2, 2, 1)
    strides = (image.strides[0] * 2, image.strides[1] * 2, image.strides[2], *image.strides)
    return np.mean(as_strided(image, shape, strides), axis=(3, 4, 5)).astype(np.uint8)


def _corners(item: dict[str, Any], box: int) -> tuple[int, int, int, int]:
    x, y = item["x"] + (BOX_SIDE + 40) * box, item["y"]
    return x, y, x + item["size"] - 1, y + item["size"] - 1
