"""The action set of the board: 1,064,001 texts that are computed, never listed."""

import numpy as np

from loquent.core.actions import ActionSet

# 27 kinds of item can be added; kind 27 removes; the last action stops: 28 * 380 * 100 + 1
WIDE, HIGH, KINDS = (380, 100, 28)


class Moves(ActionSet):
    parts = (KINDS + 1, WIDE, HIGH)

    def split(self, i):
        return (KINDS,) if i == len(self) - 1 else tuple(map(int, np.unravel_index(i, (KINDS, WIDE, HIGH))))

    def join(self, numbers):
        stop = tuple(numbers) == (KINDS,)
        return len(self) - 1 if stop else int(np.ravel_multi_index(numbers, (KINDS, WIDE, HIGH)))

    def following(self, legal, numbers):
        cells = np.zeros((WIDE, HIGH), bool)
        for _, x, y in legal:
            cells[x, y] = True
        if not numbers:  # add, remove, stop
            return np.array([not cells.all()] * (KINDS - 1) + [cells.any(), True])
        free = cells if numbers[0] == KINDS - 1 else ~cells
        if numbers[0] == KINDS or len(numbers) == 3:
            return np.zeros(0, bool)
        return free.any(1) if len(numbers) == 1 else free[numbers[1]]

    def __len__(self):
        return KINDS * WIDE * HIGH + 1

    def text(self, i, legal=None):
        if not 0 <= i < len(self):
            raise IndexError(f"action {i} is not in 0..{len(self) - 1}")
        return "stop" if i == len(self) - 1 else " ".join(map(str, np.unravel_index(i, (KINDS, WIDE, HIGH))))

    def index(self, text, legal=None):
        said = tuple(
            int(part) if part.isascii() and part.isdigit() and len(part) < 4 else -1
            for part in text.split(" ")
        )
        fits = len(said) == 3 and all(0 <= n < limit for n, limit in zip(said, (KINDS, WIDE, HIGH)))
        i = int(np.ravel_multi_index(said, (KINDS, WIDE, HIGH))) if fits else len(self) - 1
        return i if self.text(i) == text else None

    def contains(self, legal, i):
        kind, x, y = (
            (int(n) for n in np.unravel_index(i, (KINDS, WIDE, HIGH)))
            if 0 <= i < len(self) - 1
            else (-1, 0, 0)
        )
        return i == len(self) - 1 or (
            kind >= 0 and (kind == KINDS - 1) == any(item[1:] == (x, y) for item in legal)
        )

    def draw(self, legal, rng):
        return next(i for i in iter(lambda: int(rng.integers(len(self))), None) if self.contains(legal, i))
