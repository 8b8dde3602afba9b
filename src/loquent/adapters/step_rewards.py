"""The rewards of one step of an environment: those of its answer, of other seats' turns, and of terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loquent.core.agent import Agent, check_answers
from loquent.core.episode import Episode
from loquent.core.live import Live
from loquent.core.task import Row
from loquent.core.values import EMPTY, Record
from loquent.errors import BrokenAgent


def of_other_seats(game: Live, seat: str, agents: Mapping[str, Agent]) -> list[Record]:
    """Let the agents answer until `seat` has its turn or the episode ends; the rewards of each answer.

    Raises:
        BrokenAgent: a seat has no agent, or an agent does not return one answer per question.
    """
    rewards = []
    while game.step.ended is None and game.seat != seat:
        agent = agents.get(game.seat)
        if agent is None:
            what = f"{game.task.identity} asks the seat {game.seat!r}, which has no agent"
            raise BrokenAgent(f"{what}; set agents={{{game.seat!r}: ...}}")
        answers = agent.answer([game.question()])
        check_answers(agent, answers, 1)
        rewards.append(game.act(answers[0]))
    return rewards


def of_terms(terms: Sequence[Any], episode: Episode, row: Row) -> tuple[Record, tuple[str, ...]]:
    """The rewards that terms add to an ended episode, and the names of those that were not judged."""
    from loquent import rewards  # imports metrics, which few environments need

    before = episode.rewards
    [scored] = rewards.apply(terms, [episode], {row.id: row})
    gained = {
        name: value - before.get(name, 0.0)
        for name, value in scored.rewards.items()
        if value != before.get(name)
    }
    return Record(gained), scored.unjudged


def sum_records(records: Sequence[Record]) -> Record:
    """The sum of named rewards, name by name."""
    records = [record for record in records if record]
    if len(records) < 2:
        return records[0] if records else EMPTY
    names = dict.fromkeys(name for record in records for name in record)
    return Record({name: float(sum(record.get(name, 0.0) for record in records)) for name in names})
