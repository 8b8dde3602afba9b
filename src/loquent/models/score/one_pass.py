"""Log-probabilities of chosen tokens, and losses of them, in one pass over the logits.

The gradient of a log-probability by the logits is known in closed form: the chosen token's indicator minus
the softmax. So the pass that computes the log-probabilities also computes the gradients, and the logits of
one chunk of rows at a time are all that is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from loquent.models.tokens.support import Support, restricted_logprob
from loquent.models.tokens.support import entropy as entropy_of
from loquent.models.values.chunks import refuse_second_derivatives
from loquent.pretrained.output import Product

CHUNK = 1 << 21  # the logits of one chunk, unless so few rows would make slow products
ROWS, MOST = 128, 1 << 23  # then so many rows, but no more logits


class Scores(NamedTuple):
    """A model's numbers of N action tokens, in the row-major order of `is_action.nonzero()`."""

    drawn: Float[Tensor, " N"]  # log-probability in the support of each token, with temperature
    policy: Float[Tensor, " N"]  # log-probability in the full softmax; see `TokenBatch.tempered`
    entropy: Float[Tensor, " N"]  # of the distribution of `drawn`, in nats; NaN if not requested


def chunk_rows(vocabulary: int) -> int:
    """The rows of one chunk of logits."""
    return max(1, CHUNK // vocabulary, min(ROWS, MOST // vocabulary))


Losses = Callable[[Scores, slice], Tensor]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The chosen tokens whose log-probabilities are computed, and the output layer's product."""

    product: Product
    chosen: Int64[Tensor, " N"]
    support: Support | None
    tempered: bool = False

    @property
    def slices(self) -> list[slice]:
        """The rows of each chunk."""
        step, rows = chunk_rows(len(self.product.weight)), len(self.chosen)
        return [slice(i, min(i + step, rows)) for i in range(0, rows, step)] or [slice(0, 0)]


def losses(
    tokens: Tokens, states: Float[Tensor, "N H"], function: Losses
) -> tuple[Float[Tensor, " N"], Scores]:
    """The loss of each token, and its scores without gradients.

    The losses have first derivatives by the states and the layer's parameters. Where all losses have the same
    weight in a sum, the logits are computed once. With other weights the backward pass computes them again.

    Args:
        tokens: the chosen tokens.
        states: the inputs of the product.
        function: (the scores of some tokens, the slice of these tokens) -> the loss of each. The entropy has
            no gradient.
    """
    needed = torch.is_grad_enabled()
    weight, bias = tokens.product.weight, tokens.product.bias
    apply: Any = _OnePass.apply  # torch has no types for autograd functions
    loss, *scores = apply(states, weight, bias, tokens, function, needed)
    return loss, Scores(*scores)


class _OnePass(torch.autograd.Function):
    """The losses and the scores of tokens; the gradients for equal weights are computed with them."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        tokens: Tokens,
        function: Losses,
        needed: bool,
    ) -> tuple[Tensor, ...]:
        ctx.tokens = tokens
        sums = _Sums(states, weight, bias, ctx.needs_input_grad) if needed else None
        found: list[Tensor] = []  # the losses, their scores and slopes
        for here in tokens.slices:
            chunk = _Chunk(tokens, F.linear(states[here], weight, bias), here)
            loss, slope = _with_slopes(function, chunk.scores, here)
            parts = loss, *chunk.scores, *slope
            # in place of parts that lie between the memory of chunks, which would not be used again then
            found = found or [part.new_empty(len(states)) for part in parts]
            for column, part in zip(found, parts, strict=True):
                column[here] = part
            if sums is not None:
                sums.add(chunk.gradient(*slope), here)
            del chunk, loss, slope, parts  # before the next one's logits
        columns, slopes = tuple(found[:-2]), found[-2:]
        ctx.save_for_backward(states, weight, bias, *slopes)
        ctx.gradients = None if sums is None else sums.gradients
        ctx.mark_non_differentiable(*columns[1:])
        return columns

    @staticmethod
    def backward(ctx: Any, weights: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        states, weight, bias, *slopes = ctx.saved_tensors
        if ctx.gradients is not None and bool((weights == weights[:1]).all()):
            ready, ctx.gradients = ctx.gradients, None
            scale = weights[0] if len(weights) else 0.0
            return *(None if part is None else part.mul_(scale) for part in ready), None, None, None
        sums = _Sums(states, weight, bias, ctx.needs_input_grad)
        for here in ctx.tokens.slices:
            chunk = _Chunk(ctx.tokens, F.linear(states[here], weight, bias), here)
            sums.add(chunk.gradient(*((weights * slope)[here] for slope in slopes)), here)
            del chunk
        return *sums.gradients, None, None, None


def _with_slopes(function: Losses, scores: Scores, here: slice) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The losses of some tokens, and their derivatives by `drawn` and `policy`."""
    with torch.enable_grad():
        leaves = [part.detach().requires_grad_() for part in (scores.drawn, scores.policy)]
        loss = function(Scores(leaves[0], leaves[1], scores.entropy), here)
        slopes = torch.autograd.grad(loss.sum(), leaves, allow_unused=True)
    drawn, policy = (
        torch.zeros_like(leaf) if slope is None else slope for slope, leaf in zip(slopes, leaves, strict=True)
    )
    return loss.detach(), (drawn, policy)


class _Chunk:
    """The scores of some tokens from the outputs of the product, and the gradient by these outputs."""

    def __init__(self, tokens: Tokens, outputs: Tensor, here: slice) -> None:
        self.outputs, self.chosen = outputs, tokens.chosen[here, None]
        with torch.enable_grad():
            self.outputs = outputs.detach().requires_grad_(bool(tokens.product.after))
            logits = tokens.product.wide(self.outputs)
            self.logits = logits if logits.dtype == torch.float64 else logits.float()
        logits = self.logits.detach()
        self.full, kept, self.temperature = logits, None, None
        self.restricted = tokens.support is not None
        if tokens.support is not None:
            support = tokens.support.take(here)
            kept = support.dense_mask(device=logits.device)
            kept = None if bool(kept.all()) else kept
            temperature = torch.from_numpy(support.temperature).to(logits)[:, None]
            self.temperature = None if bool((temperature == 1).all()) else temperature
        self.scale: Tensor | float = 1.0
        if tokens.tempered and self.temperature is not None:
            self.scale, self.full = self.temperature, logits / self.temperature
        self.total = self.full.logsumexp(1)
        policy = self.full.gather(1, self.chosen)[:, 0] - self.total
        if not self.restricted:
            # in place where nothing reads the logits again
            total = self.total[:, None]
            logprob = logits - total if self.logits.requires_grad else logits.sub_(total)
            drawn = policy
        else:
            logprob = restricted_logprob(logits, kept, 1.0 if self.temperature is None else self.temperature)
            drawn = logprob.gather(1, self.chosen)[:, 0]
        self.probability = logprob.exp()
        entropy = -torch.linalg.vecdot(self.probability, logprob)
        if not bool(entropy.isfinite().all()):  # a probability of 0
            entropy = entropy_of(logprob)
        self.scores = Scores(drawn, policy, entropy)

    def gradient(self, drawn: Tensor, policy: Tensor) -> Tensor:
        """The gradient by the outputs, for the weights of `drawn` and of `policy`; it is computed once."""
        if not self.restricted:
            by = self._softmax(self.probability, drawn + policy)
        else:
            by = self._softmax(self.probability, drawn)
            by = by if self.temperature is None else by.div_(self.temperature)
            if bool(policy.any()):
                full = self._softmax((self.full - self.total[:, None]).exp_(), policy)
                by += full.div_(self.scale)
        if self.logits is self.outputs:
            return by
        if not self.logits.requires_grad:
            return by.to(self.outputs.dtype)
        (by,) = torch.autograd.grad(self.logits, self.outputs, by)
        return by

    def _softmax(self, probability: Tensor, weight: Tensor) -> Tensor:
        """The sum of the gradients of log-probabilities with these weights, in place."""
        weight = weight[:, None].to(probability)
        return probability.mul_(-weight).scatter_add_(1, self.chosen, weight)


class _Sums:
    """The gradients by the states and by the parameters of a linear layer, added chunk by chunk."""

    def __init__(self, states: Tensor, weight: Tensor, bias: Tensor | None, needed: tuple[bool, ...]) -> None:
        self.states, self.weight = states, weight
        self.gradients = tuple(
            torch.empty_like(part) if part is not None and is_needed else None
            for part, is_needed in zip((states, weight, bias), needed, strict=False)
        )

    def add(self, outputs: Tensor, here: slice) -> None:
        """Add the part of some rows, from the gradient by the outputs."""
        by_states, by_weight, by_bias = self.gradients
        outputs = outputs.to(self.weight.dtype)  # of another type under autocast
        if by_states is not None and by_states.dtype == self.weight.dtype:
            torch.mm(outputs, self.weight, out=by_states[here])
        elif by_states is not None:
            by_states[here] = (outputs @ self.weight).to(by_states.dtype)
        first = here.start == 0
        if by_weight is not None:
            states = self.states[here].to(self.weight.dtype)
            if first:
                torch.mm(outputs.T, states, out=by_weight)
            else:
                by_weight.addmm_(outputs.T, states)
        if by_bias is not None:
            by_bias.copy_(outputs.sum(0)) if first else by_bias.add_(outputs.sum(0))
