"""Batches of turns, for algorithms that choose one action per turn. They need only numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.actions import ActionSet, Legal
from loquent.core.episode import Episode, Turn
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.errors import LoquentError

View = Callable[[Observation], Mapping[str, NDArray[Any]]]
NO_ACTION = -1  # the choice of a turn whose text is not an action of the set


@dataclass(frozen=True, eq=False)
class TurnBatch:
    """N turns of the learning seat, each with the observations before and after it.

    Arrays are numpy's, or torch's after `to_torch`. `legal` and `next_legal` are the values in the
    observations; `mask` turns them into arrays if the action set is small enough. If the seat has no
    observation after a turn, the turn's next features are those of the last observation of the episode.
    """

    features: dict[str, Any]  # name -> [N, ...]
    choice: Any  # int64[N]: number of the action; -1 if the text is not an action
    reward: Any  # float32[N]: weighted, with the sum of the rewards per token
    next_features: dict[str, Any]
    legal: tuple[Legal, ...]
    next_legal: tuple[Legal, ...]
    ended: Any  # bool[N]: by a rule after this turn, so nothing is bootstrapped
    episode: Any  # int64[N]: index into the episodes of the batch
    turn: Any  # int64[N]: number of the utterance in its episode
    goal: Any = None  # float32[N]: whether the goal holds in the observation, if the learner asks for it

    def __len__(self) -> int:
        return len(self.legal)

    def mask(self, actions: ActionSet, following: bool = False) -> NDArray[np.bool_]:
        """The legal actions, or with `following` those of the next observation, bool[N, n].

        Raises:
            LoquentError: the set has more than 100,000 actions.
        """
        return np.stack([actions.mask(legal) for legal in (self.next_legal if following else self.legal)])

    def take(self, rows: Sequence[int] | NDArray[Any]) -> TurnBatch:
        """The batch of these turns (integers, or one bool per turn), in that order."""
        index = np.arange(len(self))[np.asarray(rows, dtype=None if len(rows) else np.int64)]
        chosen = self._each(lambda array: array[index])
        return replace(
            chosen,
            legal=tuple(self.legal[i] for i in index),
            next_legal=tuple(self.next_legal[i] for i in index),
        )

    def to_torch(self, device: Any = "cpu") -> TurnBatch:
        """The same batch with torch tensors on a device."""
        import torch

        return self._each(lambda array: torch.as_tensor(array, device=device))

    def _each(self, change: Callable[[Any], Any]) -> TurnBatch:
        changed: dict[str, Any] = {
            name: change(getattr(self, name)) for name in ("choice", "reward", "ended", "episode", "turn")
        }
        if self.goal is not None:
            changed["goal"] = change(self.goal)
        for name in ("features", "next_features"):
            changed[name] = {key: change(array) for key, array in getattr(self, name).items()}
        return replace(self, **changed)


@dataclass
class _Columns:
    """The fields of a batch, collected turn by turn.

    `before` and `following` are indices of observations, so each observation is converted to arrays once.
    """

    before: list[int]
    following: list[int]
    choice: list[int]
    reward: list[float]
    ended: list[bool]
    episode: list[int]
    turn: list[int]


def turn_batch(
    episodes: Sequence[Episode],
    view: View,
    actions: ActionSet,
    weights: Record,
    *,
    seat: str | None = None,
    goal: Callable[[str, Observation], bool] | None = None,
) -> TurnBatch:
    """The batch of all answers of one seat (by default each episode's learning seat).

    Args:
        view: turns an Observation into arrays by name, each name with one shape and type.
        weights: the weight of each reward by name; other rewards do not count.
        goal: whether the goal of the row with an id holds in an observation; None: nobody asks.

    Raises:
        LoquentError: an episode has no observations in memory, an answer has no observation before it, the
            view's arrays differ in shape, or there are no answers.
    """
    columns = _Columns([], [], [], [], [], [], [])
    observations: list[Observation] = []
    for index, episode in enumerate(episodes):
        _add(columns, observations, index, episode, actions, weights, seat or episode.learning)
    if not columns.turn:
        raise LoquentError(
            f"there is no answer of {seat or 'the learning seat'} in {len(episodes)} episodes; a batch of "
            "turns needs at least one; check the episodes and the seat"
        )
    used = sorted({*columns.before, *columns.following})
    place = np.zeros(len(observations), dtype=np.int64)
    place[used] = np.arange(len(used))
    arrays = _arrays(view, [observations[i] for i in used])
    goals = None
    if goal is not None:
        pairs = zip(columns.episode, columns.before, strict=True)
        goals = np.array([goal(episodes[i].row, observations[j]) for i, j in pairs], dtype=np.float32)
    now, after = place[columns.before], place[columns.following]
    return TurnBatch(
        features={name: array[now] for name, array in arrays.items()},
        choice=np.array(columns.choice, dtype=np.int64),
        reward=np.array(columns.reward, dtype=np.float32),
        next_features={name: array[after] for name, array in arrays.items()},
        legal=tuple(observations[i].legal for i in columns.before),
        next_legal=tuple(observations[i].legal for i in columns.following),
        ended=np.array(columns.ended, dtype=np.bool_),
        episode=np.array(columns.episode, dtype=np.int64),
        turn=np.array(columns.turn, dtype=np.int64),
        goal=goals,
    )


def _add(
    columns: _Columns,
    observations: list[Observation],
    index: int,
    episode: Episode,
    actions: ActionSet,
    weights: Record,
    seat: str,
) -> None:
    """Append an episode's answers and observations.

    What follows an answer is the seat's next observation, or the last observation of the episode. The reward
    of a text that the task asks for belongs to the action before it.
    """
    name, latest, first = f"{episode.row}#{episode.number} of {episode.task}", None, len(columns.turn)
    for number, turn in enumerate(episode.turns):
        if turn.seat == seat:
            if latest is None:
                raise LoquentError(
                    f"turn {number} of the episode {name} answers no observation of {seat!r}; each answer "
                    "needs an observation before it; check the turns' seats"
                )
            legal = observations[latest].legal
            if actions.asks_text(legal) and len(columns.turn) > first:
                columns.reward[-1] += _weighted(turn, weights)
                continue
            choice = actions.index(turn.text, legal)
            columns.before.append(latest)
            columns.choice.append(NO_ACTION if choice is None else choice)
            columns.reward.append(_weighted(turn, weights))
            columns.ended.append(False)
            columns.episode.append(index)
            columns.turn.append(number)
        elif turn.observation is not None:
            observations.append(turn.observation)
            if turn.to == seat:
                latest = len(observations) - 1
                columns.following += [latest] * (len(columns.turn) - len(columns.following))
        elif turn.to:
            raise LoquentError(
                f"turn {number} of the episode {name} has no observation in memory; a batch of turns needs "
                "them; make them again with play.replay(task, episode)"
            )
    if len(columns.turn) > first:
        columns.following += [len(observations) - 1] * (len(columns.turn) - len(columns.following))
        columns.ended[-1] = not episode.bootstraps


def _weighted(turn: Turn, weights: Record) -> float:
    """The weighted reward of a turn, rewards per token included."""
    per_token = sum(
        weights[term] * sum(values) for term, values in turn.token_rewards.items() if term in weights
    )
    return float(
        per_token + sum(weights[term] * value for term, value in turn.rewards.items() if term in weights)
    )


def _arrays(view: View, observations: Sequence[Observation]) -> dict[str, NDArray[Any]]:
    """The view's arrays of all observations, stacked by name."""
    arrays = [view(observation) for observation in observations]
    shapes = {name: np.shape(array) for name, array in arrays[0].items()}
    for of_observation, observation in zip(arrays, observations, strict=True):
        other_shapes = {name: np.shape(array) for name, array in of_observation.items()}
        if other_shapes != shapes:
            raise LoquentError(
                f"the view makes {other_shapes} of the observation {observation.text[:60]!r}, and {shapes} "
                "of the first; all must have one shape; correct the view"
            )
    return {name: np.stack([of_observation[name] for of_observation in arrays]) for name in shapes}
