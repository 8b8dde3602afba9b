"""What was acted, looked at again: exact distributions, KL and entropy of every token, in one teacher-forced
pass a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from loquent.models.decode.readers import sources
from loquent.models.score.tokens import CHUNK, deciding, micro_batches
from loquent.models.support import Support, entropy
from loquent.models.tokens.batch import TokenBatch
from loquent.models.values.perturb import Perturbation, kl, perturbed_logprob
from loquent.pretrained import evaluating, head, hidden, padded


class Acting(NamedTuple):
    """Of action tokens, in nats: [B, T] at their positions (0 elsewhere), or [N] in the order of
    `is_action.nonzero()`.
    """

    # log-probability in the distribution it was drawn from: perturbed, in its support, temperature included
    drawn: Tensor
    policy: Tensor  # in the policy's full softmax
    # exactly, of that distribution to the policy's full softmax: the expectation of drawn - policy
    kl: Tensor
    entropy: Tensor  # exactly, of that distribution: the expectation of - drawn


@torch.no_grad()
def acting_scores(
    module: Any, batch: TokenBatch, perturbation: Perturbation | None = None, *, token_budget: int = 8192
) -> Acting:
    """What a batch's action tokens were drawn from: the perturbed policy, in each token's recorded support.

    Dropout off.

    Sums over a row are those of an episode: `acting.kl.sum(1)` is exact at the states that were met, `(drawn
    - policy).sum(1)` its estimate from the tokens alone (arXiv:2206.11871, the released code's "kl"), and so
    for the entropy.
    """
    found = Acting(*(torch.zeros(batch.tokens.shape, dtype=torch.float64) for _ in Acting._fields))
    with evaluating(module, *([] if perturbation is None else [perturbation.values])):
        for rows in micro_batches(batch, token_budget):
            some = batch.take(rows)
            index = (
                torch.as_tensor(rows, device=batch.tokens.device)[:, None]
                .expand_as(some.tokens)[some.is_action]
                .cpu()
            )
            column = some.is_action.nonzero()[:, 1].cpu()
            some = some.to(module.device)
            for placed, columns in zip(
                found, acted(module, some.tokens, deciding(some), perturbation, some.support), strict=True
            ):
                placed[index, column] = columns.cpu()
    return found


def acted(
    module: Any,
    tokens: Int64[Tensor, "B T"],
    where: Bool[Tensor, "B T"],
    perturbation: Perturbation | None = None,
    support: Support | None = None,
) -> Acting:
    """The same for the N tokens that follow the positions `where`, float64 [N].

    The logits of so many rows are formed at once as fit a chunk.
    """
    target, value, _ = sources(perturbation)
    layer = head(module)
    networks = [module, module if target is None else target, module if value is None else value]
    if layer is None:
        logits = module(input_ids=tokens, attention_mask=torch.ones_like(tokens), use_cache=False).logits[
            where
        ]
    read = states(
        networks if perturbation is not None else networks[:1] if layer is not None else [], tokens, where
    )
    chosen = tokens.roll(-1, 1)[where]
    step = max(1, CHUNK // module.get_input_embeddings().weight.shape[0])
    parts = []
    for i in range(0, len(chosen), step):
        here = slice(i, min(i + step, len(chosen)))
        own = (logits[here] if layer is None else layer(read[0][here])).double()
        shift = None if perturbation is None else perturbation.shift(read[1][here], read[2][here])
        parts.append(_acted(own, chosen[here], shift, None if support is None else support.take(here)))
    empty = torch.empty(0, dtype=torch.float64, device=tokens.device)
    return (
        Acting(*(torch.cat(columns) for columns in zip(*parts, strict=True)))
        if parts
        else Acting(empty, empty, empty, empty)
    )


def _acted(logits: Tensor, chosen: Tensor, shift: Any, support: Support | None) -> Acting:
    policy = logits.log_softmax(-1)
    kept = temperature = None
    if support is not None:
        kept = support.kept(device=logits.device)
        temperature = torch.from_numpy(support.temperature).to(logits)[:, None]
    drawn = perturbed_logprob(logits, shift, kept, 1.0 if temperature is None else temperature)
    own, full = (logprob.gather(1, chosen[:, None])[:, 0] for logprob in (drawn, policy))
    return Acting(own, full, kl(drawn, policy), entropy(drawn))


def states(
    networks: Sequence[Any], tokens: Int64[Tensor, "B T"], where: Bool[Tensor, "B T"]
) -> list[Float[Tensor, "N H"]]:
    """The last hidden states of causal models or trunks at the positions `where`; a network that is named
    twice is read once.
    """
    found = {id(network): network for network in networks}
    read = {name: hidden(network, tokens, where)[where] for name, network in found.items()}
    return [read[id(network)] for network in networks]


def answers_laid(
    prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], pad: int, device: torch.device | str
) -> tuple[Int64[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Prompts with their answers as rows padded on the right, and the positions whose next token is one of
    the answer's.
    """
    tokens, _ = padded(
        [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)], pad, device
    )
    place = torch.arange(tokens.shape[1], device=tokens.device)
    first, count = (
        torch.tensor([len(row) for row in rows], device=tokens.device)[:, None] for rows in (prompts, answers)
    )
    return tokens, (place >= first - 1) & (place < first + count - 1)
