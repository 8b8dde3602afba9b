"""Guess: a number from 0 to 99, thought of anew each turn among those that fit what was said.

Nonsense gets no answer at all.
"""

from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record

REST = {
    "invalid": ("no number",),
    "turn_limit": 8,
    "return_range": (-8.0, 0.0),
    "shared_rows": "the rows are few",
}


class Guess(Task):
    spec = TaskSpec(id="guess", instruction="Find my number.", rewards=Record(guess=1.0), **REST)

    def rows(self, split):
        return tuple(Row(f"{split}:{top}", Record(top=top)) for top in (1, 10, 100))

    def first(self, row, rng):
        state = Record(key=rng, low=0, high=row["top"] - 1, turn=0)
        return Opening(state, Observation(f"below {row['top']}", Record(low=0, high=state["high"])))

    def read(self, state, text):
        fits = text.isascii() and text.isdigit() and len(text) < 3
        return int(text) if fits else Invalid("no number", text)

    def play(self, state, move):
        low, high, turn = state["low"], state["high"], state["turn"]
        state = state.with_(turn=turn + 1)
        if isinstance(move, Invalid):  # nothing is said, so the next answer touches this one
            return Outcome(state, Observation("", Record(low=low, high=high)), Record(guess=-1.0))
        secret = int(state["key"].draw(turn, "secret").integers(low, high + 1))
        word = "right" if move == secret else "higher" if move < secret else "lower"
        low = low if word == "lower" else max(low, move + (word == "higher"))
        high = high if word == "higher" else min(high, move - (word == "lower"))
        seen, ended = Observation(word, Record(low=low, high=high)), "found" if word == "right" else None
        return Outcome(state.with_(low=low, high=high), seen, Record(guess=-float(word != "right")), ended)

    def expert(self, state):
        return str((state["low"] + state["high"]) // 2)
