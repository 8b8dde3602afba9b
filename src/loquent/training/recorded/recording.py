"""All recorded episodes as one batch: read, checked, scored and filtered once."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from loquent.core.episode import Episode
from loquent.core.settings import Remark
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record
from loquent.data import outcomes
from loquent.data.filters import at_least, shares
from loquent.errors import BadSetting
from loquent.models.actor import Actor
from loquent.models.tokens.batch import TokenBatch, cat, token_batch
from loquent.models.tokens.rewards import learner_rewards
from loquent.rewards.counting import is_reward
from loquent.rewards.learner import Learner
from loquent.training.recipes.sections import TrainingSettings
from loquent.training.recorded import groups, preferences
from loquent.training.recorded.files import episode_file, read_checked, rows_for
from loquent.training.recorded.preferences import EPISODES, JUDGEMENTS, Preferences

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
    incomparable: int = 0  # episodes left out because their row has no other answer to compare with
    left_out_pairs: Record = EMPTY  # of files of preferences, by reason

    @property
    def groups(self) -> list[int]:
        """The numbers of the groups of answers to one row, in the order of their first rows."""
        return [] if self.batch.group is None else list(dict.fromkeys(self.batch.group.tolist()))

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
            **({"incomparable": self.incomparable} if self.incomparable else {}),
            **({"left_out_pairs": dict(self.left_out_pairs)} if self.left_out_pairs else {}),
            "dropped_turns": batch.dropped,
            "segments": batch.segments,
            "cut_tokens": batch.cut,
            "cut_rows": self.cut_rows,
            "digest": self.digest,
        }


def record(
    settings: TrainingSettings,
    task: Task,
    actor: Actor,
    rewards: RunRewards,
    cuts_answers: bool = False,
    least_answers: int | None = None,
) -> Recording:
    """Read the episodes of `training.data`, score them, and keep those that the settings choose.

    Args:
        cuts_answers: as in `token_batch`.
        least_answers: keep only the answers to rows with so many answers at least, of which two have
            different returns if it is above 1; None for a learner that does not compare answers.

    Raises:
        BadSetting: there is no such file, or it has no episode to learn from, or none is kept.
        BadRow: a line is not an episode of this task, on this split, on a known row.
    """
    episodes = _Episodes(task, actor, rewards, cuts_answers)
    judged = Preferences(task, settings)
    episodes.read_all(settings, judged)
    paths = ", ".join(settings.data)
    if remark := judged.remark():
        warnings.warn(remark, Remark, stacklevel=2)
    if episodes.unjudged and not episodes.returns:
        what = f"training.data = {paths!r}: none of the {episodes.unjudged} episodes could be judged"
        raise BadSetting(f"{what}; check the judge, or score the episodes by another reward")
    if not episodes.returns:
        only = f" on rows with {dict(settings.only)}" if settings.only else ""
        why = f" ({remark})" if remark else ""
        raise BadSetting(
            f"training.data = {paths!r} has no episode{only}{why}; name files with such episodes"
        )
    if unknown := sorted(episodes.rewarded - set(rewards.weights)):
        what = f"the rewards {', '.join(unknown)} of the recorded episodes are ignored: they have no weight"
        warnings.warn(f"{what}; rewards with a weight: {', '.join(rewards.weights)}", Remark, stacklevel=2)
    returns = np.asarray(episodes.returns)
    cutoff = settings.data_cutoff
    kept = np.arange(len(returns)) if cutoff is None else at_least(returns, cutoff)
    chosen = kept[shares(returns[kept], top=settings.data_top, bottom=settings.data_bottom)]
    compared = len(chosen)
    if least_answers is not None and least_answers > 1:
        chosen = groups.comparable(episodes.groups, returns, chosen, least_answers, paths)
    batch = cat(episodes.batches, actor.format.pad)
    cut_rows = batch.cut_rows / max(1, len(batch))
    if len(chosen) < len(returns):
        batch = batch.take(torch.isin(batch.episode, torch.from_numpy(chosen)))
    if not len(batch):
        what = f"training.data = {paths!r}: the learning seat answers in none of the {len(chosen)} episodes"
        raise BadSetting(f"{what}; name files with episodes in which it answers")
    batch = batch.to(torch.promote_types(actor.policy.dtype, torch.float32))
    mean = float(np.mean(returns[chosen]))
    return Recording(
        batch,
        len(chosen),
        mean,
        digest_of(batch, grouped=least_answers is not None),
        cut_rows,
        episodes.unjudged,
        compared - len(chosen),
        Record({reason: count for reason, count in judged.left_out.items() if count}),
    )


@dataclass
class _Episodes:
    """Episodes as batches, with the return and the group of each episode, and the names of all rewards.

    A group is the row of an episode, or the record of a file of preferences.
    """

    task: Task
    actor: Actor
    rewards: RunRewards
    cuts_answers: bool = False
    batches: list[TokenBatch] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    group_numbers: dict[Hashable, int] = field(default_factory=dict)
    rewarded: set[str] = field(default_factory=set)
    unjudged: int = 0

    def read_all(self, settings: TrainingSettings, judged: Preferences) -> None:
        """Add the episodes of all paths in their order; judgements of several paths are counted together."""
        kinds = {path: preferences.kind_of(path) for path in settings.data}
        judgements = [path for path, kind in kinds.items() if kind == JUDGEMENTS]
        for path, kind in kinds.items():
            if kind == EPISODES:
                self.read(episode_file(path), settings)
            elif kind != JUDGEMENTS or path == judgements[0]:
                records = judged.read_judgements(judgements) if kind == JUDGEMENTS else judged.read(path)
                self._add_preferences(path, records)

    def _add_preferences(self, path: str, records: Iterator[list[tuple[Episode, ...]]]) -> None:
        weights, number = Record({preferences.REWARD: 1.0}), 0
        for chunk in records:
            of_record = list(enumerate(chunk, number))
            number += len(chunk)
            answers = [(one, (path, record)) for record, episodes in of_record for one in episodes]
            self._add([one for one, _ in answers], [group for _, group in answers], weights)

    def _add(self, episodes: Sequence[Episode], groups: Sequence[Hashable], weights: Record) -> None:
        """Add the batch of some episodes, each of which is in a group."""
        if not episodes:
            return
        actor = self.actor
        batch = token_batch(
            episodes,
            actor.format,
            weights,
            max_length=actor.context,
            room=actor.room,
            side=actor.truncation_side,
            cuts_answers=self.cuts_answers,
        )
        numbers = [self.group_numbers.setdefault(group, len(self.group_numbers)) for group in groups]
        group = torch.tensor(numbers, dtype=torch.int64)[batch.episode]
        self.batches.append(replace(batch, episode=batch.episode + len(self.returns), group=group))
        self.returns += [episode.total(weights) for episode in episodes]
        self.groups += numbers

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
            self._add(scored, [episode.row for episode in scored], rewards.weights)
            turns = [turn for episode in chunk for turn in episode.turns]
            self.rewarded |= {
                name for turn in turns for name in turn.rewards if is_reward(name, turn.rewards)
            }


def _has(row: Row, only: Record) -> bool:
    return all(row.fields.get(name) == value for name, value in only.items())


def digest_of(batch: TokenBatch, grouped: bool = False) -> str:
    """A digest of tokens, actions, rewards, ends, and of the assignment of rows to episodes.

    `grouped`: also of the assignment to groups.
    """
    digest = hashlib.blake2b(digest_size=16)
    columns: list[Tensor] = [
        batch.tokens,
        batch.real,
        batch.is_action,
        batch.turn,
        batch.reward,
        batch.ended,
        batch.episode,
        *((batch.group,) if grouped and batch.group is not None else ()),
    ]
    for column in columns:
        digest.update(json.dumps(list(column.shape)).encode())
        digest.update(column.numpy().tobytes())
    return digest.hexdigest()
