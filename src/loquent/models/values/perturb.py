"""Policies perturbed by values (arXiv:2206.11871 sec. 4).

The perturbed policy pi(a|s) is proportional to pi_beta(a|s) exp(adv_beta (T(s, a) - V(s))). T is the target Q
(the smaller of its heads, clipped), V the online V, and pi_beta the policy. V is the same for all tokens of a
state, so it cancels, unless advantages are clipped or only their sign counts. If it cancels, it is not
computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from loquent.errors import BadSetting

if TYPE_CHECKING:
    from loquent.models.values.networks import TokenValues

MODES = ("exponential", "sign")
FILTERS = ("before", "after")


@dataclass(frozen=True)
class Perturbation:
    """Settings of a policy that is perturbed by values.

    Args:
        values: the values that give T and V.
        adv_beta: the weight of advantages. In the mode "sign" it is the weight of tokens better than V,
            between 0 and 1; 0.5 changes nothing.
        adv_clip: the largest perturbation of a token (with 0 a token is never favoured); None: no limit.
        mode: "exponential" adds adv_beta (T - V) to the logits; "sign" adds log adv_beta if T > V, else
            log (1 - adv_beta).
        logits: False omits the policy's logits, so that advantages alone decide among the filtered tokens.
        filters: temperature, top-k and top-p apply to the policy's logits ("before", as in the paper's code)
            or to the perturbed logits ("after").

    Raises:
        BadSetting: a value is outside its range, or all probabilities would be equal.
    """

    values: TokenValues
    adv_beta: float = 1.0
    adv_clip: float | None = None
    mode: str = "exponential"
    logits: bool = True
    filters: str = "before"

    def __post_init__(self) -> None:
        for name, value, allowed in (("mode", self.mode, MODES), ("filters", self.filters, FILTERS)):
            if value not in allowed:
                raise BadSetting(f"{name} = {value!r}; it must be one of {', '.join(map(repr, allowed))}")
        if not (math.isfinite(self.adv_beta) and self.adv_beta >= 0):
            raise BadSetting(
                f"adv_beta = {self.adv_beta}; the weight of advantages must be a finite number of at least 0"
            )
        if self.mode == "sign" and not 0 < self.adv_beta < 1:
            raise BadSetting(
                f"adv_beta = {self.adv_beta} with mode = 'sign'; it must be between 0 and 1, because tokens "
                "better than V have this weight and the others 1 - adv_beta"
            )
        if self.adv_clip is not None and not math.isfinite(self.adv_clip):
            raise BadSetting(f"adv_clip = {self.adv_clip}; it must be a finite number, or None for no limit")
        if self.neutral and not self.logits:
            raise BadSetting(
                f"adv_beta = {self.adv_beta} and logits = False leave nothing to draw by; set logits = True, "
                "or another adv_beta"
            )

    @property
    def neutral(self) -> bool:
        """Whether all tokens get the same perturbation, which changes nothing."""
        return self.adv_beta == (0.5 if self.mode == "sign" else 0)

    @property
    def needs_v(self) -> bool:
        """Whether V matters; it cancels in a softmax of unclipped advantages."""
        return self.mode == "sign" or self.adv_clip is not None

    @property
    def vocabulary(self) -> int:
        """The number of tokens with a value."""
        return self.values.size

    def shift(self, target: Float[Tensor, "n H"], value: Float[Tensor, "n H"] | None) -> Shift:
        """The perturbation of n states.

        Args:
            target: the hidden states for the target heads.
            value: the hidden states for V; None if V cancels.
        """
        q = self.values.target_q(target)
        v = self.values.v(value) if self.needs_v and value is not None else None
        return Shift(
            logit_shift(q, v, adv_beta=self.adv_beta, adv_clip=self.adv_clip, mode=self.mode),
            self.logits,
            self.filters == "after",
        )


@dataclass(frozen=True)
class Shift:
    """The perturbation of the logits of n states.

    Args:
        added: the numbers that are added.
        logits: whether the policy's logits count.
        after: whether filters apply to the perturbed logits.
    """

    added: Float[Tensor, "n V"]
    logits: bool = True
    after: bool = False

    def to(
        self, work: Float[Tensor, "n K"], columns: Int64[Tensor, "n K"] | None = None
    ) -> Float[Tensor, "n K"]:
        """The perturbed logits, of all tokens or of some columns; -inf stays -inf."""
        more = self.added[:, : work.shape[1]] if columns is None else self.added.gather(1, columns)
        return work + more if self.logits else more.to(work.dtype).masked_fill(work == -torch.inf, -torch.inf)


def logit_shift(
    q: Float[Tensor, "n V"],
    v: Float[Tensor, " n"] | None,
    *,
    adv_beta: float,
    adv_clip: float | None = None,
    mode: str = "exponential",
) -> Float[Tensor, "n V"]:
    """The numbers that advantages q - v add to the logits.

    Without `v` each row is shifted by a constant, which does not change a softmax.

    Raises:
        BadSetting: `v` is None but matters.
    """
    if v is None:
        if mode == "sign" or adv_clip is not None:
            raise BadSetting(
                f"mode = {mode!r} with adv_clip = {adv_clip} needs V, got None; pass v, or use the mode "
                "'exponential' without adv_clip"
            )
        return adv_beta * q
    if mode == "sign":
        more = torch.full_like(q, math.log1p(-adv_beta)).masked_fill(q > v[:, None], math.log(adv_beta))
    else:
        more = adv_beta * (q - v[:, None])
    return more if adv_clip is None else more.clamp_max(adv_clip)


def perturbed_logprob(
    logits: Float[Tensor, "n V"],
    shift: Shift | None,
    kept: Bool[Tensor, "n V"] | None = None,
    temperature: float | Float[Tensor, "n 1"] = 1.0,
) -> Float[Tensor, "n V"]:
    """The log-probabilities with which tokens are drawn, -inf outside `kept`.

    Without a shift they are those of the policy's own filtered softmax.
    """
    if kept is not None:
        logits = logits.masked_fill(~kept, -torch.inf)
    if shift is not None and shift.after:
        logits = shift.to(logits)
    if not (isinstance(temperature, float | int) and temperature == 1):
        logits = logits / temperature
    if shift is not None and not shift.after:
        logits = shift.to(logits)
    return logits.log_softmax(-1)


def kl(logprob: Float[Tensor, "n V"], other: Float[Tensor, "n V"]) -> Float[Tensor, " n"]:
    """KL(p || q) in nats of distributions given as log-probabilities; terms with p = 0 are 0.

    The result is never less than 0, even with rounding errors.
    """
    difference = torch.where(logprob == -torch.inf, 0.0, logprob - other)
    return (logprob.exp() * difference).sum(-1).clamp_min(0.0)


def best_of_kl(number: int) -> float:
    """An upper bound in nats on the KL from best-of-n to a single draw: log n - (n - 1) / n.

    Source: arXiv:2401.01879.

    Raises:
        BadSetting: `number` is less than 1.
    """
    if number < 1:
        raise BadSetting(
            f"number must be an integer of at least 1, got number = {number}; choose more answers"
        )
    return math.log(number) - (number - 1) / number
