"""The best and the worst shares of episodes, by return."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadSetting


def shares(returns: NDArray[np.float64], *, top: float = 1.0, bottom: float = 1.0) -> NDArray[np.int64]:
    """Places, in order, of the episodes kept: of all n the int(n * bottom) of lowest return, then of these the share `top` of highest.

    Of episodes of equal return, the later ones count as the better.

    Raises:
        BadSetting: nothing is left.
    """
    kept = np.argsort(returns, kind="stable")
    for name, share, lowest in (("bottom", bottom, True), ("top", top, False)):
        count = int(len(kept) * share)
        if not count:
            raise BadSetting(f"{name} = {share} of {len(kept)} episodes is none; a larger share is right")
        kept = kept[:count] if lowest else kept[len(kept) - count :]
    return np.sort(kept)
