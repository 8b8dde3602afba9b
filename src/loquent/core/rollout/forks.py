"""Designs of datasets: an expert's episodes, and episodes that fork from their states.

A fork starts from a state of the expert's episode: it has the task's state and streams of that episode, and
its turns begin with the expert's turns. The `meta` of an episode says how it was made:

kind
    "expert", "suboptimal" (a whole episode of the suboptimal agent), or for forks "branch_suboptimal" and
    "adversarial".
parent
    Of a fork: the number of the expert's episode on the same row.
start
    Of a fork: the index in `turns` of its own first answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice

from loquent.core.agent import Agent, Answer
from loquent.core.episode import TASK, Episode
from loquent.core.live import Live
from loquent.core.rollout.loop import Game, play, play_out
from loquent.core.task import Row, Task
from loquent.core.values import Record

EXPERT, SUBOPTIMAL, BRANCH, ADVERSARIAL = "expert", "suboptimal", "branch_suboptimal", "adversarial"
# companions of episode g of a row are numbered from (g + 1) times this, so that all numbers differ
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
    """Each expert episode, followed by forks of it that the suboptimal agent plays.

    From every state in which the expert answered there are `rollouts` forks. These are the datasets "branch"
    in the code of arXiv:2206.11871, whose own rollouts start from the initial state.
    """
    games = list(queue)
    experts = _experts(task, games, expert, seed, split)
    forks = []
    for game, episode in zip(games, experts, strict=True):
        numbers = count((game.number + 1) * COMPANIONS)
        reached = states(task, episode, game.row)
        forks.append([state.fork(next(numbers), BRANCH) for state in reached for _ in range(rollouts)])
    return _grouped(experts, _play_groups(task, forks, _seats(suboptimal, expert, experts)))


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
    """Each expert episode, followed by misleading forks and suboptimal episodes.

    Source: section 5 of arXiv:2206.11871. Most continuations of the expert's first answers fail, which
    misleads imitation and the evaluation of the behaviour policy. Planning over several turns combines the
    expert's first and third answers.

    Args:
        rollouts: the number of forks that the adversary plays from the state before the expert's answer
            number `before`, if the expert's episode has so many answers.
        games: the number of whole episodes of the suboptimal agent on the same row.
        before: the number of that answer, from 1.
    """
    openings = list(queue)
    experts = _experts(task, openings, expert, seed, split)
    forks, suboptimals = [], []
    for game, episode in zip(openings, experts, strict=True):
        numbers = count((game.number + 1) * COMPANIONS)
        reached = islice(states(task, episode, game.row), before - 1, before)
        forks.append([state.fork(next(numbers), ADVERSARIAL) for state in reached for _ in range(rollouts)])
        suboptimals.append(
            [
                Live(task, game.row, next(numbers), seed, split, meta=Record(kind=SUBOPTIMAL))
                for _ in range(games)
            ]
        )
    misled = _play_groups(task, forks, _seats(adversary, expert, experts))
    mediocre = _play_groups(task, suboptimals, _seats(suboptimal, expert, experts))
    return _grouped(experts, misled, mediocre)


def states(task: Task, episode: Episode, row: Row) -> Iterator[Live]:
    """The live episode before each answer of the learning seat.

    Fork each state before the next one is taken: all states are one object, which goes on.
    """
    game = Live(task, row, episode.number, episode.seed, episode.split, episode.learning)
    for turn in episode.turns:
        if turn.seat == episode.learning:
            yield game
        if turn.seat != TASK:
            game.act(Answer(turn.text, turn.stopped, turn.tokens))


def _experts(task: Task, games: Sequence[Game], expert: Agent, seed: int, split: str) -> list[Episode]:
    return play(
        task, [replace(game, meta=Record(kind=EXPERT)) for game in games], expert, seed=seed, split=split
    )


def _seats(agent: Agent, others: Agent, experts: Sequence[Episode]) -> Agent | Mapping[str, Agent]:
    """The agent in the learning seat, and `others` in all other seats of the experts' episodes.

    Without other seats it is the agent alone.
    """
    seats = {turn.seat for episode in experts for turn in episode.turns} - {TASK}
    learning = {episode.learning for episode in experts}
    return (
        {**dict.fromkeys(sorted(seats), others), **dict.fromkeys(learning, agent)}
        if seats - learning
        else agent
    )


def _play_groups(
    task: Task, groups: Sequence[Sequence[Live]], agents: Agent | Mapping[str, Agent]
) -> list[list[Episode]]:
    """Play the live episodes of all groups in one batch; returns the episodes by group."""
    episodes = iter(play_out(task, [game for group in groups for game in group], agents))
    return [list(islice(episodes, len(group))) for group in groups]


def _grouped(experts: Sequence[Episode], *companions: Sequence[Sequence[Episode]]) -> list[Episode]:
    """Each expert episode, followed by its companions."""
    ordered: list[Episode] = []
    for expert, *groups in zip(experts, *companions, strict=True):
        ordered += [expert, *(episode for group in groups for episode in group)]
    return ordered
