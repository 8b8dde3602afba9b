"""Fisher-vector products of a language model, and the exact KL between two models, over action tokens.

Both are measured in the full softmax at the states of the action tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from loquent import pretrained
from loquent.files.machine import parallel
from loquent.models.score import one_pass
from loquent.models.score.tokens import WHOLE, deciding, micro_batches
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained import head


def action_logits(module: Any, batch: TokenBatch) -> Float[Tensor, "N V"]:
    """The logits that action tokens were drawn from, at least float32, in one forward pass."""
    decided, layer = batch.is_action[:, 1:], head(module)
    if layer is None:
        rows = pretrained.logits(module, batch.tokens)[:, :-1][decided]
    else:
        rows = layer(pretrained.hidden(module, batch.tokens, deciding(batch))[:, :-1][decided])
    return rows if rows.dtype == torch.float64 else rows.float()


class Fisher:
    """The Fisher matrix F of a model: the mean over action tokens of E_a[∇ log π(a) ∇ log π(a)ᵀ].

    Of several processes each computes the products of some rows, and all get the sums.

    F is the Hessian of the mean KL(π_old, π) at π = π_old (1502.05477 app. C), so F v is a gradient of the
    product of that KL's gradient with v. Nothing is sampled: the expectation over a is exact.

    Args:
        parameters: the parameters of `module` that v ranges over, in this order.
        token_budget: the most padded tokens of one forward pass; fewer, if their logits would be many.
    """

    def __init__(
        self, module: Any, batch: TokenBatch, parameters: Sequence[nn.Parameter], token_budget: int
    ) -> None:
        self.module, self.batch, self.parameters = module, parallel.own(batch), list(parameters)
        vocabulary = module.get_input_embeddings().weight.shape[0]
        self._rows = micro_batches(self.batch, min(token_budget, max(1, WHOLE // vocabulary)))
        self._tokens = int(batch.is_action.sum())
        # the graph of a single micro-batch serves all products; several would take too much memory
        self._kept = self._gradient(self._rows[0]) if len(self._rows) == 1 else None

    def product(self, vector: Sequence[Tensor]) -> list[Tensor]:
        """F v, in pieces of the shapes of the parameters, as v."""
        sums = [torch.zeros_like(part) for part in vector]
        for rows in self._rows:
            gradient = self._gradient(rows) if self._kept is None else self._kept
            pairs = zip(gradient, vector, strict=True)
            along = sum(((g * v).sum() for g, v in pairs if g is not None), vector[0].new_zeros(()))
            with sdpa_kernel(SDPBackend.MATH):  # layers may be computed again
                images = torch.autograd.grad(
                    along, self.parameters, retain_graph=self._kept is not None, allow_unused=True
                )
            for total, image in zip(sums, images, strict=True):
                if image is not None:
                    total += image
        return [parallel.sum_all(total) for total in sums]

    def _gradient(self, rows: Sequence[int]) -> tuple[Tensor | None, ...]:
        """The gradient of the KL of some rows from themselves, which is 0, with its graph."""
        part = self.batch.take(rows).to(self.module.device)
        with sdpa_kernel(SDPBackend.MATH):  # the other kernels have no second derivative
            logprob = action_logits(self.module, part).log_softmax(-1)
            old = logprob.detach()
            kl = (old.exp() * (old - logprob)).sum() / self._tokens
            return torch.autograd.grad(kl, self.parameters, create_graph=True, allow_unused=True)


@torch.no_grad()
def mean_kl(old: Any, new: Any, batch: TokenBatch, token_budget: int) -> float:
    """The mean over action tokens of the exact KL(old, new), in nats."""
    total, own = 0.0, parallel.own(batch)
    for rows in micro_batches(own, token_budget):
        part = own.take(rows).to(new.device)
        states, layers = [], [head(module) for module in (old, new)]
        for module, layer in zip((old, new), layers, strict=True):
            states.append(
                action_logits(module, part)
                if layer is None
                else pretrained.hidden(module, part.tokens, deciding(part))[:, :-1][part.is_action[:, 1:]]
            )
        step = one_pass.chunk_rows(new.get_input_embeddings().weight.shape[0])
        for i in range(0, len(states[0]), step):
            before, after = (
                (state[i : i + step] if layer is None else layer(state[i : i + step]))
                .double()
                .log_softmax(-1)
                for state, layer in zip(states, layers, strict=True)
            )
            total += float((before.exp() * (before - after)).sum())
    return parallel.total(total) / int(batch.is_action.sum())
