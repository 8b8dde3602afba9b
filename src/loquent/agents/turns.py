"""Agents of networks that choose among a task's actions, and stop forcing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from loquent.agents.sb3 import name_actions, same
from loquent.core.actions import ActionSet
from loquent.core.agent import Agent, Answer, Question
from loquent.core.task import Observation, Task
from loquent.errors import BadSetting


class Choosing(Protocol):
    """A network with the actions that it chooses among, and the uniform numbers that one action needs."""

    actions: ActionSet

    @property
    def draws(self) -> int: ...

    def choose(
        self, observations: Sequence[Observation], uniform: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """The number of an action for each observation; without `uniform` the most probable one."""
        ...

    def answers(self, observations: Sequence[Observation]) -> list[str]:
        """The texts to observations that ask for a text instead of an action (`ActionSet.asks_text`)."""
        ...


class TurnAgent:
    """Answers with the text of the action that a network chooses, or that it writes where the task asks.

    Args:
        greedy: take the most probable action; else the stream of the question draws it.
    """

    def __init__(self, name: str, network: Choosing, *, greedy: bool) -> None:
        self.name, self.network, self.greedy = name, network, greedy

    @property
    def decoding_text(self) -> str:
        """Whether the most probable action is taken, or an action is sampled."""
        return "argmax" if self.greedy else "sampled"

    def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """One answer per question; "" where the chosen slot is empty, which the task judges.

        Raises:
            BadSetting: a question has no actions, or other actions than those it has learned.
        """
        if not questions:
            return []
        actions = questions[0].actions
        if actions is None or not same(actions, self.network.actions):
            asked = "free text" if actions is None else name_actions(actions)
            raise BadSetting(
                f"{self.name} has learned to choose among {name_actions(self.network.actions)}, not {asked}; "
                "use it with the task it was trained on"
            )
        writes = [actions.asks_text(question.observation.legal) for question in questions]
        written = [question.observation for question, write in zip(questions, writes, strict=True) if write]
        texts = iter(self.network.answers(written) if written else ())
        choices = iter(self._chosen([q for q, write in zip(questions, writes, strict=True) if not write]))
        return [Answer(next(texts if write else choices)) for write in writes]

    def _chosen(self, questions: Sequence[Question]) -> list[str]:
        """The texts of the actions that the network chooses."""
        if not questions:
            return []
        uniform = None
        if not self.greedy:
            draws = self.network.draws
            uniform = np.array([q.key.child("choose").generator().random(draws) for q in questions])
        choices = self.network.choose([question.observation for question in questions], uniform)
        actions = self.network.actions
        return [_text(actions, *each) for each in zip(choices.tolist(), questions, strict=True)]


class StopForcing:
    """An agent that ends an episode as soon as its goal is reached, whatever it would have answered.

    The task decides: where `Task.finishing` gives an answer, it replaces the agent's. It serves training only
    (arXiv:2211.01994, PPO+SF): a learner that scores the turns afterwards gives the replaced answer its own
    log-probability in that state, so its gradient raises the probability to stop there. The turn of a forced
    answer has `stopped` = "forced".

    Raises:
        BadSetting: the task does not define `finishing`.
    """

    def __init__(self, agent: Agent, task: Task) -> None:
        if type(task).finishing is Task.finishing:
            raise BadSetting(
                f"stop forcing needs a task that defines which answer ends an episode with success; "
                f"{task.identity} does not; leave stop forcing out"
            )
        self.name, self.agent, self.task = agent.name, agent, task

    def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """The agent's answers, or the finishing ones."""
        answers = self.agent.answer(questions)
        pairs = zip(questions, answers, strict=True)
        return [self._forced(question, answer) for question, answer in pairs]

    def _forced(self, question: Question, answer: Answer) -> Answer:
        finishing = self.task.finishing(question.state)
        return answer if finishing is None or finishing == answer.text else Answer(finishing, "forced")


def _text(actions: ActionSet, choice: int, question: Question) -> str:
    try:
        return actions.text(choice, question.observation.legal)
    except LookupError:
        return ""
