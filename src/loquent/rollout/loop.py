"""The one loop where agents meet tasks: training, evaluation, datasets and people all play through here.

Many games are live at once; each round every seat that is due is asked once, in one batch. A game's streams
are keyed by (run seed, row id, number), so neither the number of live games nor the order in which they end
changes what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from loquent.core.agent import Agent, Answer
from loquent.core.episode import TASK, Episode
from loquent.core.live import Live
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting, BrokenAgent, LoquentError, PlayerLeft, kind_of


@dataclass(frozen=True)
class Game:
    """A game to be played: a row, and a number that tells games on the same row apart.

    `meta` goes into its episode.
    """

    row: Row
    number: int = 0
    meta: Record = EMPTY


def games(rows: Iterable[Row], *, each: int = 1, first: int = 0) -> list[Game]:
    """`each` games on every row, numbered from `first`."""
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
    """Play all games to their end; the episodes come in the order of `queue`."""
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
    """Play games, at most `live` at once, and yield (place in the queue, episode) as each ends.

    Args:
        agents: one agent for every seat, or a mapping from seat to agent.
        learning: the seat whose turns carry the rewards.

    Raises:
        BrokenAgent: an agent is missing for a seat, or gave the wrong number of answers, or something that is
            none.
        PlayerLeft: a person left; it holds the games under way, which have not ended and so bootstrap.
    """
    opened = (
        Live(task, game.row, game.number, seed, split, learning, index, game.meta)
        for index, game in enumerate(queue)
    )
    yield from _played(task, opened, agents, live)


def play_out(
    task: Task, games: Iterable[Live], agents: Agent | Mapping[str, Agent], *, live: int = 256
) -> list[Episode]:
    """Play games that are under way (`Live.fork`) to their end; the episodes come in the order of `games`."""
    waiting = list(games)
    for index, one in enumerate(waiting):
        one.index = index
    return [
        episode for _, episode in sorted(_played(task, iter(waiting), agents, live), key=lambda pair: pair[0])
    ]


def _played(
    task: Task, waiting: Iterator[Live], agents: Agent | Mapping[str, Agent], live: int
) -> Iterator[tuple[int, Episode]]:
    if live < 1:
        raise BadSetting(f"live = {live}: at least one game must be live")
    table = list(islice(waiting, live))
    while table:
        try:
            for one, answer in _ask(task, table, agents):
                one.act(answer)
        except PlayerLeft as left:
            left.unfinished = tuple(one.episode(_names(agents, one)) for one in table)
            raise
        for one in table:
            if one.step.ended is not None:
                yield one.index, one.episode(_names(agents, one))
        table = [one for one in table if one.step.ended is None]
        table += islice(waiting, live - len(table))


def replay(task: Task, episode: Episode, row: Row | None = None) -> Episode:
    """Play a recorded episode again, word for word; observations and the task's rewards are made afresh.

    Rewards that terms added later are kept. The result equals the record where the record is true.

    Args:
        row: the episode's row, where it is not in the task's own split.

    Raises:
        EpisodeOver: the record goes on after the rules ended the game.
        LoquentError: the record lacks turns of the task, or its parent is no number.
    """
    again = rebuild(task, episode, row).episode(episode.agents)
    if len(again.turns) != len(episode.turns):
        raise LoquentError(
            f"the record of {episode.row}#{episode.number} has {len(episode.turns)} turns; played "
            f"again it has {len(again.turns)}"
        )
    turns = []
    for old, new in zip(episode.turns, again.turns, strict=True):
        extra = {name: value for name, value in old.rewards.items() if name not in task.spec.rewards}
        turns.append(replace(new, rewards=Record({**new.rewards, **extra}), token_rewards=old.token_rewards))
    return replace(again, turns=tuple(turns), number=episode.number, meta=episode.meta)


def rebuild(task: Task, episode: Episode, row: Row | None = None) -> Live:
    """The game of a recorded episode as it stands after its last answer, with the task's state.

    Raises as `replay`.
    """
    # a fork's task goes on with the stream of the game it was forked from
    stream = episode.meta.get("parent", episode.number)
    if not isinstance(stream, int):
        raise LoquentError(
            f"the record of {episode.row}#{episode.number} has meta.parent = {stream!r:.40}; the "
            "number of the game it was forked from is right"
        )
    one = Live(
        task,
        row or task.row(episode.split, episode.row),
        stream,
        episode.seed,
        episode.split,
        episode.learning,
    )
    for turn in episode.turns:
        if turn.seat != TASK:
            one.act(Answer(turn.text, turn.stopped, turn.tokens))
    return one


def _ask(
    task: Task, table: Sequence[Live], agents: Agent | Mapping[str, Agent]
) -> Iterator[tuple[Live, Answer]]:
    due: dict[str, list[Live]] = {}
    for one in table:
        due.setdefault(one.seat, []).append(one)
    for seat, ones in due.items():
        seats = agents if isinstance(agents, Mapping) else {seat: agents}
        agent = seats.get(seat)
        if agent is None:
            raise BrokenAgent(
                f"{task.identity} asks the seat {seat!r}, and no agent sits there; taken seats: "
                f"{', '.join(seats)}"
            )
        answers = agent.answer([one.question() for one in ones])
        if not isinstance(answers, Sequence) or len(answers) != len(ones):
            gave = f"{len(answers)} answers" if isinstance(answers, Sequence) else kind_of(answers)
            raise BrokenAgent(f"{agent.name} was asked {len(ones)} questions and gave {gave}")
        yield from zip(ones, answers, strict=True)


def _names(agents: Agent | Mapping[str, Agent], one: Live) -> Record:
    if isinstance(agents, Mapping):
        return Record({seat: agent.name for seat, agent in agents.items()})
    return Record({turn.seat: agents.name for turn in one.turns if turn.seat != TASK})
