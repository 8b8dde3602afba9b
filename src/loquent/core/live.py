"""A game under way: what `play` keeps for each live game, and what the adapters step.

It owns who is due and whose the rewards are.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import get_args

from loquent.core.agent import Answer, Question
from loquent.core.episode import TASK, Episode, Tokens, Turn
from loquent.core.seeding import Key
from loquent.core.task import Observation, Row, Step, Stopped, Task
from loquent.core.values import EMPTY, Record
from loquent.errors import BrokenAgent

STOPPED = get_args(Stopped)


@dataclass
class Live:
    """One game on `row`; its streams are keyed by (seed, row id, number) and by nothing else.

    The rewards of a step belong to the last turn of the learning seat, also when another seat spoke in
    between. Rewards that come before it has spoken are owed to its first turn; in a game where it never
    speaks they stand on the last turn of all.
    """

    task: Task
    row: Row
    number: int
    seed: int
    split: str = "train"
    learning: str = "agent"
    index: int = 0  # its place in a queue
    meta: Record = EMPTY  # of the episode
    step: Step = field(init=False)
    owed: Record = EMPTY

    def __post_init__(self) -> None:
        self.step = self.task.start(self.row, Key(self.seed, (self.row.id, self.number, "task")))
        self._opening = self.step.observation
        self._turns: list[Turn] = []
        self._new: list[tuple[str, str, Record, Stopped, Tokens | None, Observation, str]] = []

    @cached_property
    def key(self) -> Key:
        """The key of this game: that of its task and those of its answers stand below it."""
        return Key(self.seed, (self.row.id, self.number))

    @property
    def seat(self) -> str:
        """The seat that is due to answer."""
        return self.step.observation.seat

    @property
    def turns(self) -> list[Turn]:
        """Every utterance so far; made when somebody looks, as who steps an environment seldom does."""
        if not self._turns:
            self._turns = [_told(self._opening)]
        for seat, text, earned, stopped, tokens, told, invalid in self._new:
            self._turns += (
                Turn(seat, text, rewards=earned, stopped=stopped, tokens=tokens, invalid=invalid),
                _told(told),
            )
        self._new.clear()
        return self._turns

    def question(self) -> Question:
        """The question to the seat that is due."""
        seat, spec = self.seat, self.task.spec
        turns = tuple(turn for turn in self.turns if turn.seat == seat or turn.to == seat)
        key = self.key.child("answer", seat, self.step.turn)
        game = f"{self.row.id}#{self.number}"
        return Question(
            game,
            turns,
            self.step.observation,
            key,
            spec.instruction,
            self.task.actions,
            self.step.state,
            self.row.fields,
        )

    def act(self, answer: Answer) -> Record:
        """Take the answer of the seat that is due; returns the rewards of the step.

        Raises:
            EpisodeOver: the game has ended.
            BrokenAgent: this is no `Answer` with a text and a reason it stopped.
        """
        if (
            not isinstance(answer, Answer)
            or not isinstance(answer.text, str)
            or answer.stopped not in STOPPED
        ):
            raise BrokenAgent(
                f"an agent answered {answer!r:.200}, which is no Answer with a text that stopped by "
                f"one of {', '.join(STOPPED)}"
            )
        text = answer.text if answer.text.isascii() else _paired(answer.text)
        return self._acted(text, answer.stopped, answer.tokens)

    def choose(self, text: str) -> Record:
        """`act` for the text of one of the task's own actions, which needs no looking at."""
        return self._acted(text, "end", None)

    def _acted(self, text: str, stopped: Stopped, tokens: Tokens | None) -> Record:
        seat = self.step.observation.seat
        self.step = step = self.task.act(self.step, text, stopped)
        earned = EMPTY
        if seat == self.learning:
            earned = _sum(self.owed, step.rewards) if self.owed else step.rewards
            self.owed = EMPTY
        elif step.rewards:
            self._credit(step.rewards)
        self._new.append((seat, text, earned, stopped, tokens, step.observation, step.invalid))
        return step.rewards

    def episode(self, agents: Record = EMPTY) -> Episode:
        """The record of the game so far."""
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
            instruction=self.task.spec.instruction,
            agents=agents,
            meta=self.meta,
        )

    def fork(self, number: int, kind: str) -> Live:
        """The same game from here on as game `number` of its row: what was said stays, what is said next has
        streams of its own.

        The task keeps the parent's stream: what it draws later it draws for all forks of a game alike, so
        that they differ by what is said in them and by nothing else.
        """
        one = copy(self)
        one.number, one.key = number, Key(self.seed, (self.row.id, number))
        one._turns, one._new = list(self.turns), []
        one.meta = Record(kind=kind, parent=self.meta.get("parent", self.number), start=len(self.turns))
        return one

    def _credit(self, rewards: Record) -> None:
        """Put what came while another seat spoke on the learning seat's last turn, or keep it for its
        first.
        """
        owed = _sum(self.owed, rewards)
        last = next(
            (i for i in reversed(range(len(self.turns))) if self.turns[i].seat == self.learning), None
        )
        if last is None:
            self.owed = owed
            return
        self.owed = EMPTY
        self.turns[last] = replace(self.turns[last], rewards=_sum(self.turns[last].rewards, owed))


def _told(observation: Observation) -> Turn:
    return Turn(TASK, observation.text, to=observation.seat, observation=observation)


def _sum(a: Record, b: Record) -> Record:
    return (
        Record(
            {
                name: a.get(name, 0.0) + b.get(name, 0.0)
                for name in (*a, *(name for name in b if name not in a))
            }
        )
        if b
        else a
    )


def _paired(text: str) -> str:
    """The text with each pair of surrogates joined to the character it stands for: JSON would join it, and a
    record must read back equal.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
