"""Divergence between policies: estimates per drawn token, and the controller that steers the penalty's coefficient.

The estimators' names are those of Schulman's note "Approximating KL divergence" (joschu.net/blog/kl-approx.html).
"""

import math
from typing import Any

from jaxtyping import Float
from torch import Tensor

from loquent.errors import BadCheckpoint, BadSetting


def k1(policy: Float[Tensor, "..."], other: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The difference log π(a) - log π'(a) of tokens drawn from π: unbiased for KL(π, π'), of either sign; the penalty's estimate."""
    return policy - other


def k3(policy: Float[Tensor, "..."], other: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """(r - 1) - log r with r = π'(a) / π(a) of tokens drawn from π: unbiased for KL(π, π') and never negative; for logs."""
    log_ratio = other - policy
    return log_ratio.expm1() - log_ratio


class Controller:
    """The coefficient of the KL penalty, drawn towards a target (Ziegler et al., arXiv:1909.08593; 2210.01241 eq. 2 and 3).

    A target of None or infinity means a fixed coefficient.
    """

    def __init__(self, coefficient: float, target: float | None = None, *, gain: float = 0.1, clip: float = 0.2) -> None:
        if target is not None and not target > 0:
            raise BadSetting(f"a KL target of {target!r} cannot be approached; give a positive number, or none for a fixed coefficient")
        self.coefficient, self.target, self.gain, self.clip = coefficient, target, gain, clip

    def step(self, kl: float) -> float:
        """Move after one update whose mean divergence per token was `kl`; returns the new coefficient."""
        if self.target is not None and math.isfinite(self.target) and math.isfinite(kl):
            error = min(max((kl - self.target) / self.target, -self.clip), self.clip)  # e_t, eq. 2
            self.coefficient *= 1 + self.gain * error  # β_{t+1}, eq. 3
        return self.coefficient

    def state_dict(self) -> dict[str, Any]:
        """The coefficient; target, gain and clip are settings and stay with the config."""
        return {"coefficient": self.coefficient}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        if not isinstance(state.get("coefficient"), int | float):
            raise BadCheckpoint(f"the KL controller's state is {state!r}; {{'coefficient': number}} is right")
        self.coefficient = float(state["coefficient"])
