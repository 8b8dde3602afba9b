"""Echo: say the word you are shown.

One answer; a horizon that cuts; a reward at the end and one per token.
"""

from loquent.core.task import Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record

WORDS = ("ab", "echo", "naïve", "a b", "")


class Echo(Task):
    spec = TaskSpec(
        id="echo",
        instruction="Say it again.",
        rewards=Record(same=1.0),
        horizon="cut",
        truncates=(),
        return_range=(0.0, 1.0),
        shared_rows="the words are few",
    )

    def rows(self, split):
        return tuple(Row(f"{split}:{i}", Record(word=word)) for i, word in enumerate(WORDS))

    def first(self, row, rng):
        return Opening(row["word"], Observation(row["word"], Record(word=row["word"], said="")))

    def read(self, state, text):
        return text

    def play(self, state, move):
        seen = Observation("", Record(word=state, said=move))
        return Outcome(state, seen, Record(same=float(move == state)), "said")

    def expert(self, state):
        return state


def right(episode, turn):
    """A term per token: 1/n for each token that is the byte of the word in its place."""
    word = episode.turns[0].text.encode()
    ids = turn.tokens.ids.tolist()
    return [float(i < len(word) and word[i] == id) / max(1, len(ids)) for i, id in enumerate(ids)]
