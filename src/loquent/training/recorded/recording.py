"""All recorded episodes as one batch: read, checked, scored and filtered once."""

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

from loquent.core.settings import Remark
from loquent.core.task import Row, Task
from loquent.core.values import Record
from loquent.data import outcomes
from loquent.data.filters import at_least, shares
from loquent.errors import BadSetting
from loquent.models.actor import Actor
from loquent.models.tokens.batch import TokenBatch, cat, token_batch
from loquent.models.tokens.rewards import learner_rewards
from loquent.rewards.counting import is_reward
from loquent.rewards.learner import Learner
from loquent.training.recipes.sections import TrainingSettings
from loquent.training.recorded.files import episode_file, read_checked, rows_for

CHUNK = 2048  # episodes that are objects in memory at the same time


@dataclass(frozen=True)
class RunRewards:
    """The rewards of a run: terms, weights by name, and the learner, which shapes the rewards of terms."""

    terms: tuple[Any, ...]
    weights: Record
    learner: Learner


@dataclass(frozen=True, eq=False)
class Recording:
    """All recorded episodes as one batch; `digest` is a digest of everything that the learner reads."""

    batch: TokenBatch
    episodes: int  # after filtering; an episode in which the learning seat never answered has no row
    mean_return: float
    digest: str
    cut_rows: float  # the share of all rows, before filtering, that lost turns or tokens for length
    unjudged: int = 0  # episodes left out because a reward could not be judged

    def as_json(self) -> dict[str, Any]:
        """The content of `data.json` in the run's folder."""
        batch = self.batch
        return {
            "episodes": self.episodes,
            "mean_return": self.mean_return,
            "rows": len(batch),
            "action_tokens": int(batch.is_action.sum()),
            "tokens": int(batch.real.sum()),
            "left_out": batch.left_out,
            **({"unjudged": self.unjudged} if self.unjudged else {}),
            "dropped_turns": batch.dropped,
            "segments": batch.segments,
            "cut_tokens": batch.cut,
            "cut_rows": self.cut_rows,
            "digest": self.digest,
        }


def record(
    settings: TrainingSettings, task: Task, actor: Actor, rewards: RunRewards, cuts_answers: bool = False
) -> Recording:
    """Read the episodes of `training.data`, score them, and keep those that the settings choose.

    `cuts_answers`: as in `token_batch`.

    Raises:
        BadSetting: there is no such file, or it has no episode to learn from, or none is kept.
        BadRow: a line is not an episode of this task, on this split, on a known row.
    """
    episodes = _Episodes(task, actor, rewards, cuts_answers)
    for path in settings.data:
        episodes.read(episode_file(path), settings)
    paths = ", ".join(settings.data)
    if episodes.unjudged and not episodes.returns:
        what = f"training.data = {paths!r}: none of the {episodes.unjudged} episodes could be judged"
        raise BadSetting(f"{what}; check the judge, or score the episodes by another reward")
    if not episodes.returns:
        only = f" on rows with {dict(settings.only)}" if settings.only else ""
        raise BadSetting(f"training.data = {paths!r} has no episode{only}; name files with such episodes")
    if unknown := sorted(episodes.rewarded - set(rewards.weights)):
        what = f"the rewards {', '.join(unknown)} of the recorded episodes are ignored: they have no weight"
        warnings.warn(f"{what}; rewards with a weight: {', '.join(rewards.weights)}", Remark, stacklevel=2)
    returns = np.asarray(episodes.returns)
    cutoff = settings.data_cutoff
    kept = np.arange(len(returns)) if cutoff is None else at_least(returns, cutoff)
    chosen = kept[shares(returns[kept], top=settings.data_top, bottom=settings.data_bottom)]
    batch = cat(episodes.batches, actor.format.pad)
    cut_rows = batch.cut_rows / max(1, len(batch))
    if len(chosen) < len(returns):
        batch = batch.take(torch.isin(batch.episode, torch.from_numpy(chosen)))
    if not len(batch):
        what = f"training.data = {paths!r}: the learning seat answers in none of the {len(chosen)} episodes"
        raise BadSetting(f"{what}; name files with episodes in which it answers")
    batch = batch.to(torch.promote_types(actor.policy.dtype, torch.float32))
    mean = float(np.mean(returns[chosen]))
    return Recording(batch, len(chosen), mean, digest_of(batch), cut_rows, episodes.unjudged)


@dataclass
class _Episodes:
    """Episodes as batches, with the return of each episode and the names of all rewards."""

    task: Task
    actor: Actor
    rewards: RunRewards
    cuts_answers: bool = False
    batches: list[TokenBatch] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    rewarded: set[str] = field(default_factory=set)
    unjudged: int = 0

    def read(self, file: Path, settings: TrainingSettings) -> None:
        """Add the episodes of a file."""
        actor, rewards = self.actor, self.rewards
        rows = rows_for(file, self.task, settings.split)
        checked = read_checked(file, self.task, rows, settings.split)
        chosen = (episode for episode in checked if _has(rows[episode.row], settings.only))
        while chunk := list(islice(chosen, CHUNK)):
            by_id = {episode.row: rows[episode.row] for episode in chunk}
            found = learner_rewards(rewards.terms, chunk, by_id, rewards.learner, actor.format)
            scored = outcomes.learnable(found, rewards.weights)
            self.unjudged += len(found) - len(scored)
            if not scored:
                continue
            batch = token_batch(
                scored,
                actor.format,
                rewards.weights,
                max_length=actor.context,
                room=actor.room,
                side=actor.truncation_side,
                cuts_answers=self.cuts_answers,
            )
            self.batches.append(replace(batch, episode=batch.episode + len(self.returns)))
            self.returns += [episode.total(rewards.weights) for episode in scored]
            turns = [turn for episode in chunk for turn in episode.turns]
            self.rewarded |= {
                name for turn in turns for name in turn.rewards if is_reward(name, turn.rewards)
            }


def _has(row: Row, only: Record) -> bool:
    return all(row.fields.get(name) == value for name, value in only.items())


def digest_of(batch: TokenBatch) -> str:
    """A digest of tokens, actions, rewards, ends, and of the assignment of rows to episodes."""
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
