"""What is logged of one collection of episodes: returns, rewards raw and weighted, lengths, repetition and
diversity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from loquent.core import logged
from loquent.core.episode import Episode
from loquent.core.task import TaskSpec
from loquent.core.values import Record
from loquent.data import outcomes
from loquent.metrics.diversity.diversity import ngrams
from loquent.metrics.text import words
from loquent.models.tokens.batch import TokenBatch


def summary(
    episodes: Sequence[Episode], batch: TokenBatch, weights: Record, spec: TaskSpec
) -> dict[str, float]:
    """The `rollout/` keys of `logged.LOGGED`, as means over all the episodes of an update.

    Nan where there is nothing to measure.
    """
    found = _outcomes(episodes, weights, spec)
    del found["rollout/answers"]  # tokens are counted here, and answers only where they are actions
    return {
        **found,
        "rollout/tokens": float(batch.is_action.sum()) / len(episodes),
        "rollout/dropped_turns": float(batch.dropped),
        "rollout/cut_tokens": float(batch.cut),
        **drift([turn.text for one in episodes for turn in one.answers()]),
    }


def turns(episodes: Sequence[Episode], weights: Record, spec: TaskSpec) -> dict[str, float]:
    """The same of games whose answers are actions, not texts: returns, rewards, and how many answers a game
    has.
    """
    if not episodes:
        return {"rollout/return": math.nan, "rollout/turns": math.nan}
    found = _outcomes(episodes, weights, spec)
    found["rollout/turns"] = found.pop("rollout/answers")
    return found


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


def _outcomes(episodes: Sequence[Episode], weights: Record, spec: TaskSpec) -> dict[str, float]:
    """How the episodes ended and what they earned, as means; and each reward's part of the mean return: those
    parts add up to it.
    """
    columns = outcomes.columns(episodes, spec, weights)
    logs = {f"rollout/{name}": float(np.mean(column)) for name, column in columns.items()}
    if len(episodes) > 1 and outcomes.SUCCESS in columns:
        logs[f"rollout/{logged.SUCCESS_ERROR}"] = outcomes.share_error(
            logs[f"rollout/{outcomes.SUCCESS}"], len(episodes)
        )
    return logs | {
        f"rollout/weighted/{name}": weight * logs[f"rollout/reward/{name}"]
        for name, weight in weights.items()
    }
