"""Batches of turns: what learners read that choose one action a turn. numpy only, until `to_torch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.actions import ActionSet, Legal
from loquent.core.episode import Episode
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.errors import LoquentError

View = Callable[[Observation], Mapping[str, NDArray[Any]]]
NO_ACTION = -1  # the choice of a turn whose text is no action of the set


@dataclass(frozen=True, eq=False)
class TurnBatch:
    """N turns of the learning seat with what it saw before and after each.

    Arrays are numpy's, or torch's after `to_torch`.

    `legal` and `next_legal` are the observations' own values; `mask` makes arrays of them where the action
    set allows it. The next features of a turn after which the seat saw nothing more are those of the last
    observation of the game.
    """

    features: dict[str, Any]  # name -> [N, ...]
    choice: Any  # int64[N]: number of the action; -1 where the text is none
    reward: Any  # float32[N]: weighted, terms per token summed
    next_features: dict[str, Any]
    legal: tuple[Legal, ...]
    next_legal: tuple[Legal, ...]
    ended: Any  # bool[N]: by a rule after this turn; a value of the next features counts nothing
    episode: Any  # int64[N]: index into the episodes the batch was made from
    turn: Any  # int64[N]: number of the utterance in its episode

    def __len__(self) -> int:
        return len(self.legal)

    def mask(self, actions: ActionSet, following: bool = False) -> NDArray[np.bool_]:
        """bool[N, n]: which actions were legal, or (`following`) are legal next.

        Refused by sets of more than 100,000.
        """
        return np.stack([actions.mask(legal) for legal in (self.next_legal if following else self.legal)])

    def take(self, rows: Sequence[int] | NDArray[Any]) -> TurnBatch:
        """The batch of these turns (integers, or one bool a turn), in that order."""
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
        for name in ("features", "next_features"):
            changed[name] = {key: change(array) for key, array in getattr(self, name).items()}
        return replace(self, **changed)


@dataclass
class _Column:
    """What is gathered turn by turn.

    Pictures are numbered, so that an observation seen twice is pictured once.
    """

    seen: list[int]
    following: list[int]
    choice: list[int]
    reward: list[float]
    ended: list[bool]
    episode: list[int]
    turn: list[int]


def turn_batch(
    episodes: Sequence[Episode], view: View, actions: ActionSet, weights: Record, *, seat: str | None = None
) -> TurnBatch:
    """The batch of all answers of one seat (by default each episode's learning seat), through a view of its
    observations.

    Args:
        view: Observation -> arrays by name, all of one shape and type for each name.
        weights: name of a reward -> weight; names without one do not count.

    Raises:
        LoquentError: an episode has no observations in memory, an answer has none before it, the pictures
            differ in shape, or there is no answer at all.
    """
    column = _Column([], [], [], [], [], [], [])
    seen: list[Observation] = []
    for index, episode in enumerate(episodes):
        _add(column, seen, index, episode, actions, weights, seat or episode.learning)
    if not column.turn:
        raise LoquentError(
            f"there is no answer of {seat or 'the learning seat'} in {len(episodes)} episodes, so "
            "there is no batch of turns"
        )
    used = sorted({*column.seen, *column.following})
    place = np.zeros(len(seen), dtype=np.int64)
    place[used] = np.arange(len(used))
    pictures = _stack([view(seen[i]) for i in used], [seen[i] for i in used])
    now, after = place[column.seen], place[column.following]
    return TurnBatch(
        features={name: array[now] for name, array in pictures.items()},
        choice=np.array(column.choice, dtype=np.int64),
        reward=np.array(column.reward, dtype=np.float32),
        next_features={name: array[after] for name, array in pictures.items()},
        legal=tuple(seen[i].legal for i in column.seen),
        next_legal=tuple(seen[i].legal for i in column.following),
        ended=np.array(column.ended, dtype=np.bool_),
        episode=np.array(column.episode, dtype=np.int64),
        turn=np.array(column.turn, dtype=np.int64),
    )


def _add(
    column: _Column,
    seen: list[Observation],
    index: int,
    episode: Episode,
    actions: ActionSet,
    weights: Record,
    seat: str,
) -> None:
    """Append an episode's answers.

    Each waits for the seat's next observation, the last takes the last of the game.
    """
    name, latest, first = f"{episode.row}#{episode.number} of {episode.task}", None, len(column.turn)
    for number, turn in enumerate(episode.turns):
        if turn.seat == seat:
            if latest is None:
                raise LoquentError(f"turn {number} of the game {name} answers no observation of {seat!r}")
            chosen = actions.index(turn.text, seen[latest].legal)
            column.seen.append(latest)
            column.choice.append(NO_ACTION if chosen is None else chosen)
            per_token = sum(
                weights[term] * sum(values) for term, values in turn.token_rewards.items() if term in weights
            )
            column.reward.append(
                per_token
                + sum(weights[term] * value for term, value in turn.rewards.items() if term in weights)
            )
            column.ended.append(False)
            column.episode.append(index)
            column.turn.append(number)
        elif turn.observation is not None:
            seen.append(turn.observation)
            if turn.to == seat:
                latest = len(seen) - 1
                column.following += [latest] * (len(column.turn) - len(column.following))
        elif turn.to:
            raise LoquentError(
                f"turn {number} of the game {name} has no observation in memory; play.replay(task, "
                "episode) makes them again"
            )
    if len(column.turn) > first:
        column.following += [len(seen) - 1] * (len(column.turn) - len(column.following))
        column.ended[-1] = not episode.bootstraps


def _stack(
    pictures: Sequence[Mapping[str, NDArray[Any]]], seen: Sequence[Observation]
) -> dict[str, NDArray[Any]]:
    shapes = {name: np.shape(array) for name, array in pictures[0].items()}
    for picture, observation in zip(pictures, seen, strict=True):
        found = {name: np.shape(array) for name, array in picture.items()}
        if found != shapes:
            raise LoquentError(
                f"the view makes {found} of the observation {observation.text[:60]!r}, and {shapes} "
                "of the first; one shape is right"
            )
    return {name: np.stack([picture[name] for picture in pictures]) for name in shapes}
