"""Scoring: teacher-forced log-probabilities of action tokens, values, and micro-batches by token budget.

The hidden states where actions are decided are gathered first, so logits exist only for action tokens, a
chunk at a time, and never as [B, T, V]. Policy and reference take the same path with the same shapes: where
the models are equal, their KL is exactly 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from loquent import pretrained
from loquent.errors import LoquentError
from loquent.models.actor import Actor
from loquent.models.support import Support, restricted_logprob
from loquent.models.support import entropy as entropy_of
from loquent.models.tokens.batch import TokenBatch
from loquent.models.values.chunked import chunked, summed
from loquent.pretrained import evaluating, groups, head

CHUNK = 1 << 21  # logits in one chunk
WHOLE = (
    1 << 24
    # up to so many logits there is one chunk, kept for the backward pass; above, chunks are computed again
    # there
)


class Scores(NamedTuple):
    """What a model says of N action tokens, in the row-major order of `is_action.nonzero()`."""

    drawn: Float[
        Tensor, " N"
    ]  # log-probability in the support each token was drawn from, temperature included
    policy: Float[Tensor, " N"]  # log-probability in the full softmax
    entropy: Float[
        Tensor, " N"
    ]  # of the distribution `drawn` belongs to, in nats; NaN where it was not asked for


def action_scores(
    module: Any,
    batch: TokenBatch,
    *,
    support: bool = True,
    entropy: bool = True,
    hidden: Float[Tensor, "B T H"] | None = None,
) -> Scores:
    """Scores of a batch's action tokens, differentiable.

    One forward pass, none where `hidden` gives its last hidden states.

    A model whose output layer is not recognised is asked for its own logits.

    Raises:
        LoquentError: a row begins with an action, which has no state.
    """
    if batch.is_action[:, :1].any():
        raise LoquentError(
            "a row begins with an action token; every row begins with a start token, whose hidden "
            "is the first state"
        )
    decided = batch.is_action[:, 1:]
    layer = head(module)
    if layer is not None:
        states = (pretrained.hidden(module, batch.tokens, deciding(batch)) if hidden is None else hidden)[
            :, :-1
        ][decided]
    else:
        ones = torch.ones_like(batch.tokens)
        states = module(input_ids=batch.tokens, attention_mask=ones, use_cache=False).logits[:, :-1][decided]
    chosen = batch.tokens[:, 1:][decided]
    sets = batch.support if support else None
    vocabulary = module.get_input_embeddings().weight.shape[0]
    step = max(1, CHUNK // vocabulary)

    def scores(logits: Tensor, here: slice, wanted: tuple[bool, ...]) -> tuple[Tensor, Tensor, Tensor]:
        return _scores(logits, chosen[here], None if sets is None else sets.take(here), entropy and wanted[2])

    if len(chosen) * vocabulary <= WHOLE:
        return Scores(
            *scores(states if layer is None else layer(states), slice(0, len(chosen)), (True, True, True))
        )
    if layer is not None and layer.product is not None:
        after = layer.product.wide
        return Scores(
            *chunked(
                layer.product,
                layer.product.narrow(states),
                step,
                lambda wide, *rest: scores(after(wide), *rest),
                3,
            )
        )
    parts = []
    for i in range(
        0, len(chosen), step
    ):  # a layer of another kind, an adapter say, is run again in the backward pass
        here = slice(i, min(i + step, len(chosen)))

        def part(some: Tensor, here: slice = here) -> tuple[Tensor, Tensor, Tensor]:
            return scores(some if layer is None else layer(some), here, (True, True, True))

        parts.append(
            checkpoint(part, states[here], use_reentrant=False)
            if torch.is_grad_enabled()
            else part(states[here])
        )
    return Scores(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def weighted_nll(
    module: Any,
    batch: TokenBatch,
    weights: Float[Tensor, " N"] | None = None,
    *,
    hidden: Float[Tensor, "B T H"] | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, " N"]]:
    """Σ_t w_t · -log π(x_t) over a batch's action tokens (by default all weigh 1), and each -log π(x_t),
    which has no gradient.

    The same likelihoods as `action_scores`'; as only their sum is learned from, logits are formed once, some
    rows at a time.
    """
    layer = head(module)
    if layer is None or layer.product is None:
        nll = -action_scores(module, batch, support=False, entropy=False, hidden=hidden).policy
        return (nll if weights is None else weights * nll).sum(), nll.detach()
    if batch.is_action[:, :1].any():
        raise LoquentError(
            "a row begins with an action token; every row begins with a start token, whose hidden "
            "is the first state"
        )
    decided = batch.is_action[:, 1:]
    states = (pretrained.hidden(module, batch.tokens, deciding(batch)) if hidden is None else hidden)[:, :-1][
        decided
    ]
    chosen, product = batch.tokens[:, 1:][decided], layer.product

    def rows(logits: Tensor, here: slice) -> tuple[Tensor, Tensor]:
        logits = product.wide(logits)
        nll = F.cross_entropy(
            logits if logits.dtype == torch.float64 else logits.float(), chosen[here], reduction="none"
        )
        return nll if weights is None else weights[here] * nll, nll

    total, (nll,) = summed(product, product.narrow(states), max(1, CHUNK // len(product.weight)), rows)
    return total, nll


def deciding(batch: TokenBatch) -> Bool[Tensor, "B T"]:
    """Where the state of an action token is: the position before it."""
    return torch.nn.functional.pad(batch.is_action[:, 1:], (0, 1))


@torch.no_grad()
def score(actor: Actor, batch: TokenBatch, *, token_budget: int = 8192) -> TokenBatch:
    """The batch with `policy_logprob`, `reference_logprob`, `value` and `bootstrap`: one pass for each
    network, dropout off.

    Without a critic or a reference their fields stay None. Every number of the batch takes the policy's
    precision, float32 at least.
    """
    batch = batch.to(torch.promote_types(actor.policy.dtype, torch.float32))
    policy, reference, value = (torch.zeros_like(batch.reward) for _ in range(3))
    bootstrap = batch.reward.new_zeros(len(batch))
    with evaluating(actor):
        for rows in micro_batches(batch, token_budget):
            some = batch.take(rows).to(actor.device)
            width = some.tokens.shape[1]
            last = (some.real.sum(1, keepdim=True) - 1).clamp_min(0)
            wanted = deciding(some).scatter(1, last, True)
            hidden, found = actor(some, want_values=actor.critic is not None, wanted=wanted)
            own = action_scores(actor.policy, some, support=False, entropy=False, hidden=hidden).policy
            policy[rows, :width] = _placed(own, some, policy)
            if actor.reference is not None:
                states = (
                    pretrained.hidden(actor.reference, some.tokens, wanted)
                    if head(actor.reference) is not None
                    else None
                )
                found_there = action_scores(
                    actor.reference, some, support=False, entropy=False, hidden=states
                ).policy
                reference[rows, :width] = _placed(found_there, some, policy)
            if found is not None:
                value[rows, :width] = _placed(found[:, :-1][some.is_action[:, 1:]], some, policy)
                bootstrap[rows] = found.gather(1, last)[:, 0].to(bootstrap)
    measured: dict[str, Tensor] = {"policy_logprob": policy}
    measured |= {"reference_logprob": reference} if actor.reference is not None else {}
    measured |= {"value": value, "bootstrap": bootstrap} if actor.critic is not None else {}
    return replace(batch, **measured)  # type: ignore[arg-type]  # the names of the dict are fields


def micro_batches(batch: TokenBatch, token_budget: int) -> list[list[int]]:
    """Rows in groups of like length, each at most `token_budget` tokens when padded (or one row).

    Every row is in one group.

    Sums over groups are sums over rows: gradients accumulate exactly when each group's loss is a sum divided
    by the whole's count.
    """
    return groups(batch.real.sum(1).tolist(), token_budget)


def _scores(
    logits: Tensor, chosen: Tensor, support: Support | None, entropy: bool
) -> tuple[Tensor, Tensor, Tensor]:
    logits = logits if logits.dtype == torch.float64 else logits.float()
    picked = logits.gather(1, chosen[:, None])[:, 0]
    policy = picked - logits.logsumexp(1)
    if support is None and not entropy:
        return policy, policy, torch.full_like(policy, torch.nan)
    if support is None:
        return policy, policy, entropy_of(logits.log_softmax(-1))
    kept = support.kept(device=logits.device)
    temperature = torch.from_numpy(support.temperature).to(logits)[:, None]
    logprob = restricted_logprob(
        logits, None if kept.all() else kept, 1.0 if (temperature == 1).all() else temperature
    )
    drawn = logprob.gather(1, chosen[:, None])[:, 0]
    return drawn, policy, entropy_of(logprob) if entropy else torch.full_like(policy, torch.nan)


def _placed(found: Tensor, batch: TokenBatch, like: Tensor) -> Tensor:
    """Numbers of action tokens at their positions, [B, T], 0 elsewhere."""
    placed = torch.zeros(batch.tokens.shape, dtype=like.dtype, device=like.device)
    placed[batch.is_action.to(like.device)] = found.to(like)
    return placed
