"""Designs of datasets: games of an expert, and beside them games that leave them at one of their states.

A fork really starts from the state it leaves: the task's state and streams are those of the expert's game,
and its turns begin with the expert's. How an episode came to be stands in its `meta`:

kind    "expert"; "suboptimal" (a whole game of the suboptimal player); "branch_suboptimal" and "adversarial"
(forks) parent  of a fork: the number of the expert's game on the same row start   of a fork: the index in
`turns` of the first answer that is its own
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice

from loquent.core.agent import Agent, Answer
from loquent.core.episode import TASK, Episode
from loquent.core.live import Live
from loquent.core.task import Row, Task
from loquent.core.values import Record
from loquent.rollout.loop import Game, play, play_out

EXPERT, SUBOPTIMAL, BRANCH, ADVERSARIAL = "expert", "suboptimal", "branch_suboptimal", "adversarial"
# what is played beside game g of a row is numbered from (g + 1) times this: no two games share a number
COMPANIONS = 1_000_000


def branching(
    task: Task,
    queue: Iterable[Game],
    expert: Agent,
    suboptimal: Agent,
    *,
    seed: int,
    split: str = "train",
    rollouts: int = 1,
) -> list[Episode]:
    """Each game of the expert's, followed by `rollouts` games of the suboptimal player from every state in
    which the expert answered.

    The sets "branch" of the code of arXiv:2206.11871, whose own rollouts start from the opening.
    """
    games = list(queue)
    experts = _experts(task, games, expert, seed, split)
    forks = []
    for game, episode in zip(games, experts, strict=True):
        numbers = count((game.number + 1) * COMPANIONS)
        forks.append(
            [
                one.fork(next(numbers), BRANCH)
                for one in states(task, episode, game.row)
                for _ in range(rollouts)
            ]
        )
    return _grouped(experts, _played(task, forks, _seats(suboptimal, expert, experts)))


def adversarial(
    task: Task,
    queue: Iterable[Game],
    expert: Agent,
    adversary: Agent,
    suboptimal: Agent,
    *,
    seed: int,
    split: str = "train",
    rollouts: int = 5,
    games: int = 5,
    before: int = 3,
) -> list[Episode]:
    """Section 5 of arXiv:2206.11871: most of what follows the expert's opening is catastrophic, so who
    imitates or evaluates behaviour is misled; who plans over several turns puts the expert's first and third
    answer together.

    Each game of the expert's is followed by `rollouts` games of the adversary from the state before the
    expert's answer number `before`, where it came so far, and by `games` whole games of the suboptimal player
    on the same row.
    """
    openings = list(queue)
    experts = _experts(task, openings, expert, seed, split)
    forks, whole = [], []
    for game, episode in zip(openings, experts, strict=True):
        numbers = count((game.number + 1) * COMPANIONS)
        reached = islice(states(task, episode, game.row), before - 1, before)
        forks.append([one.fork(next(numbers), ADVERSARIAL) for one in reached for _ in range(rollouts)])
        whole.append(
            [
                Live(task, game.row, next(numbers), seed, split, meta=Record(kind=SUBOPTIMAL))
                for _ in range(games)
            ]
        )
    misled = _played(task, forks, _seats(adversary, expert, experts))
    mediocre = _played(task, whole, _seats(suboptimal, expert, experts))
    return _grouped(experts, misled, mediocre)


def states(task: Task, episode: Episode, row: Row) -> Iterator[Live]:
    """The game as it stood before each answer of the learning seat, to be forked at once: the next state is
    the same object, played on.
    """
    one = Live(task, row, episode.number, episode.seed, episode.split, episode.learning)
    for turn in episode.turns:
        if turn.seat == episode.learning:
            yield one
        if turn.seat != TASK:
            one.act(Answer(turn.text, turn.stopped, turn.tokens))


def _experts(task: Task, games: Sequence[Game], expert: Agent, seed: int, split: str) -> list[Episode]:
    return play(
        task, [replace(game, meta=Record(kind=EXPERT)) for game in games], expert, seed=seed, split=split
    )


def _seats(agent: Agent, others: Agent, experts: Sequence[Episode]) -> Agent | Mapping[str, Agent]:
    """The agent alone.

    Or in the learning seat, with the expert in all other seats that spoke in its games.
    """
    seats = {turn.seat for episode in experts for turn in episode.turns} - {TASK}
    learning = {episode.learning for episode in experts}
    return (
        {**dict.fromkeys(sorted(seats), others), **dict.fromkeys(learning, agent)}
        if seats - learning
        else agent
    )


def _played(
    task: Task, groups: Sequence[Sequence[Live]], agents: Agent | Mapping[str, Agent]
) -> list[list[Episode]]:
    """Play all games of all groups together; the episodes by group."""
    played = iter(play_out(task, [one for group in groups for one in group], agents))
    return [list(islice(played, len(group))) for group in groups]


def _grouped(experts: Sequence[Episode], *companions: Sequence[Sequence[Episode]]) -> list[Episode]:
    """Each expert's game, followed by what was played beside it."""
    return [
        one
        for expert, *beside in zip(experts, *companions, strict=True)
        for one in (expert, *(one for group in beside for one in group))
    ]
