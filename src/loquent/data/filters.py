"""Filters that select episodes for training: by share of the returns, by least return, or by kind."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.core.episode import Episode
from loquent.core.values import Record
from loquent.data import outcomes
from loquent.errors import BadSetting

ROUNDING = 1e-9  # 0.29 * 100 is a little less than 29


def best(scores: Sequence[float] | NDArray[np.floating], share: float) -> NDArray[np.int64]:
    """i64[int(n * share)]: the indices of the best scores, ascending.

    Among equal scores the later ones count as better (stable sort). This is the percentile filter of
    2206.11871 ("%BC"). A share too small for one episode keeps none; the paper's code keeps all.
    """
    order = _order(scores)
    return np.sort(order[len(order) - _count(len(order), share) :])


def worst(scores: Sequence[float] | NDArray[np.floating], share: float) -> NDArray[np.int64]:
    """i64[int(n * share)]: the indices of the worst scores, ascending.

    Among equal scores the earlier ones count as worse.
    """
    order = _order(scores)
    return np.sort(order[: _count(len(order), share)])


def shares(
    returns: Sequence[float] | NDArray[np.floating], *, top: float = 1.0, bottom: float = 1.0
) -> NDArray[np.int64]:
    """The indices of the selected episodes, ascending.

    The share `bottom` of lowest return is selected first, then the share `top` of highest return among these.

    Raises:
        BadSetting: a step selects nothing (the message names the step), a share is outside (0, 1], or a
            return is not finite.
    """
    values = np.asarray(returns, dtype=np.float64)
    indices = np.arange(len(values))
    for name, choose, share in (("bottom", worst, bottom), ("top", best, top)):
        chosen = indices[choose(values[indices], share)]
        if not len(chosen):
            remedy = f"; use at least {1 / len(indices):.3g} to keep one" if len(indices) else ""
            raise BadSetting(f"{name} = {share:g} of {len(indices)} episodes keeps none{remedy}")
        indices = chosen
    return indices


def at_least(returns: Sequence[float] | NDArray[np.floating], cutoff: float) -> NDArray[np.int64]:
    """The indices of the episodes whose return is at least `cutoff`, ascending.

    This is the filter of 2206.11871 for comments; the paper's code draws forever where none qualifies.

    Raises:
        BadSetting: no return is at least `cutoff`, or a return is not finite.
    """
    values = _finite(returns)
    chosen = np.flatnonzero(values >= cutoff)
    if not len(chosen):
        highest = f"; the highest is {values.max():g}" if len(values) else ""
        raise BadSetting(
            f"none of {len(values)} episodes has a return of at least {cutoff:g}{highest}; lower the cutoff"
        )
    return chosen


def filter_episodes(
    episodes: Sequence[Episode],
    weights: Record,
    *,
    top: float = 1.0,
    bottom: float = 1.0,
    kinds: Collection[str] = (),
) -> list[Episode]:
    """The episodes in their order, filtered by kind, then by worst share, then by best share of the returns.

    A share is of the episodes whose rewards were all judged.

    Args:
        weights: reward weights by name, for the returns; unused where both shares are 1.
        kinds: values of `meta.kind`; empty selects every kind.

    Raises:
        BadSetting: no episode is of these kinds; or as `shares`.
    """
    chosen = [episode for episode in episodes if not kinds or episode.meta.get("kind", "") in kinds]
    if not chosen:
        present = sorted({repr(episode.meta.get("kind", "")) for episode in episodes})
        raise BadSetting(
            f"none of {len(episodes)} episodes is of kind {', '.join(kinds) or 'any'}; the dataset "
            f"has the kinds: {', '.join(present) or 'none'}"
        )
    if top == bottom == 1.0:
        return chosen
    judged = outcomes.learnable(chosen, weights)
    return [judged[i] for i in shares([episode.total(weights) for episode in judged], top=top, bottom=bottom)]


def _order(scores: Sequence[float] | NDArray[np.floating]) -> NDArray[np.int64]:
    return np.argsort(_finite(scores), kind="stable")


def _finite(scores: Sequence[float] | NDArray[np.floating]) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        raise BadSetting(
            f"the return of episode {int(np.flatnonzero(~finite)[0])} is {values[~finite][0]}; a "
            "return must be a finite number"
        )
    return values


def _count(n: int, share: float) -> int:
    if not 0 < share <= 1:
        raise BadSetting(f"the share of episodes is {share!r}; it must be greater than 0 and at most 1")
    return math.floor(n * share + ROUNDING)
