"""Agents without a model: one answers at random, one gives the answers of the task's expert.

Random numbers come from the question's own stream.
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
    """Draws a legal action, each equally likely.

    For a task without an action set: 1 to 12 words, some of them from the observation.
    """

    def __init__(self, task: Task) -> None:
        self.name = "random"
        self.task = task

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question; "" if no action is legal."""
        return [Answer(self._draw(question, question.key.generator())) for question in asked]

    def _draw(self, question: Question, rng: np.random.Generator) -> str:
        actions, legal = self.task.actions, question.observation.legal
        if actions is None:
            words = (*WORDS, *question.observation.text.split()[:MOST_WORDS])
            return " ".join(words[i] for i in rng.integers(len(words), size=rng.integers(1, MOST_WORDS + 1)))
        try:
            return actions.text(actions.draw(legal, rng), legal)
        except LookupError:
            return ""


class Expert:
    """Gives the answers of the task's own expert."""

    def __init__(self, task: Task) -> None:
        self.name = "expert"
        self.task = task

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question.

        Raises:
            BrokenAgent: the task has no expert for this seat.
        """
        return [Answer(self._expert_text(question)) for question in asked]

    def _expert_text(self, question: Question) -> str:
        text = self.task.expert(question.state)
        if text is None:
            raise BrokenAgent(
                f"{self.task.identity} has no expert for the seat {question.observation.seat!r} (game "
                f"{question.game}): its row names no right answer. Give rows with answers, learn from a "
                "reward, or choose another agent"
            )
        return text
