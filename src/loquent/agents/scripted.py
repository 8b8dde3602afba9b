"""Agents without a mind: one plays at random, one asks the task's expert.

Their streams are those of the question.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loquent.core.agent import Answer, Question
from loquent.core.task import Task
from loquent.errors import BrokenAgent

_LINES = """
a about all and any big blue can day do down every
far few find for good green happy have here home how if in is it just know light long make
many
more much never new no not now of old on one only or other our out
over people red right say see small so some story sun take talk tell than that the
there thing time to two under very walk water way we well what when where who why will with word yes you
"""
WORDS = tuple(_LINES.split())
MOST_WORDS = 12


class Random:
    """Says a legal action, each equally likely.

    Where text is free, up to 12 words, some of them from what it has read.
    """

    def __init__(self, task: Task) -> None:
        self.name = "random"
        self.task = task

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question; "" where nothing is legal."""
        return [Answer(self._say(one, one.key.generator())) for one in asked]

    def _say(self, asked: Question, rng: np.random.Generator) -> str:
        actions, legal = self.task.actions, asked.observation.legal
        if actions is None:
            words = (*WORDS, *asked.observation.text.split()[:MOST_WORDS])
            return " ".join(words[i] for i in rng.integers(len(words), size=rng.integers(1, MOST_WORDS + 1)))
        try:
            return actions.text(actions.draw(legal, rng), legal)
        except LookupError:
            return ""


class Expert:
    """Says what the task's own expert says."""

    def __init__(self, task: Task) -> None:
        self.name = "expert"
        self.task = task

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question.

        Raises:
            BrokenAgent: the task has no expert here.
        """
        return [Answer(self._say(one)) for one in asked]

    def _say(self, asked: Question) -> str:
        said = self.task.expert(asked.state)
        if said is None:
            raise BrokenAgent(
                f"{self.task.identity} has no expert for the seat {asked.observation.seat!r} (game "
                f"{asked.game})"
            )
        return said
