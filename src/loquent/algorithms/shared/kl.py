"""Divergence between policies: estimates per sampled token, and the controller of the penalty's coefficient.

The estimators have the names of Schulman's note "Approximating KL divergence"
(joschu.net/blog/kl-approx.html).
"""

import math
from collections.abc import Mapping
from typing import Any

from jaxtyping import Float
from torch import Tensor

from loquent.errors import BadSetting
from loquent.files import saved_state


def k1(policy: Float[Tensor, "..."], other: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The difference log π(a) - log π'(a) for tokens sampled from π.

    It is unbiased for KL(π, π') and may be negative. The penalty uses it.
    """
    return policy - other


def k3(policy: Float[Tensor, "..."], other: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The estimate (r - 1) - log r with r = π'(a) / π(a), for tokens sampled from π.

    It is unbiased for KL(π, π') and never negative. Logs use it.
    """
    log_ratio = other - policy
    return log_ratio.expm1() - log_ratio


class Controller:
    """The adaptive coefficient of the KL penalty (Ziegler et al., arXiv:1909.08593).

    It is that of arXiv:2210.01241 eq. 2 and 3. With a target of None or infinity the coefficient is fixed.
    """

    def __init__(
        self, coefficient: float, target: float | None = None, *, gain: float = 0.1, clip: float = 0.2
    ) -> None:
        if target is not None and not target > 0:
            raise BadSetting(
                f"the KL target {target!r} is out of range; give a positive number, or none for a "
                "fixed coefficient"
            )
        self.coefficient, self.target, self.gain, self.clip = coefficient, target, gain, clip

    def step(self, kl: float) -> float:
        """Adapt the coefficient after an update with the mean divergence `kl` per token.

        Returns the new coefficient.
        """
        if self.target is not None and math.isfinite(self.target) and math.isfinite(kl):
            error = min(max((kl - self.target) / self.target, -self.clip), self.clip)  # e_t, eq. 2
            self.coefficient *= 1 + self.gain * error  # β_{t+1}, eq. 3
        return self.coefficient

    def state_dict(self) -> dict[str, Any]:
        """The coefficient. Target, gain and clip are settings."""
        return {"coefficient": self.coefficient}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if the coefficient is not a finite number."""
        self.coefficient = saved_state.number(state, "coefficient")
