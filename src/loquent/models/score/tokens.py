"""Scoring: teacher-forced log-probabilities of action tokens, values, and micro-batches by token budget.

The hidden states before action tokens are selected first. So logits exist only for action tokens, one chunk
at a time, and never as [B, T, V]. Policy and reference model take the same path with the same shapes, so the
KL of equal models is exactly 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from loquent import pretrained
from loquent.errors import LoquentError
from loquent.files.machine import parallel
from loquent.models.actor import Actor
from loquent.models.score import one_pass
from loquent.models.score.one_pass import Losses, Scores
from loquent.models.tokens.batch import TokenBatch
from loquent.models.tokens.support import Support, restricted_logprob
from loquent.models.tokens.support import entropy as entropy_of
from loquent.models.values.chunks import map_chunks, sum_chunks
from loquent.pretrained import evaluating, groups, head

WHOLE = (
    1 << 24
    # up to so many logits form one chunk, which is stored for the backward pass; with more logits, the
    # backward pass computes the chunks again
)


def action_scores(
    module: Any,
    batch: TokenBatch,
    *,
    support: bool = True,
    entropy: bool = True,
    hidden: Float[Tensor, "B T H"] | None = None,
) -> Scores:
    """Scores of a batch's action tokens, differentiable.

    It takes one forward pass, or none with the last hidden states in `hidden`. The logits come from the
    model's own forward if `head` does not recognise its output layer.

    Raises:
        LoquentError: a row begins with an action, which has no state.
    """
    if batch.is_action[:, :1].any():
        raise LoquentError(
            "a row begins with an action token; every row must begin with a start token, whose hidden state "
            "is the first state"
        )
    decided = batch.is_action[:, 1:]
    layer = head(module)
    if layer is not None:
        hidden = pretrained.hidden(module, batch.tokens, deciding(batch)) if hidden is None else hidden
        states = hidden[:, :-1][decided]
    else:
        states = pretrained.logits(module, batch.tokens)[:, :-1][decided]
    chosen = batch.tokens[:, 1:][decided]
    sets = batch.support if support else None
    tempered = batch.support if batch.tempered else None
    vocabulary = module.get_input_embeddings().weight.shape[0]
    step = one_pass.chunk_rows(vocabulary)

    def scores(logits: Tensor, here: slice, wanted: tuple[bool, ...]) -> tuple[Tensor, Tensor, Tensor]:
        own, full = (None if each is None else each.take(here) for each in (sets, tempered))
        return _scores(logits, chosen[here], own, full, entropy and wanted[2])

    every = (True, True, True)
    if len(chosen) * vocabulary <= WHOLE:
        return Scores(*scores(states if layer is None else layer(states), slice(0, len(chosen)), every))
    if layer is not None and layer.product is not None:
        product = layer.product
        narrow = product.narrow(states)
        return Scores(
            *map_chunks(product, narrow, step, lambda wide, *rest: scores(product.wide(wide), *rest), 3)
        )
    parts = []
    for i in range(0, len(chosen), step):  # other layers run again in the backward pass
        here = slice(i, min(i + step, len(chosen)))

        def part(inputs: Tensor, here: slice = here) -> tuple[Tensor, Tensor, Tensor]:
            return scores(inputs if layer is None else layer(inputs), here, every)

        parts.append(
            checkpoint(part, states[here], use_reentrant=False)
            if torch.is_grad_enabled()
            else part(states[here])
        )
    return Scores(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def action_losses(
    module: Any, batch: TokenBatch, function: Losses, *, hidden: Float[Tensor, "B T H"] | None = None
) -> tuple[Float[Tensor, " N"], Scores]:
    """The loss of each action token by a `function` of its scores, and the scores without gradients.

    The scores are those of `action_scores`, whose arguments are the same. If the output layer has the form of
    a product, the logits are computed once (`one_pass.losses`).

    Args:
        function: (the scores of some tokens, the slice of these tokens) -> the loss of each. The entropy has
            no gradient.
    """
    layer = head(module)
    if layer is None or layer.product is None:
        scores = action_scores(module, batch, hidden=hidden)
        loss = function(scores, slice(0, len(scores.policy)))
        return loss, Scores(*(column.detach() for column in scores))
    states, chosen = _decided(module, batch, hidden)
    tokens = one_pass.Tokens(layer.product, chosen, batch.support, batch.tempered)
    return one_pass.losses(tokens, layer.product.narrow(states), function)


def _decided(
    module: Any, batch: TokenBatch, hidden: Tensor | None
) -> tuple[Float[Tensor, "N H"], Int64[Tensor, " N"]]:
    """The hidden states before action tokens, and these tokens.

    Raises:
        LoquentError: a row begins with an action.
    """
    if batch.is_action[:, :1].any():
        raise LoquentError(
            "a row begins with an action token; every row must begin with a start token, whose hidden state "
            "is the first state"
        )
    decided = batch.is_action[:, 1:]
    hidden = pretrained.hidden(module, batch.tokens, deciding(batch)) if hidden is None else hidden
    return hidden[:, :-1][decided], batch.tokens[:, 1:][decided]


def weighted_nll(
    module: Any,
    batch: TokenBatch,
    weights: Float[Tensor, " N"] | None = None,
    *,
    hidden: Float[Tensor, "B T H"] | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, " N"]]:
    """Σ_t w_t · -log π(x_t) over a batch's action tokens, and each -log π(x_t) without a gradient.

    All w_t are 1 by default. The likelihoods are those of `action_scores`. Only their sum has a gradient, so
    the logits are computed once, for some rows at a time.
    """
    layer = head(module)
    if layer is None or layer.product is None:
        nll = -action_scores(module, batch, support=False, entropy=False, hidden=hidden).policy
        return (nll if weights is None else weights * nll).sum(), nll.detach()
    (states, chosen), product = _decided(module, batch, hidden), layer.product

    def rows(logits: Tensor, here: slice) -> tuple[Tensor, Tensor]:
        logits = product.wide(logits)
        logits = logits if logits.dtype == torch.float64 else logits.float()
        nll = F.cross_entropy(logits, chosen[here], reduction="none")
        return nll if weights is None else weights[here] * nll, nll

    total, (nll,) = sum_chunks(
        product, product.narrow(states), one_pass.chunk_rows(len(product.weight)), rows
    )
    return total, nll


def deciding(batch: TokenBatch) -> Bool[Tensor, "B T"]:
    """The mask of the positions before action tokens, whose hidden states are their states."""
    return torch.nn.functional.pad(batch.is_action[:, 1:], (0, 1))


@torch.no_grad()
def score(
    actor: Actor,
    batch: TokenBatch,
    *,
    token_budget: int = 8192,
    tempered: bool = False,
    support: bool = False,
) -> TokenBatch:
    """The batch with `policy_logprob`, `reference_logprob`, `value` and `bootstrap`.

    Each network runs once, without dropout. The fields of a missing critic or reference model stay None. All
    numbers of the batch get the policy's precision, at least float32. Of several processes, which all have
    the batch, each scores some rows, and all get all columns.

    Args:
        tempered: take the full softmax at the temperature that each token was drawn with, instead of 1.
        support: give `own_logprob` too, of the policy in the support of each token.
    """
    batch = batch.to(torch.promote_types(actor.policy.dtype, torch.float32))
    batch = replace(batch, tempered=tempered)
    policy, own, reference, value = (torch.zeros_like(batch.reward) for _ in range(4))
    bootstrap = batch.reward.new_zeros(len(batch))
    with evaluating(actor):
        for rows in _own_micro_batches(batch, token_budget):
            part = batch.take(rows).to(actor.device)
            width = part.tokens.shape[1]
            last = (part.real.sum(1, keepdim=True) - 1).clamp_min(0)
            wanted = deciding(part).scatter(1, last, True)
            hidden, values = actor(part, want_values=actor.critic is not None, wanted=wanted)
            scores = action_scores(actor.policy, part, support=support, entropy=False, hidden=hidden)
            policy[rows, :width] = _placed(scores.policy, part, policy)
            if support:
                own[rows, :width] = _placed(scores.drawn, part, policy)
            if actor.reference is not None:
                recorded = head(actor.reference) is not None
                states = pretrained.hidden(actor.reference, part.tokens, wanted) if recorded else None
                scores = action_scores(actor.reference, part, support=False, entropy=False, hidden=states)
                reference[rows, :width] = _placed(scores.policy, part, policy)
            if values is not None:
                value[rows, :width] = _placed(values[:, :-1][part.is_action[:, 1:]], part, policy)
                bootstrap[rows] = values.gather(1, last)[:, 0].to(bootstrap)
    measured: dict[str, Tensor] = {"policy_logprob": policy} | ({"own_logprob": own} if support else {})
    measured |= {"reference_logprob": reference} if actor.reference is not None else {}
    measured |= {"value": value, "bootstrap": bootstrap} if actor.critic is not None else {}
    columns = {name: parallel.sum_all(column) for name, column in measured.items()}  # of others' rows 0 here
    return replace(batch, **columns)  # type: ignore[arg-type]  # the names of the dict are fields


def micro_batches(batch: TokenBatch, token_budget: int) -> list[list[int]]:
    """Rows in groups of similar length. Each row is in one group.

    A padded group has at most `token_budget` tokens, or a single row. Gradients of groups add up to that of
    the batch if each group's loss is a sum divided by the count of the batch.
    """
    return groups(batch.real.sum(1).tolist(), token_budget)


def _own_micro_batches(batch: TokenBatch, token_budget: int) -> list[list[int]]:
    """`micro_batches` of the rows of this process: every n-th, by length."""
    if parallel.size() == 1:
        return micro_batches(batch, token_budget)
    lengths = batch.real.sum(1)
    own = parallel.own_rows(lengths.argsort(descending=True, stable=True)).tolist()
    return [[own[i] for i in rows] for rows in groups(lengths[own].tolist(), token_budget)]


def _scores(
    logits: Tensor, chosen: Tensor, support: Support | None, tempered: Support | None, entropy: bool
) -> tuple[Tensor, Tensor, Tensor]:
    logits = logits if logits.dtype == torch.float64 else logits.float()
    full = logits if tempered is None else logits / torch.from_numpy(tempered.temperature).to(logits)[:, None]
    policy = full.gather(1, chosen[:, None])[:, 0] - full.logsumexp(1)
    if support is None and not entropy:
        return policy, policy, torch.full_like(policy, torch.nan)
    if support is None:
        return policy, policy, entropy_of(logits.log_softmax(-1))
    tokens = support.dense_mask(device=logits.device)
    temperature = torch.from_numpy(support.temperature).to(logits)[:, None]
    logprob = restricted_logprob(
        logits, None if tokens.all() else tokens, 1.0 if (temperature == 1).all() else temperature
    )
    drawn = logprob.gather(1, chosen[:, None])[:, 0]
    return drawn, policy, entropy_of(logprob) if entropy else torch.full_like(policy, torch.nan)


def _placed(values: Tensor, batch: TokenBatch, like: Tensor) -> Tensor:
    """Values of action tokens at their positions, [B, T], and 0 elsewhere."""
    placed = torch.zeros(batch.tokens.shape, dtype=like.dtype, device=like.device)
    placed[batch.is_action.to(like.device)] = values.to(like)
    return placed
