"""Exact log-probabilities, KL and entropy of drawn tokens, in one teacher-forced pass per network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from loquent.models.caches.readers import sources
from loquent.models.engine import Given, Logprobs
from loquent.models.score import one_pass
from loquent.models.score.tokens import deciding, micro_batches
from loquent.models.tokens.batch import TokenBatch
from loquent.models.tokens.support import Support, entropy
from loquent.models.values.perturb import Perturbation, kl, perturbed_logprob
from loquent.pretrained import evaluating, groups, head, hidden, pad_rows
from loquent.pretrained import logits as own_logits


class Acting(NamedTuple):
    """Numbers of action tokens in nats.

    The tensors have the shape [B, T], with 0 at other positions, or [N] in the order of
    `is_action.nonzero()`. A token is drawn from the perturbed policy in the token's support, with a
    temperature.
    """

    drawn: Tensor  # the log-probability in the distribution from which the token was drawn
    policy: Tensor  # the log-probability in the policy's full softmax
    kl: Tensor  # the exact KL from the former distribution to the latter: the expectation of drawn - policy
    entropy: Tensor  # the exact entropy of the former distribution: the expectation of -drawn


@torch.no_grad()
def acting_scores(
    module: Any, batch: TokenBatch, perturbation: Perturbation | None = None, *, token_budget: int = 8192
) -> Acting:
    """The numbers of a batch's action tokens under the perturbed policy, in their recorded supports.

    The pass has no dropout. Sums over a row are sums over an episode. `acting.kl.sum(1)` sums the exact KL at
    the visited states. `(drawn - policy).sum(1)` is its estimate from the tokens alone, the "kl" in the
    released code of arXiv:2206.11871. The same holds for the entropy.
    """
    result = Acting(*(torch.zeros(batch.tokens.shape, dtype=torch.float64) for _ in Acting._fields))
    with evaluating(module, *([] if perturbation is None else [perturbation.values])):
        for rows in micro_batches(batch, token_budget):
            part = batch.take(rows)
            numbers = torch.as_tensor(rows, device=batch.tokens.device)[:, None].expand_as(part.tokens)
            index, column = numbers[part.is_action].cpu(), part.is_action.nonzero()[:, 1].cpu()
            part = part.to(module.device)
            acting = acting_at(module, part.tokens, deciding(part), perturbation, part.support)
            for placed, values in zip(result, acting, strict=True):
                placed[index, column] = values.cpu()
    return result


def acting_at(
    module: Any,
    tokens: Int64[Tensor, "B T"],
    where: Bool[Tensor, "B T"],
    perturbation: Perturbation | None = None,
    support: Support | None = None,
) -> Acting:
    """The numbers of the N tokens that follow the positions `where`, float64 [N].

    Logits are computed for one chunk of rows at a time.
    """
    target, value, _ = sources(perturbation)
    layer = head(module)
    networks = [module, module if target is None else target, module if value is None else value]
    if layer is None:
        logits = own_logits(module, tokens)[where]
    if perturbation is None:
        networks = networks[:1] if layer is not None else []
    read = states(networks, tokens, where)
    chosen = tokens.roll(-1, 1)[where]
    step = one_pass.chunk_rows(module.get_input_embeddings().weight.shape[0])
    parts = []
    for i in range(0, len(chosen), step):
        here = slice(i, min(i + step, len(chosen)))
        own = (logits[here] if layer is None else layer(read[0][here])).double()
        shift = None if perturbation is None else perturbation.shift(read[1][here], read[2][here])
        parts.append(_acted(own, chosen[here], shift, None if support is None else support.take(here)))
    if not parts:
        empty = torch.empty(0, dtype=torch.float64, device=tokens.device)
        return Acting(empty, empty, empty, empty)
    return Acting(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def _acted(logits: Tensor, chosen: Tensor, shift: Any, support: Support | None) -> Acting:
    policy = logits.log_softmax(-1)
    kept = temperature = None
    if support is not None:
        kept = support.dense_mask(device=logits.device)
        temperature = torch.from_numpy(support.temperature).to(logits)[:, None]
    drawn = perturbed_logprob(logits, shift, kept, 1.0 if temperature is None else temperature)
    own, full = (logprob.gather(1, chosen[:, None])[:, 0] for logprob in (drawn, policy))
    return Acting(own, full, kl(drawn, policy), entropy(drawn))


@torch.no_grad()
def answer_logprobs(
    module: Any, given: Sequence[Given], pad: int, *, token_budget: int = 8192
) -> list[Logprobs]:
    """The log-probabilities of given answers under a module, which an engine's must equal.

    One teacher-forced pass without dropout; supports and perturbations are those of the answers.
    """
    scored: dict[int, Logprobs] = {}
    alike: dict[int, list[int]] = {}
    for number, (ask, _) in enumerate(given):
        alike.setdefault(id(ask.perturbation), []).append(number)
    for numbers in alike.values():
        perturbation = given[numbers[0]][0].perturbation
        lengths = [len(given[i][0].ids) + len(given[i][1].tokens.ids) for i in numbers]
        with evaluating(module, *([] if perturbation is None else [perturbation.values])):
            for group in groups(lengths, token_budget):
                chosen = [numbers[i] for i in group]
                scored |= zip(chosen, _logprobs(module, [given[i] for i in chosen], pad), strict=True)
    return [scored[number] for number in range(len(given))]


def _logprobs(module: Any, given: Sequence[Given], pad: int) -> list[Logprobs]:
    """As `answer_logprobs`, for answers with one perturbation, in one forward pass."""
    rows = [answer.tokens.ids.tolist() for _, answer in given]
    supports, vocabulary = (
        [answer.tokens.support for _, answer in given],
        module.get_input_embeddings().weight.shape[0],
    )
    support = None
    if any(own is not None for own in supports):
        support = Support.cat(
            Support.full(len(row), vocabulary) if own is None else own
            for own, row in zip(supports, rows, strict=True)
        )
    tokens, where = padded_answers([ask.ids for ask, _ in given], rows, pad, module.device)
    acting = acting_at(module, tokens, where, given[0][0].perturbation, support)
    lengths = [len(row) for row in rows]
    columns = (column.cpu().numpy() for column in (acting.drawn, acting.policy))
    parts = (np.split(column, np.cumsum(lengths)[:-1]) for column in columns)
    return [Logprobs(*pair) for pair in zip(*parts, strict=True)]


def states(
    networks: Sequence[Any], tokens: Int64[Tensor, "B T"], where: Bool[Tensor, "B T"]
) -> list[Float[Tensor, "N H"]]:
    """The last hidden states of causal models or trunks at the positions `where`.

    A network that occurs twice runs once.
    """
    distinct = {id(network): network for network in networks}
    read = {name: hidden(network, tokens, where)[where] for name, network in distinct.items()}
    return [read[id(network)] for network in networks]


def padded_answers(
    prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], pad: int, device: torch.device | str
) -> tuple[Int64[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Prompts with their answers as right-padded rows, and the positions before the answers' tokens."""
    tokens, _ = pad_rows(
        [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)], pad, device
    )
    place = torch.arange(tokens.shape[1], device=tokens.device)
    first, count = (
        torch.tensor([len(row) for row in rows], device=tokens.device)[:, None] for rows in (prompts, answers)
    )
    return tokens, (place >= first - 1) & (place < first + count - 1)
