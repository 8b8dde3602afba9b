"""Outcomes of episodes: success, returns and endings, one number per episode and key.

Evaluations and rollouts share them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from loquent.core.episode import Episode
from loquent.core.task import CUT, OUT_OF_TURNS, TaskSpec
from loquent.core.values import Record
from loquent.statistics import clusters

SUCCESS, ENDED, REWARD, PRESENT = "success", "ended/", "reward/", "reward_where_present/"
UNJUDGED = "unjudged/"  # the prefix of the number of episodes that could not be judged
SCORED = "scored/"  # the prefix of the share of episodes that have a score
RANKING = "ranking/"  # the prefix of the share of pairs of answers that are ranked rightly
RUNNING = "not ended"


def columns(episodes: Sequence[Episode], spec: TaskSpec, weights: Record) -> dict[str, list[float]]:
    """The outcomes by key: one number per episode, in their order.

    A column `reward_where_present/NAME` is shorter, and so are those of returns and rewards if an episode has
    rewards that could not be judged (`Episode.unjudged`).

    Keys, in this order:
        success: 1 where the episode's ending is in `spec.success`, else 0; absent where `spec.success` is
            empty.
        return: the weighted sum of the rewards, of the episodes whose rewards were all judged.
        reward/NAME: the unweighted sum of one reward over the episode's turns; 0 for an episode without this
            reward; the episodes are those whose reward was judged.
        reward_where_present/NAME: the same, for the episodes with this reward alone; absent where all or none
            have it.
        answers: the number of turns of the learning seat.
        ended/NAME: 1 where the episode has this ending, else 0; for the names that `endings` gives.
    """
    table: dict[str, list[float]] = {}
    if spec.success:
        table[SUCCESS] = [float(episode.ended in spec.success) for episode in episodes]
    table["return"] = [episode.total(weights) for episode in episodes if not episode.unjudged]
    earned = [episode.rewards for episode in episodes]
    names = dict.fromkeys((*spec.rewards, *weights, *(name for rewards in earned for name in rewards)))
    pairs = list(zip(episodes, earned, strict=True))
    known = {name: [rewards for own, rewards in pairs if not _is_unknown(own, name)] for name in names}
    table |= {REWARD + name: [rewards.get(name, 0.0) for rewards in known[name]] for name in names}
    present = {name: [rewards[name] for rewards in known[name] if name in rewards] for name in names}
    table |= {PRESENT + name: column for name, column in present.items() if 0 < len(column) < len(episodes)}
    table["answers"] = [float(len(episode.answers())) for episode in episodes]
    ends = [RUNNING if episode.ended is None else episode.ended for episode in episodes]
    return table | {ENDED + name: [float(end == name) for end in ends] for name in endings(spec, ends)}


def is_share(key: str) -> bool:
    """Whether the value under a key is a share: of episodes, or of ranked pairs."""
    return key == SUCCESS or key.startswith((f"{SUCCESS}/", ENDED, SCORED, RANKING))


def rows(episodes: Sequence[Episode], key: str) -> list[str]:
    """The row of each episode that has a number in the column under a key."""
    return [episode.row for episode in episodes if _has_number(episode, key)]


def by_episode(column: Sequence[float], episodes: Sequence[Episode], key: str) -> list[float | None]:
    """The column under a key with one item per episode: None for an episode without a number."""
    numbers = iter(column)
    return [next(numbers) if _has_number(episode, key) else None for episode in episodes]


def _has_number(episode: Episode, key: str) -> bool:
    if key.startswith(PRESENT):
        name = key.removeprefix(PRESENT)
        return not _is_unknown(episode, name) and name in episode.rewards
    if key == "return":
        return not episode.unjudged
    return not key.startswith(REWARD) or not _is_unknown(episode, key.removeprefix(REWARD))


def count_unjudged(episodes: Sequence[Episode], names: Iterable[str]) -> dict[str, float]:
    """The number of episodes that could not be judged, by `unjudged/NAME` for each of the rewards."""
    return {UNJUDGED + name: float(sum(name in episode.unjudged for episode in episodes)) for name in names}


def learnable(episodes: Sequence[Episode], weights: Record, least: int = 1) -> list[Episode]:
    """The episodes to learn from: those whose rewards with a weight were all judged.

    Args:
        least: the least number of such episodes on a row; those of a row with fewer are left out too.
    """
    judged = [
        episode
        for episode in episodes
        if not has_failed(episode) and not any(weights.get(name) for name in episode.unjudged)
    ]
    counts = Counter(episode.row for episode in judged)
    return [episode for episode in judged if counts[episode.row] >= least]


def has_failed(episode: Episode) -> bool:
    """Whether an episode ended by a failure (`TaskSpec.failures`), so that none of its scores is known."""
    return episode.ended in episode.unjudged


def _is_unknown(episode: Episode, name: str) -> bool:
    return name in episode.unjudged or has_failed(episode)


def mean_and_error(column: Sequence[float], rows: Sequence[str]) -> tuple[float, float]:
    """The mean of a column with its standard error, clustered by row (`clustered.mean_and_error`).

    The error is nan on a single row, and where all numbers are equal: they do not show how far they vary. An
    empty column has neither.
    """
    if not column:
        return math.nan, math.nan
    mean, error = clusters.mean_and_error(column, rows)
    return mean, math.nan if len(set(column)) == 1 else error


def endings(spec: TaskSpec, occurred: Iterable[str] = ()) -> list[str]:
    """The names of endings, each once: those that the spec allows, then the others that occurred, sorted."""
    limit = () if spec.turn_limit is None else (OUT_OF_TURNS,)
    cut = (CUT,) if spec.horizon == "cut" else ()
    return list(dict.fromkeys((*spec.success, *limit, *cut, *sorted(set(occurred)))))
