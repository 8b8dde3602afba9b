"""Recorded episodes to learn from: read and checked once, laid out once, drawn row by row in a keyed
order.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Row, Task
from loquent.core.values import Record
from loquent.data.filters import shares
from loquent.data.pools import Pool, Sampler
from loquent.errors import BadCheckpoint, BadSetting
from loquent.files import saved_state
from loquent.models.actor import Actor
from loquent.models.tokens.batch import TokenBatch, cat, token_batch
from loquent.models.tokens.rewards import learner_rewards
from loquent.recipes.sections import TrainingSettings
from loquent.rewards.counting import RAW
from loquent.rewards.learner import Learner
from loquent.training.recorded_files import episode_file, read_checked, rows_for

CHUNK = 2048  # episodes held as objects at one time


@dataclass(frozen=True)
class RunRewards:
    """The rewards of a run: terms, their weights by name, and the learner's side of the terms."""

    terms: tuple[Any, ...]
    weights: Record
    learner: Learner


@dataclass(frozen=True, eq=False)
class Recording:
    """All recorded episodes as one batch. `digest` is a digest of all that is learned from."""

    batch: TokenBatch
    episodes: int  # read and kept; an episode whose learning seat never answered has no row
    mean_return: float
    digest: str

    def as_json(self) -> dict[str, Any]:
        """What a run's folder keeps of it."""
        batch = self.batch
        return {
            "episodes": self.episodes,
            "mean_return": self.mean_return,
            "rows": len(batch),
            "action_tokens": int(batch.is_action.sum()),
            "tokens": int(batch.real.sum()),
            "left_out": batch.left_out,
            "dropped_turns": batch.dropped,
            "cut_tokens": batch.cut,
            "digest": self.digest,
        }


def record(settings: TrainingSettings, task: Task, actor: Actor, rewards: RunRewards) -> Recording:
    """Read the episodes of `training.data`, score and lay them out, and keep the best and worst shares asked
    for.

    Raises:
        BadSetting: there is no such file, or nothing in it to learn from.
        BadRow: a line is no episode of this task, on this split, on a known row.
    """
    episodes = _Episodes(task, actor, rewards)
    for path in settings.data:
        episodes.read(episode_file(path), settings)
    paths = ", ".join(settings.data)
    if not episodes.returns:
        only = f" on rows with {dict(settings.only)}" if settings.only else ""
        raise BadSetting(f"training.data = {paths!r} holds no episode{only}")
    if unknown := sorted(episodes.rewarded - set(rewards.weights)):
        what = f"rewards {', '.join(unknown)} of the recorded episodes have no weight here and count nothing"
        warnings.warn(f"{what}; known: {', '.join(rewards.weights)}", Remark, stacklevel=2)
    returns = np.asarray(episodes.returns)
    kept = shares(returns, top=settings.data_top, bottom=settings.data_bottom)
    batch = cat(episodes.batches, actor.format.pad)
    if len(kept) < len(returns):
        batch = batch.take(torch.isin(batch.episode, torch.from_numpy(kept)))
    if not len(batch):
        raise BadSetting(
            f"training.data = {paths!r}: in none of its {len(kept)} episodes did the learning seat answer"
        )
    batch = batch.to(torch.promote_types(actor.policy.dtype, torch.float32))
    return Recording(batch, len(kept), float(np.mean(returns[kept])), _digest(batch))


@dataclass
class _Episodes:
    """Episodes as batches, with the return of each episode and the names of all rewards."""

    task: Task
    actor: Actor
    rewards: RunRewards
    batches: list[TokenBatch] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    rewarded: set[str] = field(default_factory=set)

    def read(self, file: Path, settings: TrainingSettings) -> None:
        """Add the episodes of a file."""
        actor, rewards = self.actor, self.rewards
        rows = rows_for(file, self.task, settings.split)
        checked = read_checked(file, self.task, rows, settings.split)
        chosen = (episode for episode in checked if _has(rows[episode.row], settings.only))
        while chunk := list(islice(chosen, CHUNK)):
            known = {episode.row: rows[episode.row] for episode in chunk}
            scored = learner_rewards(rewards.terms, chunk, known, rewards.learner, actor.format)
            batch = token_batch(
                scored, actor.format, rewards.weights, max_length=actor.context, room=actor.room
            )
            self.batches.append(replace(batch, episode=batch.episode + len(self.returns)))
            self.returns += [episode.total(rewards.weights) for episode in scored]
            turns = [turn for episode in chunk for turn in episode.turns]
            self.rewarded |= {name for turn in turns for name in turn.rewards if not name.endswith(RAW)}


def _has(row: Row, only: Record) -> bool:
    return all(row.fields.get(name) == value for name, value in only.items())


class Draws:
    """Draws rows of a recording: each row once in a pass, each pass in its own order.

    A resumed run goes on in its pass.
    """

    def __init__(self, batch: TokenBatch, digest: str, key: Key) -> None:
        self.batch, self.digest = batch, digest
        self._sampler = Sampler(Pool(tuple(Row(str(i)) for i in range(len(batch)))), key)

    def draw(self, rows: int) -> TokenBatch:
        """The next rows."""
        return self.batch.take([int(row.id) for row in self._sampler.draw(rows)])

    @property
    def passes(self) -> float:
        """How often the whole recording has been drawn."""
        return self._sampler.epoch + self._sampler.place / self._sampler.size

    def state_dict(self) -> dict[str, Any]:
        """The position, and a digest of the recording."""
        return {"digest": self.digest, **self._sampler.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back the position; BadCheckpoint where the recorded episodes have changed."""
        if (known := saved_state.field(state, "digest")) != self.digest:
            what = "training.data, its filters or the way it is written"
            raise BadCheckpoint(f"{what}: learned from was {known}, this is {self.digest}")
        self._sampler.load_state_dict(state)


def summary(batch: TokenBatch, draws: Draws) -> dict[str, float]:
    """The `data/` keys of `logged.LOGGED`."""
    return {
        "data/return": float(batch.reward[batch.is_action].double().sum()) / len(batch),
        "data/tokens": float(batch.is_action.sum()) / len(batch),
        "data/passes": draws.passes,
    }


def _digest(batch: TokenBatch) -> str:
    """A digest of tokens, actions, rewards, ends, and of which rows are of one episode."""
    digest = hashlib.blake2b(digest_size=16)
    columns: list[Tensor] = [
        batch.tokens,
        batch.real,
        batch.is_action,
        batch.turn,
        batch.reward,
        batch.ended,
        batch.episode,
    ]
    for column in columns:
        digest.update(json.dumps(list(column.shape)).encode())
        digest.update(column.numpy().tobytes())
    return digest.hexdigest()
