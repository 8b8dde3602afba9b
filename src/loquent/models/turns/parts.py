"""Distributions over the actions of a task, never over illegal ones.

`Dense` has a log-probability for each of at most 100,000 actions, and exact entropy. `Path` has the
log-probabilities of the parts of one action each, for larger sets. Both give an action the same
log-probability: p(a) = Π_k p(a_k | a_1 ... a_{k-1}), where each factor is a softmax over the numbers of
part k that begin a legal action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from loquent.core.actions import MASK_LIMIT, ActionSet, Legal

FEW = 1000  # the most actions that get a logit each with choose = "auto"


class Tree:
    """The prefixes of all actions of a factored set, part by part.

    Each list has an array for each part. `parent` has the number of the prefix without its last number,
    `value` that last number, and `under` for each action the number of its prefix, or -1 if it is shorter.
    """

    def __init__(self, actions: ActionSet) -> None:
        split = [actions.split(i) for i in range(len(actions))]
        depth = len(actions.parts)
        numbers: dict[tuple[int, ...], int] = {(): 0}
        self.parent: list[Tensor] = []
        self.value: list[Tensor] = []
        self.under: list[Tensor] = []
        for k in range(depth):
            nodes = sorted({parts[: k + 1] for parts in split if len(parts) > k})
            mine = {prefix: i for i, prefix in enumerate(nodes)}
            self.parent.append(torch.tensor([numbers[prefix[:-1]] for prefix in nodes]))
            self.value.append(torch.tensor([prefix[-1] for prefix in nodes]))
            self.under.append(
                torch.tensor([mine[parts[: k + 1]] if len(parts) > k else -1 for parts in split])
            )
            numbers = mine

    def log_probabilities(
        self, logits: Sequence[Float[Tensor, "N P"]], legal: Bool[Tensor, "N n"]
    ) -> Float[Tensor, "N n"]:
        """The log-probability of each action, -inf where it is illegal.

        Args:
            logits: of each part.
        """
        total = torch.zeros(legal.shape, dtype=logits[0].dtype, device=legal.device)
        for k, part in enumerate(logits):
            parent, value, under = (
                x.to(legal.device) for x in (self.parent[k], self.value[k], self.under[k])
            )
            there = under >= 0
            nodes = torch.zeros((len(legal), len(value)), dtype=torch.int32, device=legal.device)
            nodes.index_add_(1, under[there], legal[:, there].int())
            begins = nodes > 0  # the prefix begins a legal action
            scores = part[:, value].masked_fill(~begins, -torch.inf)
            conditional = scores - segment_logsumexp(scores, parent)[:, parent]
            conditional = conditional.masked_fill(~begins, -torch.inf)
            total = total + torch.where(there, conditional[:, under.clamp(min=0)], 0.0)
        return total.masked_fill(~legal, -torch.inf)


def segment_logsumexp(scores: Float[Tensor, "N m"], segment: Int[Tensor, " m"]) -> Float[Tensor, "N s"]:
    """log Σ exp of the scores of each segment; 0 for a segment whose scores are all -inf."""
    count = int(segment.max()) + 1
    index = segment.expand(len(scores), -1)
    most = torch.full((len(scores), count), -torch.inf, dtype=scores.dtype, device=scores.device)
    most = most.scatter_reduce(1, index, scores.detach(), "amax")
    most = most.masked_fill(most.isinf(), 0.0)
    sums = torch.zeros_like(most).scatter_add(1, index, (scores - most[:, segment]).exp())
    return most + sums.masked_fill(sums == 0, 1.0).log()


@dataclass(frozen=True, eq=False)
class Dense:
    """Log-probabilities of all actions, f[N, n]; -inf for illegal ones."""

    logprob: Tensor

    def of(self, choice: Int[Tensor, " N"]) -> Float[Tensor, " N"]:
        """The log-probability of one action each."""
        return self.logprob.gather(1, choice[:, None])[:, 0]

    def entropy(self) -> Float[Tensor, " N"]:
        """-Σ p log p in nats, exact."""
        possible = ~self.logprob.isinf()
        logprob = self.logprob.masked_fill(~possible, 0.0)
        return -torch.where(possible, logprob.exp() * logprob, 0.0).sum(1)

    def is_best(self, choice: Int[Tensor, " N"]) -> Bool[Tensor, " N"]:
        """Whether an action of each row is its most probable one."""
        return self.logprob.argmax(1) == choice

    def best(self) -> NDArray[np.int64]:
        """The most probable action of each row."""
        best: NDArray[np.int64] = self.logprob.argmax(1).cpu().numpy()
        return best

    def draw(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """An action of each row, by a uniform number in [0, 1) each."""
        return draw_entries(self.logprob.detach().double().cpu().numpy(), uniform)


@dataclass(frozen=True, eq=False)
class Path:
    """Log-probabilities of the numbers of each part after the first numbers of one action each.

    `parts[k]` is f[N, P_k] with -inf for numbers that begin no legal action, and `numbers` is i64[N, K] with
    -1 for parts that the action leaves out.
    """

    parts: tuple[Tensor, ...]
    numbers: Tensor

    def of_action(self) -> Float[Tensor, " N"]:
        """The log-probability of the actions."""
        return torch.stack(self._chosen(), 0).sum(0)

    def entropy(self) -> Float[Tensor, " N"]:
        """An unbiased estimate of the entropy, and of its gradient, for actions drawn from the policy.

        The estimate is Σ_k H(a_k | a_1 ... a_{k-1}) on the path. Its own gradient would neglect that the
        path is drawn: ∇E[H_j] has the further term E[H_j ∇log p(a_1 ... a_{j-1})], added here with value 0.
        """
        total = torch.zeros(len(self.numbers), dtype=self.parts[0].dtype, device=self.numbers.device)
        path = torch.zeros_like(total)
        for k, logprob in enumerate(self._chosen()):
            own = torch.where(self.numbers[:, k] >= 0, Dense(self.parts[k]).entropy(), 0.0)
            total = total + own + own.detach() * (path - path.detach())
            path = path + logprob
        return total

    def is_best(self, choice: Int[Tensor, " N"]) -> Bool[Tensor, " N"]:
        """Whether each number of the actions is the most probable one after the numbers before it."""
        pairs = zip(self.parts, self.numbers.T, strict=True)
        return torch.stack([(number < 0) | (part.argmax(1) == number) for part, number in pairs]).all(0)

    def _chosen(self) -> list[Tensor]:
        """Per part the log-probability of the number of the action; 0 where it has none."""
        return [
            torch.where(number >= 0, Dense(_filled(part)).of(number.clamp(min=0)), 0.0)
            for part, number in zip(self.parts, self.numbers.T, strict=True)
        ]


def _filled(part: Tensor) -> Tensor:
    """A part's log-probabilities, with 0 in rows that are not used, so that no gradient is NaN."""
    return torch.where(part.isinf().all(1, keepdim=True), 0.0, part)


def masked_log_softmax(logits: Float[Tensor, "N n"], legal: Bool[Tensor, "N n"]) -> Float[Tensor, "N n"]:
    """The log-softmax over the legal entries, -inf elsewhere; rows without a legal entry are all -inf."""
    none = ~legal.any(1, keepdim=True)
    scores = logits.masked_fill(~(legal | none), -torch.inf)
    return scores.log_softmax(1).masked_fill(~legal, -torch.inf)


def draw_entries(logprob: NDArray[np.float64], uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """The entry of each row at a uniform number, by the inverse of the cumulated probabilities.

    The last possible entry takes the remainder.
    """
    with np.errstate(invalid="ignore"):
        bounds = np.exp(logprob - logprob.max(1, keepdims=True)).cumsum(1)
    last = logprob.shape[1] - 1 - np.isfinite(logprob)[:, ::-1].argmax(1)
    above = bounds > uniform[:, None] * bounds[:, -1:]
    first = above.argmax(1)
    return np.where(above.any(1), np.minimum(first, last), last).astype(np.int64)


def is_dense(actions: ActionSet) -> bool:
    """Whether all actions can have a log-probability each."""
    return len(actions) <= MASK_LIMIT


def legal_parts(
    actions: ActionSet, legal: Sequence[Legal], numbers: NDArray[np.int64], *, obey: bool
) -> list[NDArray[np.bool_]]:
    """Per part bool[N, P_k]: the numbers that may follow the first k numbers of each action.

    A row is all False in a part that its action leaves out. Without `obey` all actions are legal.
    """
    found = [np.zeros((len(legal), size), dtype=np.bool_) for size in actions.parts]
    for row, (value, own) in enumerate(zip(legal, numbers.tolist(), strict=True)):
        for k, number in enumerate(own):
            if number < 0:
                break
            found[k][row] = actions.following(value, own[:k]) if obey else True
    return found
