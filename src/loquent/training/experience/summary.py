"""The values that are logged of the episodes of one update.

These are returns, rewards (raw and weighted), lengths, repetition and diversity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from loquent.core import log_keys
from loquent.core.episode import Episode
from loquent.core.task import TaskSpec
from loquent.core.values import Record
from loquent.data import outcomes
from loquent.metrics.diversity.diversity import ngrams
from loquent.metrics.text import words
from loquent.models.tokens.batch import TokenBatch


def tokens(
    episodes: Sequence[Episode], batch: TokenBatch, weights: Record, spec: TaskSpec, *, answers: int = 1
) -> dict[str, float]:
    """The values under the `rollout/` keys of `logged.LOGGED`: means over all episodes of an update.

    A value is nan if there is nothing to measure. `answers` is the setting: the episodes of one drawn row.
    """
    means = _outcomes(episodes, weights, spec)
    del means["rollout/answers"]  # tokens are counted instead; answers are counted where they are actions
    return {
        **means,
        "rollout/tokens": float(batch.is_action.sum()) / len(episodes),
        "rollout/dropped_turns": float(batch.dropped),
        "rollout/segments": float(batch.segments),
        "rollout/cut_tokens": float(batch.cut),
        "rollout/cut_prompts": batch.cut_rows / max(1, len(batch)),
        **(within_rows(episodes, weights) if answers > 1 else {}),
        **drift([turn.text for episode in episodes for turn in episode.answers()]),
    }


def within_rows(episodes: Sequence[Episode], weights: Record) -> dict[str, float]:
    """How the returns of the episodes on one row differ, as means over the rows."""
    by_row: dict[str, list[float]] = {}
    for episode in episodes:
        by_row.setdefault(episode.row, []).append(episode.total(weights))
    several = [returns for returns in by_row.values() if len(returns) > 1]
    if not several:
        return {}
    return {
        "rollout/rows/best_return": float(np.mean([max(returns) for returns in several])),
        "rollout/rows/deviation": float(np.mean([np.std(returns, ddof=1) for returns in several])),
        "rollout/rows/equal": float(np.mean([max(returns) == min(returns) for returns in several])),
    }


def turns(episodes: Sequence[Episode], weights: Record, spec: TaskSpec) -> dict[str, float]:
    """The values of episodes whose answers are actions, not texts.

    These are returns, rewards, and the number of answers of an episode.
    """
    if not episodes:
        return {"rollout/return": math.nan, "rollout/turns": math.nan}
    means = _outcomes(episodes, weights, spec)
    means["rollout/turns"] = means.pop("rollout/answers")
    return means | _forced(episodes, spec)


def _forced(episodes: Sequence[Episode], spec: TaskSpec) -> dict[str, float]:
    """The share of episodes with a forced stop, and of successes without one (accuracy_nosf of lilGym)."""
    forced = [any(turn.stopped == "forced" for turn in episode.answers()) for episode in episodes]
    if not any(forced):
        return {}
    own = [episode.ended in spec.success and not each for episode, each in zip(episodes, forced, strict=True)]
    return {"rollout/success_unforced": float(np.mean(own)), "rollout/forced": float(np.mean(forced))}


def drift(texts: Sequence[str]) -> dict[str, float]:
    """Length, repetition and diversity of answers, which change first when a policy exploits its reward."""
    answers = [words(text) for text in texts]
    triples = [list(ngrams(answer, 3)) for answer in answers]
    repeated = [1 - len(set(grams)) / len(grams) for grams in triples if grams]
    pairs = list(chain.from_iterable(ngrams(answer, 2) for answer in answers))
    return {
        "rollout/words": float(np.mean([len(answer) for answer in answers])) if answers else math.nan,
        "rollout/repetition": float(np.mean(repeated)) if repeated else math.nan,
        "rollout/distinct_2": len(set(pairs)) / len(pairs) if pairs else math.nan,
    }


def _outcomes(episodes: Sequence[Episode], weights: Record, spec: TaskSpec) -> dict[str, float]:
    """The means of `data.outcomes`, and the weighted mean of each reward.

    The weighted means add up to the mean return. The error of the success is clustered by row; episodes on a
    single row, and episodes that all agree, have none.
    """
    columns = outcomes.columns(episodes, spec, weights)
    logs = {f"rollout/{name}": float(np.mean(column)) for name, column in columns.items()}
    if outcomes.SUCCESS in columns:
        rows = outcomes.rows(episodes, outcomes.SUCCESS)
        _, error = outcomes.mean_and_error(columns[outcomes.SUCCESS], rows)
        if not math.isnan(error):
            logs[f"rollout/{log_keys.SUCCESS_ERROR}"] = error
    return logs | {
        f"rollout/weighted/{name}": weight * logs[f"rollout/reward/{name}"]
        for name, weight in weights.items()
    }
