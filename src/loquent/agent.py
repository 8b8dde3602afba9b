"""Agents: whoever answers. An agent is asked about many games at once and answers each with text.

Agents keep no game's state: everything they may look at is in `Asked`. Caches may be dropped at any moment without changing
an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from loquent.actions import ActionSet
from loquent.episode import Tokens, Turn
from loquent.seeding import Key
from loquent.task import Observation, Stopped
from loquent.values import Record


@dataclass(frozen=True)
class Asked:
    """One question: all turns this seat has seen (the newest observation is the last of them), and the stream for the answer."""

    game: str  # names the game within a run: row and number
    turns: tuple[Turn, ...]
    observation: Observation
    key: Key
    instruction: str = ""
    actions: ActionSet | None = None  # the task's action set, where it has one
    state: object = None  # the task's state: for experts and scripts that are told the rules; learners never read it
    row: Record | None = None


@dataclass(frozen=True)
class Answer:
    """What an agent says, why it stopped, and the tokens as drawn where there are any."""

    text: str
    stopped: Stopped = "end"
    tokens: Tokens | None = None


@runtime_checkable
class Agent(Protocol):
    """Anything with a name and a batched `answer`."""

    name: str

    def answer(self, asked: Sequence[Asked]) -> Sequence[Answer]:
        """One answer per question, in order."""
        ...
