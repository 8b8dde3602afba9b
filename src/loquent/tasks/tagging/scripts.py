"""A cheap policy of tagging: the most frequent label of a token."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loquent.core.agent import Answer, Question
from loquent.core.task import Task
from loquent.data.annotated.rows import training_rows

ENDINGS = (4, 3, 2)  # characters


class Frequent:
    """Gives each token the label that it has most often in training sentences.

    A token that they do not have is looked up in small letters, then by its last 4, 3 and 2 characters among
    the tokens that begin with a capital too, or do not. Otherwise it gets the most frequent label.
    """

    def __init__(self, task: Task) -> None:
        self.name = "tagging/frequent"
        counts: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for row in training_rows(task, self.name):
            for token, label in zip(row["tokens"], row["labels"], strict=True):
                for form in forms(token):
                    counts[form][label] += 1
        self.labels = {form: min(of, key=lambda label: (-of[label], label)) for form, of in counts.items()}

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One label per question."""
        return [Answer(self._label(question.observation.fields)) for question in asked]

    def _label(self, fields: Mapping[str, Any]) -> str:
        token = fields["tokens"][fields["position"]]
        return next(self.labels[form] for form in forms(token) if form in self.labels)


def forms(token: str) -> Iterator[tuple[str, ...]]:
    """What is counted of a token, the most exact first; the last is the same for all tokens."""
    yield "token", token
    small, capital = token.lower(), str(token[:1].isupper())
    yield "small", small
    for length in ENDINGS:
        yield "ending", small[-length:], capital
    yield ()
