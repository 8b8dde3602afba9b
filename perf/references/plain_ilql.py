"""A gradient step of ILQL as a plain reading of its loss: notes on ILQL, §2.2, with full heads as in §8.4,
"performance".

Every head is applied to every position and gives all its values, [B, T, V]: two online Q-heads, two target
heads, the policy's logits; what the loss needs is then taken out of them, and the cross-entropies are
log-softmaxes over the whole. Kinder than the original: value and target networks are run without the logits
it throws away, gathers instead of loops over rows, a fused optimizer, targets that follow in one call.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class PlainILQL:
    """Networks of one's own and their optimizer.

    Args:
        trunks: the policy (a causal model), the value trunk and the target trunk.
        heads: the online Q-heads, the target Q-heads, V.
    """

    def __init__(
        self,
        trunks: tuple[Any, Any, Any],
        heads: tuple[nn.ModuleList, nn.ModuleList, nn.Module],
        *,
        gamma: float,
        tau: float,
        cql: float,
        **rates: float,
    ) -> None:
        self.policy, self.value, self.target = trunks
        self.q, self.target_q, self.v = heads
        self.gamma, self.tau, self.cql, self.follow = gamma, tau, cql, rates["follow"]
        self.learned = [
            *self.policy.parameters(),
            *self.value.parameters(),
            *self.q.parameters(),
            *self.v.parameters(),
        ]
        self.optimizer = torch.optim.AdamW(
            self.learned, lr=rates["learning_rate"], weight_decay=0.0, fused=True
        )

    def loss(self, tokens: Tensor, real: Tensor, is_action: Tensor, reward: Tensor, ended: Tensor) -> Tensor:
        """The whole loss of a batch."""
        hidden = self.value(input_ids=tokens, use_cache=False).last_hidden_state
        with torch.no_grad():
            followed = self.target(input_ids=tokens, use_cache=False).last_hidden_state
            target = torch.minimum(*(head(followed) for head in self.target_q))  # [B, T, V]
        heads = [head(hidden) for head in self.q]  # [B, T, V] each
        values = self.v(hidden)[..., 0]
        logits = self.policy(input_ids=tokens, use_cache=False).logits
        count = is_action.sum()
        total = hidden.new_zeros(())
        # row-major: the next of the same row is the next state
        rows, places = is_action.nonzero(as_tuple=True)
        states = places - 1
        last = torch.ones_like(rows, dtype=torch.bool)
        last[:-1] = rows[1:] != rows[:-1]
        ends = real.sum(1)[rows] - 1
        following = torch.where(last, ends, states.roll(-1))
        alive = ~(last & ended[rows])
        taken = tokens[rows, places]
        aim = reward[rows, places] + self.gamma * alive * values[rows, following].detach()
        for head in heads:
            picked = head.gather(2, tokens.roll(-1, 1)[..., None])[..., 0][rows, states]
            total = total + (aim - picked).square().sum() / count
            total = total - self.cql * head.log_softmax(-1)[rows, states, taken].sum() / count
        better = target.gather(2, tokens.roll(-1, 1)[..., None])[..., 0][rows, states]
        apart = better - values[rows, states]
        total = total + (torch.where(apart >= 0, self.tau, 1 - self.tau) * apart.square()).sum() / count
        return total - logits.log_softmax(-1)[rows, states, taken].sum() / count

    def step(self, *batch: Tensor) -> None:
        """One step, and the targets follow."""
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(*batch).backward()
        self.optimizer.step()
        with torch.no_grad():
            online = [*self.value.parameters(), *self.q.parameters()]
            torch._foreach_lerp_(
                [*self.target.parameters(), *self.target_q.parameters()], online, self.follow
            )
