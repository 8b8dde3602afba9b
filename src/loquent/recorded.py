"""Recorded episodes as what a trainer learns from: read and checked once, laid out once, drawn row by row in a keyed order."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from loquent import episode
from loquent.data.filters import shares
from loquent.data.pools import Pool, Sampler
from loquent.data.readers import jsonl
from loquent.episode import Episode
from loquent.errors import BadCheckpoint, BadRow, BadSetting
from loquent.models.actor import Actor
from loquent.models.token_rewards import learner_rewards
from loquent.models.tokens import TokenBatch, cat, token_batch
from loquent.rewards.counting import RAW
from loquent.rewards.learner import Learner
from loquent.seeding import Key
from loquent.settings import Remark
from loquent.task import Row, Task
from loquent.values import EMPTY, Record, frozen

EPISODES, ADDED = "episodes.jsonl", "rows.jsonl"
CHUNK = 2048  # episodes held as objects at one time


@dataclass(frozen=True, eq=False)
class Recording:
    """All recorded episodes as one batch. `digest` is a hash of all that is learned from."""

    batch: TokenBatch
    episodes: int  # read and kept; some may have no row, as their learning seat never answered
    mean_return: float
    digest: str

    def as_json(self) -> dict[str, Any]:
        """What a run's folder keeps of it."""
        counted = {"rows": len(self.batch), "action_tokens": int(self.batch.is_action.sum()), "tokens": int(self.batch.real.sum())}
        left = {"left_out": self.batch.left_out, "dropped_turns": self.batch.dropped, "cut_tokens": self.batch.cut}
        return {"episodes": self.episodes, "mean_return": self.mean_return, **counted, **left, "digest": self.digest}


def record(
    paths: Sequence[str],
    task: Task,
    actor: Actor,
    *,
    terms: Sequence[Any] = (),
    weights: Record,
    learner: Learner | None = None,
    split: str = "train",
    only: Record = EMPTY,
    top: float = 1.0,
    bottom: float = 1.0,
) -> Recording:
    """Read files or folders of episodes, score and lay them out, and keep the best and worst shares asked for.

    Args:
        paths: files of episodes (JSON lines), or folders that hold `episodes.jsonl`. Rows that are not the task's own are looked up in the
            file `rows.jsonl` beside it.
        terms: rewards added to those recorded; those of tokens too, by the format's tokens of what was said.
        learner: the learner's side of the terms, by which it discounts potentials.
        split: the split that all episodes must have been played on.
        only: episodes on rows whose fields have these values count, others do not.
        top, bottom: see `data.filters.shares`.

    Raises:
        BadSetting: there is no such file, or nothing in it to learn from. BadRow: a line is no episode of this task, on this split, on a known row.
    """
    batches, returns, read, unknown = [], [], 0, set[str]()
    for path in paths:
        rows = _Rows(task, split, _file(path).with_name(ADDED))
        found = (one for one in checked(_file(path), task, rows, split) if _has(rows[one.row], only))
        while some := list(islice(found, CHUNK)):
            scored = learner_rewards(terms, some, {one.row: rows[one.row] for one in some}, learner or Learner(terms), actor.format)
            made = token_batch(scored, actor.format, weights, max_length=actor.context, room=actor.room)
            batches.append(replace(made, episode=made.episode + read))
            returns += [one.total(weights) for one in scored]
            unknown |= {name for one in some for turn in one.turns for name in turn.rewards if not name.endswith(RAW)} - set(weights)
            read += len(some)
    if not read:
        raise BadSetting(f"training.data = {', '.join(paths)!r} holds no episode" + (f" on rows with {dict(only)}" if only else ""))
    if unknown:
        said = f"rewards {', '.join(sorted(unknown))} of the recorded episodes have no weight here and count nothing; known: {', '.join(weights)}"
        warnings.warn(said, Remark, stacklevel=2)
    whole = cat(batches, actor.format.pad)
    kept = shares(np.asarray(returns), top=top, bottom=bottom)
    chosen = whole if len(kept) == read else whole.take(torch.isin(whole.episode, torch.from_numpy(kept)))
    if not len(chosen):
        raise BadSetting(f"training.data = {', '.join(paths)!r}: in none of its {len(kept)} episodes did the learning seat answer")
    chosen = chosen.to(torch.promote_types(actor.policy.dtype, torch.float32))
    return Recording(chosen, len(kept), float(np.mean(np.asarray(returns)[kept])), _digest(chosen))


def checked(file: Path, task: Task, rows: Any, split: str) -> Iterator[Episode]:
    """The episodes of a file, each known to be of this task, on this split and on a row that `rows` knows.

    Raises:
        BadRow: one is not; names file and line.
    """
    identity = task.identity
    for line, one in enumerate(episode.read(file), 1):
        if one.task != identity:
            raise BadRow(f"an episode of {one.task}; the recipe's task is {identity}, with the options it was made with", file=file, line=line)
        if one.split != split:
            raise BadRow(f"an episode on the split {one.split!r}; training.split = {split!r} is learned from", file=file, line=line)
        if one.row not in rows:
            where = f"{identity} has no row {one.row!r} in its split {split!r}"
            raise BadRow(f"{where}, and {file.with_name(ADDED)} does not hold it either", file=file, line=line)
        yield one


class Draws:
    """Draws rows of a recording, each once in a pass over it, passes in orders of their own; goes on after a resume where it stopped."""

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
        """Where it stands, and a hash of what it draws from."""
        return {"digest": self.digest, **self._sampler.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on there; BadCheckpoint where the recorded episodes are others than they were."""
        if state["digest"] != self.digest:
            raise BadCheckpoint(f"training.data, its filters or the way it is written: learned from was {state['digest']}, this is {self.digest}")
        self._sampler.load_state_dict(state)


def summary(batch: TokenBatch, draws: Draws) -> dict[str, float]:
    """The `data/` keys of `logged.LOGGED`."""
    return {
        "data/return": float(batch.reward[batch.is_action].double().sum()) / len(batch),
        "data/tokens": float(batch.is_action.sum()) / len(batch),
        "data/passes": draws.passes,
    }


class _Rows:
    """The rows episodes may stand on: a split's, and those of a file beside the episodes."""

    def __init__(self, task: Task, split: str, added: Path) -> None:
        self._rows = {row.id: row for row in task.rows(split)} if split in task.spec.splits else {}
        if added.is_file():
            self._rows |= {row.id: row for row in _added(added)}

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def __getitem__(self, id: str) -> Row:
        return self._rows[id]


def _added(file: Path) -> Iterator[Row]:
    for line, thing in jsonl(file):
        if set(thing) != {"id", "fields"} or not isinstance(thing["id"], str) or not isinstance(thing["fields"], dict):
            raise BadRow('a row is {"id": "...", "fields": {...}}', file=file, line=line)
        yield Row(thing["id"], frozen(thing["fields"]))


def _file(path: str) -> Path:
    """The file of episodes that a path names."""
    given = Path(path)
    file = given / EPISODES if given.is_dir() else given
    if not file.is_file():
        what = f"the folder has no {EPISODES}" if given.is_dir() else "there is no such file or folder"
        raise BadSetting(f"training.data = {path!r}: {what}; `loquent collect` makes one, `loquent convert` makes one of other forms")
    if file.suffix == ".parquet":
        raise BadSetting(f"training.data = {path!r} is no JSON lines; `loquent convert {path} {file.stem}.jsonl` makes it so")
    return file


def _has(row: Row, only: Record) -> bool:
    return all(row.fields.get(name) == value for name, value in only.items())


def _digest(batch: TokenBatch) -> str:
    """A hash of tokens, actions, rewards, ends, and which rows are one episode's."""
    found = hashlib.blake2b(digest_size=16)
    columns: list[Tensor] = [batch.tokens, batch.real, batch.is_action, batch.turn, batch.reward, batch.ended, batch.episode]
    for column in columns:
        found.update(json.dumps(list(column.shape)).encode())
        found.update(column.numpy().tobytes())
    return found.hexdigest()
