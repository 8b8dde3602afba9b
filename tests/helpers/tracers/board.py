"""Board: put an item on each target of a 380 x 100 picture (1,064,001 actions, an image view), then stop."""

import numpy as np
from gymnasium import spaces

from helpers.tracers.moves import HIGH, KINDS, WIDE, Moves
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record

REST = {"invalid": ("no move",), "truncates": ("out of turns",), "return_range": (-3.0, 0.5), "turn_limit": 6}


class Board(Task):
    spec = TaskSpec(id="board", rewards=Record(done=1.0, step=0.5), shared_rows="the rows are few", **REST)
    actions = Moves()

    def rows(self, split):
        return tuple(Row(f"{split}:{i}", Record(targets=((i, 10 * i, 50), (2, 379, i)))) for i in range(5))

    def first(self, row, rng):
        seen = Observation(f"targets: {row['targets']}", Record(items=(), targets=row["targets"]), ())
        return Opening((row["targets"], ()), seen)

    def read(self, state, text):
        i = self.actions.index(text)
        return i if i is not None and self.actions.contains(state[1], i) else Invalid("no move", text)

    def play(self, state, move):
        targets, items = state
        said = self.actions.text(move) if not isinstance(move, Invalid) else ""
        if said and said != "stop":
            kind, x, y = map(int, said.split())
            items = tuple(item for item in items if item[1:] != (x, y))
            items += ((kind, x, y),) if kind < KINDS - 1 else ()
        seen = Observation(f"items: {items}", Record(items=items, targets=targets), items)
        rewards = Record(step=-1.0, **({"done": float(set(items) == set(targets))} if said == "stop" else {}))
        return Outcome((targets, items), seen, rewards, "stopped" if said == "stop" else None)

    def expert(self, state):
        taken = {item[1:] for item in state[1]}
        return next((" ".join(map(str, item)) for item in state[0] if item[1:] not in taken), "stop")


def picture(observation):
    """u8[100, 380]: 0 where nothing is, else 1 + the kind of the item there."""
    image = np.zeros((HIGH, WIDE), np.uint8)
    for kind, x, y in observation.fields["items"]:
        image[y, x] = 1 + kind
    return image


VIEW = (spaces.Box(0, KINDS, (HIGH, WIDE), np.uint8), picture)
