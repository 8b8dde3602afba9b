"""Acting with values: pi(a|s) proportional to pi_beta(a|s) exp(adv_beta (T(s, a) - V(s))) (arXiv:2206.11871
sec. 4).

T is the target Q (the smaller of its heads, clipped), V the online V, pi_beta the policy. V is the same for
all tokens of a state, so it cancels unless advantages are clipped or only their sign counts; where it cancels
it is not computed.
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
    """How a policy is perturbed by values.

    Args:
        values: what advantages are read from.
        adv_beta: their weight; in the mode "sign" the weight of tokens better than V, between 0 and 1, where
            0.5 changes nothing.
        adv_clip: the perturbation of a token is at most this (0: a token is never favoured, only punished);
            None: not clipped.
        mode: "exponential": adv_beta (T - V) is added to the logits; "sign": log adv_beta where T > V, log (1
            - adv_beta) elsewhere.
        logits: False leaves the policy's logits out, so that only advantages speak (of the tokens a filter
            keeps).
        filters: temperature, top-k and top-p read the policy's logits ("before", as the paper's code), or
            what was perturbed ("after").

    Raises:
        BadSetting: a value is outside its range, or nothing is left to draw by.
    """

    values: TokenValues
    adv_beta: float = 1.0
    adv_clip: float | None = None
    mode: str = "exponential"
    logits: bool = True
    filters: str = "before"

    def __post_init__(self) -> None:
        for name, value, known in (("mode", self.mode, MODES), ("filters", self.filters, FILTERS)):
            if value not in known:
                raise BadSetting(f"{name} = {value!r} is none of {', '.join(map(repr, known))}")
        if not (math.isfinite(self.adv_beta) and self.adv_beta >= 0):
            raise BadSetting(
                f"adv_beta = {self.adv_beta} weighs advantages; a finite number of at least 0 is right"
            )
        if self.mode == "sign" and not 0 < self.adv_beta < 1:
            raise BadSetting(
                f"adv_beta = {self.adv_beta} with mode = 'sign' is the weight of tokens better than "
                "V, the others have 1 - adv_beta; a number between 0 and 1 is right"
            )
        if self.adv_clip is not None and not math.isfinite(self.adv_clip):
            raise BadSetting(f"adv_clip = {self.adv_clip} is no finite number; None does not clip")
        if self.neutral and not self.logits:
            raise BadSetting(
                f"adv_beta = {self.adv_beta} and logits = False leave nothing to draw by; take the "
                "logits, or weigh the advantages"
            )

    @property
    def neutral(self) -> bool:
        """Whether it adds the same to all tokens, and so changes nothing."""
        return self.adv_beta == (0.5 if self.mode == "sign" else 0)

    @property
    def needs_v(self) -> bool:
        """Whether V matters: it cancels in a softmax of unclipped advantages."""
        return self.mode == "sign" or self.adv_clip is not None

    @property
    def vocabulary(self) -> int:
        """How many tokens the values speak of."""
        return self.values.size

    def shift(self, target: Float[Tensor, "n H"], value: Float[Tensor, "n H"] | None) -> Shift:
        """What is added for states with these hidden states, of what the target heads read and of what V
        reads (None where V cancels).
        """
        q = self.values.target_q(target)
        v = self.values.v(value) if self.needs_v and value is not None else None
        return Shift(
            added(q, v, adv_beta=self.adv_beta, adv_clip=self.adv_clip, mode=self.mode),
            self.logits,
            self.filters == "after",
        )


@dataclass(frozen=True)
class Shift:
    """What is added to the logits of n states, whether the logits count at all, and whether filters come
    after it.
    """

    added: Float[Tensor, "n V"]
    logits: bool = True
    after: bool = False

    def to(
        self, work: Float[Tensor, "n K"], columns: Int64[Tensor, "n K"] | None = None
    ) -> Float[Tensor, "n K"]:
        """Logits (those of some columns) with what is added; what is -inf, and so impossible, stays it."""
        more = self.added[:, : work.shape[1]] if columns is None else self.added.gather(1, columns)
        return work + more if self.logits else more.to(work.dtype).masked_fill(work == -torch.inf, -torch.inf)


def added(
    q: Float[Tensor, "n V"],
    v: Float[Tensor, " n"] | None,
    *,
    adv_beta: float,
    adv_clip: float | None = None,
    mode: str = "exponential",
) -> Float[Tensor, "n V"]:
    """What advantages q - v add to the logits.

    Without `v` up to a constant of each row, which a softmax does not see.

    Raises:
        BadSetting: there is no `v` where it matters.
    """
    if v is None:
        if mode == "sign" or adv_clip is not None:
            raise BadSetting(
                "a clipped advantage, or its sign, needs V; without it only adv_beta * Q can be added"
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
    """The log-probabilities tokens are drawn with, -inf outside `kept`; without a shift those of the policy's
    own filtered softmax.
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
    """KL(p || q) in nats of distributions given as log-probabilities; where p is 0 nothing is added.

    It is never less than 0, whatever rounding says.
    """
    apart = torch.where(logprob == -torch.inf, 0.0, logprob - other)
    return (logprob.exp() * apart).sum(-1).clamp_min(0.0)


def best_of_kl(number: int) -> float:
    """How far, in nats, drawing n answers and taking the best goes from drawing one, at most: log n - (n - 1)
    / n (arXiv:2401.01879).

    Raises:
        BadSetting: there is not one answer to take.
    """
    if number < 1:
        raise BadSetting(f"number = {number}: the best of at least 1 answer can be taken")
    return math.log(number) - (number - 1) / number
