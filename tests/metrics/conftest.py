from typing import ClassVar

import pytest

from loquent.core.metric import Context
from loquent.core.seeding import Key
from loquent.core.task import Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record

GOOD, BAD, NOUNS = (
    ("superb", "moving", "witty", "fresh"),
    ("dull", "clumsy", "stale", "bleak"),
    ("plot", "acting", "music", "ending"),
)


def reviews(n, seed=0, label=("negative", "positive")):
    """Toy reviews of three sentences; half of the sentences are negations, so single words tell little."""
    rng = Key(seed, ("toy reviews",)).generator()
    rows = []
    for i in range(n):
        positive = bool(i % 2)
        sentences = []
        for _ in range(3):
            negated = bool(rng.integers(2))
            words = GOOD if positive != negated else BAD
            sentences.append(
                f"the {NOUNS[rng.integers(4)]} is {'not ' if negated else ''}{words[rng.integers(4)]} ."
            )
        rows.append(Row(f"toy-{seed}-{i}", Record(text=" ".join(sentences), label=label[positive])))
    return tuple(rows)


class Toy(Task):
    """A task of given rows; nobody plays it."""

    given: tuple[Row, ...] = ()
    others: ClassVar[dict[str, tuple[Row, ...]]] = {}
    spec = TaskSpec(id="toy")

    def rows(self, split):
        return self.given if split == "train" else self.others.get(split, ())

    def first(self, row, rng):
        return Opening(None, Observation(row["text"]))

    def read(self, state, text):
        return text

    def play(self, state, move):
        return Outcome(None, Observation(""), ended="end")


@pytest.fixture
def toy():
    """toy(rows): a task with these training rows; toy(rows, test=rows) has test rows too."""

    def make(rows, **others):
        return type("Toy", (Toy,), {"given": tuple(rows), "others": others})()

    return make


@pytest.fixture
def toy_reviews():
    return reviews


@pytest.fixture
def context(tmp_path, toy):
    return Context(task=toy(reviews(400)), cache=tmp_path / "cache")
