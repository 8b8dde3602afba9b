"""A cheap policy of answering: the words that a choice shares with the facts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from loquent.core.agent import Answer, Question
from loquent.core.task import Task
from loquent.data.annotated.rows import training_rows
from loquent.tasks.multiple_choice.task import ANSWER, CONTINUE

WORD = re.compile(r"\w+")
SHARES = (0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1.0)  # compared on training rows


class Overlap:
    """Takes the first choice of whose words at least a share is in the facts; without one, the last choice.

    The share is the one that answers most training questions; of equal ones the highest. Where a question has
    no facts, its own words count.
    """

    def __init__(self, task: Task) -> None:
        self.name = "multiple_choice/overlap"
        rows = training_rows(task, self.name)
        found = [
            ([overlap(row.fields, choice) for choice in row["choices"]], row["ids"].index(row["answer"]))
            for row in rows
        ]
        rates = {share: fmean(_first(shares, share) == right for shares, right in found) for share in SHARES}
        self.least = max(SHARES, key=lambda share: (rates[share], share))

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """ANSWER or CONTINUE per question."""
        fields = [question.observation.fields for question in asked]
        return [
            Answer(ANSWER if overlap(of, of["choices"][of["place"]]) >= self.least else CONTINUE)
            for of in fields
        ]


def overlap(fields: Mapping[str, Any], choice: str) -> float:
    """The share of a choice's different words, in small letters, that the facts have."""
    known, words = _words(" ".join(fields["facts"]) or fields["question"]), _words(choice)
    return len(words & known) / max(1, len(words))


def _first(shares: Sequence[float], least: float) -> int:
    return next((place for place, share in enumerate(shares) if share >= least), len(shares) - 1)


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))
