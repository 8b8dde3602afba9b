"""A live episode, as `play` and the adapters step it, and the form of many episodes on arrays.

A live episode decides which seat answers next and which turn receives the rewards of a step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.agent import Answer, Question, before_first, check_answer
from loquent.core.episode import TASK, Episode, Tokens, Turn
from loquent.core.seeding import Key
from loquent.core.task import Observation, Row, Step, Stopped, Task
from loquent.core.values import EMPTY, Record


@dataclass
class Live:
    """An episode on `row` that has not ended; its random streams depend only on (seed, row id, number).

    The rewards of a step belong to the last turn of the learning seat, even when another seat answered since.
    Rewards before its first turn are `owed` to that turn. If the learning seat never answers, they are put on
    the last turn of the episode.
    """

    task: Task
    row: Row
    number: int
    seed: int
    split: str = "train"
    learning: str = "agent"
    index: int = 0  # its position in the queue
    meta: Record = EMPTY  # the `meta` of its `Episode`
    step: Step = field(init=False)
    owed: Record = EMPTY

    def __post_init__(self) -> None:
        self.step = self.task.start(self.row, Key(self.seed, (self.row.id, self.number, "task")))
        self._opening = self.step.observation
        self._turns: list[Turn] = []
        self._new: list[tuple[str, str, Record, Stopped, Tokens | None, Observation, str]] = []

    @cached_property
    def key(self) -> Key:
        """The key of this episode, the parent of the keys of its task and its answers."""
        return Key(self.seed, (self.row.id, self.number))

    @property
    def seat(self) -> str:
        """The seat that answers next."""
        return self.step.observation.seat

    @property
    def turns(self) -> list[Turn]:
        """All turns so far. Built on first access, because stepping an environment rarely needs them."""
        if not self._turns:
            self._turns = [_task_turn(self._opening)]
        for seat, text, rewards, stopped, tokens, observation, invalid in self._new:
            self._turns += (
                Turn(seat, text, rewards=rewards, stopped=stopped, tokens=tokens, invalid=invalid),
                _task_turn(observation),
            )
        self._new.clear()
        return self._turns

    def question(self) -> Question:
        """The question to the seat that answers next."""
        seat = self.seat
        turns = tuple(turn for turn in self.turns if turn.seat == seat or turn.to == seat)
        key = self.key.child("answer", seat, self.step.turn)
        return Question(
            f"{self.row.id}#{self.number}",
            turns,
            self.step.observation,
            key,
            self.task.instruction(self.row, seat),
            self.task.actions,
            self.step.state,
            self.row.fields,
        )

    def act(self, answer: Answer) -> Record:
        """Process the answer of the seat that answers next; returns the rewards of the step.

        The answer is its text before the first stop text of the observation.

        Raises:
            EpisodeOver: the episode has ended.
            BrokenAgent: the answer is not an `Answer` with a text and a valid `stopped`.
        """
        check_answer(answer)
        text = before_first(answer.text, self.step.observation.stop)
        text = text if text.isascii() else _joined_surrogates(text)
        return self._apply(text, answer.stopped, answer.tokens)

    def choose(self, text: str) -> Record:
        """`act` without checks, for the text of one of the task's own actions."""
        return self._apply(text, "end", None)

    def _apply(self, text: str, stopped: Stopped, tokens: Tokens | None) -> Record:
        seat = self.step.observation.seat
        # the horizon is the learner's: another seat's answer that stopped for length ends no episode
        self.step = step = self.task.act(self.step, text, stopped if seat == self.learning else "end")
        rewards = EMPTY
        if seat == self.learning:
            rewards = _sum(self.owed, step.rewards) if self.owed else step.rewards
            self.owed = EMPTY
        elif step.rewards:
            self._credit(step.rewards)
        self._new.append((seat, text, rewards, stopped, tokens, step.observation, step.invalid))
        return step.rewards

    def episode(self, agents: Record = EMPTY) -> Episode:
        """The record of the episode so far."""
        turns = self.turns
        if self.owed:
            turns = [*turns[:-1], replace(turns[-1], rewards=self.owed)]
        head = Episode(
            self.task.identity,
            self.row.id,
            self.split,
            self.key.seed,
            self.number,
            tuple(turns),
            self.step.ended,
        )
        return replace(
            head,
            learning=self.learning,
            instruction=self.task.instruction(self.row, self.learning),
            agents=agents,
            meta=self.meta,
            unjudged=tuple(name for name in self.task.spec.failures if name == self.step.ended),
        )

    def fork(self, number: int, kind: str) -> Live:
        """A copy of this episode that continues as episode `number` of the row.

        Its turns so far are the same; later answers have random streams of their own. The task keeps the
        parent's stream, so its draws are the same in all forks, and forks differ only by their answers.

        Args:
            kind: the kind in the `meta` of the fork's `Episode`.
        """
        fork = copy(self)
        fork.number, fork.key = number, Key(self.seed, (self.row.id, number))
        fork._turns, fork._new = list(self.turns), []
        fork.meta = Record(kind=kind, parent=self.meta.get("parent", self.number), start=len(self.turns))
        return fork

    def _credit(self, rewards: Record) -> None:
        """Add the rewards of another seat's step to the learning seat's last turn, or to `owed`."""
        owed = _sum(self.owed, rewards)
        last = next(
            (i for i in reversed(range(len(self.turns))) if self.turns[i].seat == self.learning), None
        )
        if last is None:
            self.owed = owed
            return
        self.owed = EMPTY
        self.turns[last] = replace(self.turns[last], rewards=_sum(self.turns[last].rewards, owed))


class Many(ABC):
    """n episodes of a task with an action set, each in its place from 0 to n - 1.

    Every place behaves as an episode of `Task.start` and `Task.act` with the same row and the same actions.
    `Task.many` names the class of a world.

    Args:
        task: the task.
        count: n, the number of places.
        view: the name of the view, one of `views`.
    """

    views: ClassVar[tuple[str, ...]] = ()  # names of `Task.views`; the first is the default

    @abstractmethod
    def __init__(self, task: Task, count: int, view: str) -> None: ...

    @abstractmethod
    def start(self, place: int, row: Row) -> None:
        """Begin an episode on a row."""

    @abstractmethod
    def step(
        self, actions: NDArray[np.int64], active: NDArray[np.bool_]
    ) -> tuple[dict[str, NDArray[np.float64]], Sequence[str | None]]:
        """Take one action in each place where `active` is True; the others stay as they are.

        Args:
            actions: i64[n], numbers of the action set.
            active: bool[n].

        Returns:
            The rewards by name, f64[n] without weights, and for each place the rule that ended its episode.
        """

    def info(self, place: int, ended: str) -> Mapping[str, Any]:
        """As `Task.info` after the end of the episode in a place, before the next one begins there."""
        return EMPTY

    @abstractmethod
    def observation(self) -> Any:
        """The observations of all places, an element of the batched space of the view; new arrays."""

    @abstractmethod
    def masks(self) -> NDArray[np.int8]:
        """i8[n, actions]: 1 for legal actions; a new array."""


def _task_turn(observation: Observation) -> Turn:
    return Turn(
        TASK,
        observation.text,
        to=observation.seat,
        observation=observation,
        messages=observation.messages,
    )


def _sum(a: Record, b: Record) -> Record:
    if not b:
        return a
    names = (*a, *(name for name in b if name not in a))
    return Record({name: a.get(name, 0.0) + b.get(name, 0.0) for name in names})


def _joined_surrogates(text: str) -> str:
    """The text with each surrogate pair joined to its character.

    JSON would join the pair too, and an episode must be equal after it is written and read.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
