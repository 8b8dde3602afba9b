"""The one loop where agents meet tasks: training, evaluation, datasets and people all play through here.

Many games are live at once; each round every seat that is due is asked once, in one batch. A game's streams are keyed by
(run seed, row id, number), so neither the number of live games nor the order in which they end changes what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from loquent.agent import Agent, Answer, Asked
from loquent.episode import TASK, Episode, Turn
from loquent.errors import BrokenAgent
from loquent.seeding import Key
from loquent.task import Observation, Row, Step, Task
from loquent.values import EMPTY, Record


@dataclass(frozen=True)
class Game:
    """A game to be played: a row, and a number that tells games on the same row apart."""

    row: Row
    number: int = 0


@dataclass
class _Live:
    """A game under way. `owed` holds rewards that came before the learning seat first spoke; its first turn takes them."""

    index: int
    game: Game
    key: Key
    step: Step
    turns: list[Turn] = field(default_factory=list)
    owed: Record = EMPTY


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
        BrokenAgent: an agent is missing for a seat, or gave the wrong number of answers.
    """
    waiting = enumerate(queue)
    table: list[_Live] = [_seat(task, index, game, seed) for index, game in islice(waiting, live)]
    names = _names(agents)
    while table:
        for one, answer in _ask(task, table, agents):
            _act(task, one, answer, learning)
        for one in [one for one in table if one.step.ended is not None]:
            head = Episode(task.identity, one.game.row.id, split, seed, one.game.number, tuple(one.turns), one.step.ended)
            yield one.index, replace(head, learning=learning, instruction=task.spec.instruction, agents=names)
        table = [one for one in table if one.step.ended is None]
        table += [_seat(task, index, game, seed) for index, game in islice(waiting, live - len(table))]


def replay(task: Task, episode: Episode) -> Episode:
    """Play a recorded episode again, word for word; observations and the task's rewards are made afresh.

    Rewards that terms added later are kept. The result equals the record where the record is true.
    """
    row = task.row(episode.split, episode.row)
    one = _seat(task, 0, Game(row, episode.number), episode.seed)
    said = [turn for turn in episode.turns if turn.seat != TASK]
    for turn in said:
        _act(task, one, Answer(turn.text, turn.stopped, turn.tokens), episode.learning)  # type: ignore[arg-type]
    turns = []
    for old, new in zip(episode.turns, one.turns, strict=True):
        extra = {name: value for name, value in old.rewards.items() if name not in task.spec.rewards}
        turns.append(replace(new, rewards=Record({**new.rewards, **extra}), token_rewards=old.token_rewards))
    return replace(episode, turns=tuple(turns), ended=one.step.ended)


def _seat(task: Task, index: int, game: Game, seed: int) -> _Live:
    key = Key(seed, (game.row.id, game.number))
    step = task.start(game.row, key.child("task"))
    return _Live(index, game, key, step, [_told(step.observation)])


def _told(observation: Observation) -> Turn:
    return Turn(TASK, observation.text, to=observation.seat, observation=observation)


def _ask(task: Task, table: Sequence[_Live], agents: Agent | Mapping[str, Agent]) -> Iterator[tuple[_Live, Answer]]:
    due: dict[str, list[_Live]] = {}
    for one in table:
        due.setdefault(one.step.observation.seat, []).append(one)
    for seat, ones in due.items():
        agent = agents.get(seat) if isinstance(agents, Mapping) else agents
        if agent is None:
            raise BrokenAgent(f"{task.identity} asks the seat {seat!r}, and no agent sits there; taken seats: {', '.join(agents)}")  # type: ignore[arg-type]
        answers = agent.answer([_asked(task, one, seat) for one in ones])
        if len(answers) != len(ones):
            raise BrokenAgent(f"{agent.name} was asked {len(ones)} questions and gave {len(answers)} answers")
        yield from zip(ones, answers, strict=True)


def _asked(task: Task, one: _Live, seat: str) -> Asked:
    turns = tuple(turn for turn in one.turns if turn.seat == seat or turn.to == seat)
    key = one.key.child("answer", seat, one.step.turn)
    game = f"{one.game.row.id}#{one.game.number}"
    return Asked(game, turns, one.step.observation, key, task.spec.instruction, task.actions, one.step.state, one.game.row.fields)


def _act(task: Task, one: _Live, answer: Answer, learning: str) -> None:
    if not isinstance(answer, Answer) or not isinstance(answer.text, str):
        raise BrokenAgent(f"an agent answered {answer!r}, which is no Answer with a text")
    seat = one.step.observation.seat
    one.step = task.act(one.step, answer.text, answer.stopped)
    one.turns.append(Turn(seat, answer.text, stopped=answer.stopped, tokens=answer.tokens))
    _credit(one, learning)
    one.turns.append(_told(one.step.observation))


def _credit(one: _Live, learning: str) -> None:
    """Give the step's rewards to the learning seat's last turn, or keep them until it has one."""
    owed = _sum(one.owed, one.step.rewards)
    last = next((i for i in reversed(range(len(one.turns))) if one.turns[i].seat == learning), None)
    if last is None:
        one.owed = owed
        return
    one.owed = EMPTY
    one.turns[last] = replace(one.turns[last], rewards=_sum(one.turns[last].rewards, owed))


def _sum(a: Record, b: Record) -> Record:
    return Record({name: a.get(name, 0.0) + b.get(name, 0.0) for name in (*a, *(name for name in b if name not in a))}) if b else a


def _names(agents: Agent | Mapping[str, Agent]) -> Record:
    return Record({seat: agent.name for seat, agent in agents.items()} if isinstance(agents, Mapping) else {"agent": agents.name})
