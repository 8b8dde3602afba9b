"""Episodes: the records from which all algorithms learn.

`turns` holds all texts in order. A turn of the task has the seat "task", and `to` is the seat that observes
it; a turn of an agent has the agent's seat. On disk an episode is one JSON line. Tokens are in a safetensors
file beside it, if they are stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.core.task import CUT, Messages, Observation, Stopped
from loquent.core.values import EMPTY, Record, plain
from loquent.errors import BadRow

TASK = "task"


@dataclass(frozen=True, eq=False)
class Tokens:
    """The sampled tokens of one answer.

    The arrays have length n. `support` is a `models.tokens.support.Support`, or None when all tokens were
    allowed. `version` is the number of the policy's weights that drew the tokens: of the update, from 0.
    """

    ids: NDArray[np.int64]
    drawn_logprob: NDArray[
        np.floating[Any]
    ]  # within the support and with temperature; the denominator of the ratio
    policy_logprob: NDArray[np.floating[Any]] | None  # of the full softmax; None: not known
    support: Any = None
    version: int = 0


@dataclass(frozen=True)
class Turn:
    """One text of the task or of an agent.

    Only turns of the learning seat have rewards. `observation`, `tokens` and `invalid` exist in memory only.
    """

    seat: str
    text: str
    to: str = ""  # the seat that observes a turn of the task; "" on an agent's turn
    rewards: Annotated[Record, float] = EMPTY
    stopped: Stopped = "end"
    observation: Observation | None = field(default=None, compare=False)
    tokens: Tokens | None = field(default=None, compare=False)
    token_rewards: Annotated[Record, tuple[float, ...]] = EMPTY  # one number per token
    invalid: str = field(default="", compare=False)  # why the text was not a valid move
    messages: Messages = ()  # the text of a turn of the task as messages of a chat: (role, content)


@dataclass(frozen=True)
class Episode:
    """The record of one episode.

    `row` is the id of the row, so the episode can be replayed; `number` distinguishes episodes on the same
    row.
    """

    task: str
    row: str
    split: str
    seed: int
    number: int
    turns: tuple[Turn, ...]
    ended: str | None = None
    learning: str = "agent"
    instruction: str = ""
    agents: Annotated[Record, str] = EMPTY  # seat -> name of the agent
    meta: Record = EMPTY  # the kind of a designed episode, and the parent and the start of a fork
    unjudged: tuple[str, ...] = ()  # the rewards that could not be judged: its return is not known

    @property
    def bootstraps(self) -> bool:
        """Whether a value stands for the rest of the return: for "cut" and for an unended episode."""
        return self.ended is None or self.ended == CUT

    @property
    def rewards(self) -> Record:
        """The sum of each named reward over all turns, rewards per token included."""
        sums: dict[str, float] = {}
        for turn in self.turns:
            for name, value in turn.rewards.items():
                sums[name] = sums.get(name, 0.0) + value
            for name, values in turn.token_rewards.items():
                sums[name] = sums.get(name, 0.0) + sum(values, 0.0)
        return Record(sums)

    def total(self, weights: Record) -> float:
        """The weighted return without discount, of the rewards that it has.

        Names without a weight do not count.
        """
        return float(sum(weights[name] * value for name, value in self.rewards.items() if name in weights))

    def seen_by(self, seat: str) -> tuple[Turn, ...]:
        """The turns that a seat observed or produced, in order."""
        return tuple(turn for turn in self.turns if turn.seat == seat or turn.to == seat)

    def answers(self) -> tuple[Turn, ...]:
        """The turns of the learning seat."""
        return tuple(turn for turn in self.turns if turn.seat == self.learning)

    def with_turn(self, index: int, turn: Turn) -> Episode:
        """The same episode with one turn replaced."""
        return replace(self, turns=(*self.turns[:index], turn, *self.turns[index + 1 :]))


def to_json(episode: Episode) -> dict[str, Any]:
    """The JSON object of an episode, without tokens and observations."""
    head = {
        name: getattr(episode, name)
        for name in ("task", "row", "split", "seed", "number", "ended", "learning", "instruction")
    }
    more = {name: plain(value) for name in ("meta", "unjudged") if (value := getattr(episode, name))}
    return {
        **head,
        "agents": plain(episode.agents),
        **more,
        "turns": [_turn_to_json(turn) for turn in episode.turns],
    }


def from_json(line: Any) -> Episode:
    """The episode of a JSON object.

    Raises:
        ValueError: a field is missing, unknown or does not fit; the message names it.
    """
    return schema.read(Episode, line)


def write(path: str | Path, episodes: Iterable[Episode], *, append: bool = False) -> int:
    """Write episodes as JSON lines without NaN; returns the number of episodes."""
    count = 0
    with Path(path).open("a" if append else "w", encoding="utf-8") as file:
        for episode in episodes:
            file.write(json.dumps(to_json(episode), allow_nan=False) + "\n")
            count += 1
    return count


def read(path: str | Path) -> Iterator[Episode]:
    """Read episodes from JSON lines.

    Raises:
        BadRow: a line is not JSON or not an episode; the message names the file and the line.
    """
    number = 0
    try:
        for line, value in json_files.lines(Path(path), nan="kept"):
            number = line
            yield from_json(value)
    except ValueError as error:
        at = error.line if isinstance(error, json_files.BadJson) else number
        raise BadRow(f"this line is not an episode: {error}", file=path, line=at or None) from error


def _turn_to_json(turn: Turn) -> dict[str, Any]:
    line: dict[str, Any] = {"seat": turn.seat, "text": turn.text}
    if turn.to:
        line["to"] = turn.to
    if turn.stopped != "end":
        line["stopped"] = turn.stopped
    for name in ("rewards", "token_rewards", "messages"):
        if getattr(turn, name):
            line[name] = plain(getattr(turn, name))
    return line
