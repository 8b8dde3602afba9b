"""Which episodes of a dataset are learned from: the best or the worst by return, or those of some kinds."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.episode import Episode
from loquent.errors import BadSetting
from loquent.values import Record

ROUNDING = 1e-9  # 0.29 * 100 is a little less than 29


def best(scores: Sequence[float] | NDArray[np.floating], share: float) -> NDArray[np.int64]:
    """i64[int(n * share)]: the places of the best scores, ascending; among equals the later ones, as a stable sort leaves them last.

    Percentile filtering in 2206.11871 ("%BC"). A share too small for one episode keeps none; its code kept all.
    """
    order = _order(scores)
    return np.sort(order[len(order) - _count(len(order), share) :])


def worst(scores: Sequence[float] | NDArray[np.floating], share: float) -> NDArray[np.int64]:
    """i64[int(n * share)]: the places of the worst scores, ascending; among equals the earlier ones."""
    order = _order(scores)
    return np.sort(order[: _count(len(order), share)])


def shares(returns: Sequence[float] | NDArray[np.floating], *, top: float = 1.0, bottom: float = 1.0) -> NDArray[np.int64]:
    """The places that are kept, ascending: of all the share of lowest return, then of these the share of highest.

    Raises:
        BadSetting: nothing is left; names the step that left nothing. A share is outside (0, 1], or a return is not finite.
    """
    given = np.asarray(returns, dtype=np.float64)
    kept = np.arange(len(given))
    for name, choose, share in (("bottom", worst, bottom), ("top", best, top)):
        chosen = kept[choose(given[kept], share)]
        if not len(chosen):
            raise BadSetting(
                f"{name} = {share:g} of {len(kept)} episodes keeps none" + (f"; at least {1 / len(kept):.3g} keeps one" if len(kept) else "")
            )
        kept = chosen
    return kept


def filtered(episodes: Sequence[Episode], weights: Record, *, top: float = 1.0, bottom: float = 1.0, kinds: Collection[str] = ()) -> list[Episode]:
    """The episodes of some kinds (`meta.kind`; none: all), of those the worst share by return, of those the best; in their order.

    Args:
        weights: of rewards by name, for the returns; not looked at where both shares are 1.

    Raises:
        BadSetting: nothing is left; or as `shares`.
    """
    kept = [one for one in episodes if not kinds or one.meta.get("kind", "") in kinds]
    if not kept:
        found = sorted({repr(one.meta.get("kind", "")) for one in episodes})
        raise BadSetting(f"none of {len(episodes)} episodes is of kind {', '.join(kinds) or 'any'}; there are {', '.join(found) or 'none'}")
    if top == bottom == 1.0:
        return kept
    return [kept[i] for i in shares([one.total(weights) for one in kept], top=top, bottom=bottom)]


def _order(scores: Sequence[float] | NDArray[np.floating]) -> NDArray[np.int64]:
    given = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(given).all():
        raise BadSetting(f"the return {given[~np.isfinite(given)][0]} of episode {int(np.flatnonzero(~np.isfinite(given))[0])} is no finite number")
    return np.argsort(given, kind="stable")


def _count(n: int, share: float) -> int:
    if not 0 < share <= 1:
        raise BadSetting(f"a share of {share!r} of the episodes is outside (0, 1]")
    return math.floor(n * share + ROUNDING)
