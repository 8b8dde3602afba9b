"""What is logged of one collection of episodes: returns, rewards raw and weighted, lengths, repetition and diversity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from loquent.episode import Episode
from loquent.metrics.diversity import ngrams
from loquent.metrics.text import words
from loquent.models.tokens import TokenBatch
from loquent.values import Record


def summary(episodes: Sequence[Episode], batch: TokenBatch, weights: Record) -> dict[str, float]:
    """The `rollout/` keys of `logged.LOGGED`, as means over all the episodes of an update; nan where there is nothing to measure."""
    return {
        "rollout/return": float(np.mean([episode.total(weights) for episode in episodes])),
        **_rewards(episodes, weights),
        "rollout/tokens": float(batch.is_action.sum()) / len(episodes),
        "rollout/cut": float(np.mean([one.bootstraps for one in episodes])),
        "rollout/dropped_turns": float(batch.dropped),
        "rollout/cut_tokens": float(batch.cut),
        **drift([turn.text for one in episodes for turn in one.answers()]),
    }


def turns(episodes: Sequence[Episode], weights: Record) -> dict[str, float]:
    """The same of games whose answers are actions, not texts: returns, rewards, and how many answers a game has."""
    if not episodes:
        return {"rollout/return": math.nan, "rollout/turns": math.nan}
    return {
        "rollout/return": float(np.mean([episode.total(weights) for episode in episodes])),
        **_rewards(episodes, weights),
        "rollout/turns": float(np.mean([len(one.answers()) for one in episodes])),
    }


def drift(texts: Sequence[str]) -> dict[str, float]:
    """Length, repetition and diversity of answers: what a policy that games its reward gives up first."""
    said = [words(text) for text in texts]
    repeated = [1 - len(set(grams)) / len(grams) for grams in (list(ngrams(one, 3)) for one in said) if grams]
    pairs = list(chain.from_iterable(ngrams(one, 2) for one in said))
    return {
        "rollout/words": float(np.mean([len(one) for one in said])) if said else math.nan,
        "rollout/repetition": float(np.mean(repeated)) if repeated else math.nan,
        "rollout/distinct_2": len(set(pairs)) / len(pairs) if pairs else math.nan,
    }


def _rewards(episodes: Sequence[Episode], weights: Record) -> dict[str, float]:
    """Each named reward: its raw mean where it applies, and its part of the mean return; those parts add up to it."""
    columns: dict[str, list[float]] = {}
    for one in episodes:
        for name, value in one.rewards.items():
            columns.setdefault(name, []).append(value)
    logs = {f"rollout/reward/{name}": float(np.mean(column)) for name, column in columns.items()}
    parts = {name: weights[name] * math.fsum(column) / len(episodes) for name, column in columns.items() if name in weights}
    return logs | {f"rollout/weighted/{name}": value for name, value in parts.items()}
