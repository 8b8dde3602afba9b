"""Labels: name the row's three labels out of 200,000, one at a time, none twice.

The legal ones are a bitset in bytes.
"""

import numpy as np

from loquent.core.actions import Texts, bitset
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record

SIZE = 200_000
REST = {"invalid": ("unknown", "again"), "turn_limit": 3, "return_range": (0.0, 3.0)}
LABELS = Texts(f"label {i}" for i in range(SIZE))
FULL = bitset(range(SIZE), SIZE)


class Labels(Task):
    spec = TaskSpec(id="labels", rewards=Record(hit=1.0), shared_rows="the rows are few", **REST)
    actions = LABELS

    def rows(self, split):
        return tuple(Row(f"{split}:{i}", Record(gold=(i, 77 * i + 1000, SIZE - 1 - i))) for i in range(7))

    def first(self, row, rng):
        state = Record(gold=row["gold"], said=())
        return Opening(state, self.seen(state, f"three labels, please (case {row['gold'][0]})"))

    def seen(self, state, text):
        legal = np.frombuffer(FULL, np.uint8).copy()
        for i in state["said"]:
            legal[i >> 3] &= ~np.uint8(1 << (i & 7))
        return Observation(text, Record(said=state["said"]), legal.tobytes())

    def read(self, state, text):
        i = LABELS.index(text)
        return Invalid("unknown", text) if i is None else Invalid("again", text) if i in state["said"] else i

    def play(self, state, move):
        if isinstance(move, Invalid):
            return Outcome(state, self.seen(state, move.why))
        state = state.with_(said=(*state["said"], move))
        return Outcome(state, self.seen(state, ""), Record(hit=float(move in state["gold"])))

    def expert(self, state):
        return LABELS.text(next(i for i in state["gold"] if i not in state["said"]))
