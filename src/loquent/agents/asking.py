"""The agent of networks that choose commands with queries, and point at the answer in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from loquent.agents.turns import Choosing, TurnAgent
from loquent.core.agent import Answer, Question
from loquent.core.task import Observation


class Answering(Choosing, Protocol):
    """A network that chooses among actions and points at answers."""

    def answers(self, observations: Sequence[Observation]) -> list[str]:
        """The answer to the question of each observation."""
        ...


class Asker:
    """Gives commands; after the game has halted, the answer that the network points at.

    Args:
        greedy: take the best command; else the stream of the question draws it.
    """

    def __init__(self, name: str, network: Answering, *, greedy: bool) -> None:
        self.name, self.network = name, network
        self._commands = TurnAgent(name, network, greedy=greedy)

    @property
    def decoding_text(self) -> str:
        """How its commands are chosen; an answer is always the best one."""
        return self._commands.decoding_text

    def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """One answer per question.

        Raises:
            BadSetting: a question has other actions than those that the network has learned.
        """
        halted = np.array([question.observation.legal == () for question in questions], dtype=bool)
        answers: NDArray[np.object_] = np.empty(len(questions), dtype=object)
        for number, answer in zip(np.flatnonzero(~halted), self._commands.answer(_of(questions, ~halted))):
            answers[number] = answer
        if halted.any():
            observations = [question.observation for question in _of(questions, halted)]
            for number, text in zip(np.flatnonzero(halted), self.network.answers(observations), strict=True):
                answers[number] = Answer(text)
        return list(answers)


def _of(questions: Sequence[Question], wanted: NDArray[np.bool_]) -> list[Question]:
    return [question for question, chosen in zip(questions, wanted.tolist(), strict=True) if chosen]
