"""The one rollout loop: training, evaluation, the collection of datasets and human play all use it.

Many episodes are live at once. In each round every seat with a pending question answers in one batch. The
random streams of an episode are keyed by (run seed, row id, number), so the draws depend neither on the
number of live episodes nor on the order in which they end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from loquent.core.agent import Agent, Answer, all_agents, check_answers
from loquent.core.episode import TASK, Episode
from loquent.core.live import Live
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting, BrokenAgent, LoquentError, PlayerLeft


@dataclass(frozen=True)
class Game:
    """An episode to play: a row, and a number that distinguishes episodes on the same row.

    `meta` becomes the `meta` of its `Episode`.
    """

    row: Row
    number: int = 0
    meta: Record = EMPTY


def games(rows: Iterable[Row], *, each: int = 1, first: int = 0) -> list[Game]:
    """`each` episodes to play on every row, numbered from `first`."""
    return [Game(row, first + i) for row in rows for i in range(each)]


def play(
    task: Task,
    queue: Iterable[Game],
    agents: Agent | Mapping[str, Agent],
    *,
    seed: int,
    split: str = "train",
    learning: str = "agent",
    live: int = 256,
) -> list[Episode]:
    """Play all episodes of a queue to their end; returns them in the order of `queue`.

    The arguments and errors are those of `stream`.
    """
    ended = stream(task, queue, agents, seed=seed, split=split, learning=learning, live=live)
    return [episode for _, episode in sorted(ended, key=lambda pair: pair[0])]


def stream(
    task: Task,
    queue: Iterable[Game],
    agents: Agent | Mapping[str, Agent],
    *,
    seed: int,
    split: str = "train",
    learning: str = "agent",
    live: int = 256,
) -> Iterator[tuple[int, Episode]]:
    """Play the episodes of a queue and yield (position in the queue, episode) when each ends.

    Args:
        agents: one agent for every seat, or a mapping from seat to agent; `task.seats` fills other seats.
        seed: the run's seed.
        split: the split in the episodes' records.
        learning: the seat whose turns receive the rewards.
        live: the largest number of live episodes.

    Raises:
        BrokenAgent: a seat has no agent, or an agent returned the wrong number of answers, or something other
            than an answer.
        PlayerLeft: a person stopped playing; the error holds the live episodes, which have not ended.
    """
    opened = (
        Live(task, game.row, game.number, seed, split, learning, index, game.meta)
        for index, game in enumerate(queue)
    )
    yield from _play(task, opened, agents, live)


def play_out(
    task: Task, games: Iterable[Live], agents: Agent | Mapping[str, Agent], *, live: int = 256
) -> list[Episode]:
    """Play live episodes, such as forks (`Live.fork`), to their end; returns them in the order of `games`."""
    waiting = list(games)
    for index, game in enumerate(waiting):
        game.index = index
    ended = _play(task, iter(waiting), agents, live)
    return [episode for _, episode in sorted(ended, key=lambda pair: pair[0])]


def _play(
    task: Task, waiting: Iterator[Live], agents: Agent | Mapping[str, Agent], live: int
) -> Iterator[tuple[int, Episode]]:
    if live < 1:
        raise BadSetting(f"live must be an integer of at least 1, got {live}")
    agents = all_agents(task, agents)
    table = list(islice(waiting, live))
    while table:
        try:
            for game, answer in _ask(task, table, agents):
                game.act(answer)
        except PlayerLeft as left:
            left.unfinished = tuple(game.episode(_names(agents, game)) for game in table)
            raise
        for game in table:
            if game.step.ended is not None:
                yield game.index, game.episode(_names(agents, game))
        table = [game for game in table if game.step.ended is None]
        table += islice(waiting, live - len(table))


def replay(task: Task, episode: Episode, row: Row | None = None) -> Episode:
    """Replay a recorded episode with its answers; observations and the task's rewards are computed anew.

    Rewards of reward terms are copied from the record. A correct record equals the result.

    Args:
        row: the episode's row, if the task's split does not have it.

    Raises:
        EpisodeOver: the record has answers after the end by the rules.
        LoquentError: the record lacks turns of the task, or its `meta.parent` is not a number.
    """
    again = rebuild(task, episode, row).episode(episode.agents)
    if len(again.turns) != len(episode.turns):
        raise LoquentError(
            f"the record of {episode.row}#{episode.number} has {len(episode.turns)} turns, but its replay "
            f"has {len(again.turns)}; the record was changed, or belongs to another version of the task"
        )
    turns = []
    for old, new in zip(episode.turns, again.turns, strict=True):
        extra = {name: value for name, value in old.rewards.items() if name not in task.spec.rewards}
        turns.append(replace(new, rewards=Record({**new.rewards, **extra}), token_rewards=old.token_rewards))
    return replace(again, turns=tuple(turns), number=episode.number, meta=episode.meta)


def rebuild(task: Task, episode: Episode, row: Row | None = None) -> Live:
    """The live episode of a record after its last answer, with the task's state; raises like `replay`."""
    number = episode.meta.get("parent", episode.number)  # a fork's task uses the random stream of its parent
    if not isinstance(number, int):
        raise LoquentError(
            f"the record of {episode.row}#{episode.number}: meta.parent must be the number of its parent "
            f"episode, got {number!r:.40}"
        )
    if row is None:
        row = task.row(episode.split, episode.row)
    game = Live(task, row, number, episode.seed, episode.split, episode.learning)
    for turn in episode.turns:
        if turn.seat != TASK:
            game.act(Answer(turn.text, turn.stopped, turn.tokens))
    return game


def _ask(
    task: Task, table: Sequence[Live], agents: Agent | Mapping[str, Agent]
) -> Iterator[tuple[Live, Answer]]:
    """One round: the answer of every live episode's next seat; each agent answers once, in a batch."""
    by_seat: dict[str, list[Live]] = {}
    for game in table:
        by_seat.setdefault(game.seat, []).append(game)
    for seat, batch in by_seat.items():
        seats = agents if isinstance(agents, Mapping) else {seat: agents}
        agent = seats.get(seat)
        if agent is None:
            raise BrokenAgent(
                f"{task.identity} asks the seat {seat!r}, which has no agent; seats with an agent: "
                f"{', '.join(seats)}"
            )
        answers = agent.answer([game.question() for game in batch])
        check_answers(agent, answers, len(batch))
        yield from zip(batch, answers, strict=True)


def _names(agents: Agent | Mapping[str, Agent], game: Live) -> Record:
    if isinstance(agents, Mapping):
        return Record({seat: agent.name for seat, agent in agents.items()})
    return Record({turn.seat: agents.name for turn in game.turns if turn.seat != TASK})
