"""A gradient step of ILQL as the released code makes it: notes on ILQL, §2.1, §2.2, and §8.4, "performance".

The hidden states are gathered at the actions, row by row and padded to the longest row. Both online heads and
both target heads give all values there. The value and the target network compute logits that nobody reads,
and the policy computes its logits twice. Cross-entropies are those of the library, the policy's over all
tokens with weight 0 outside actions. The optimizer is AdamW by its default loop, targets follow parameter by
parameter, and every logged number waits for the device. The policy's loss is divided by the number of
actions, as ours is, and targets have no dropout, so that both losses can be compared.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from references.plain_ilql import PlainILQL


class ReleasedILQL(PlainILQL):
    """The same networks, heads and settings as the plain reading."""

    def __init__(self, *networks: Any, **settings: float) -> None:
        super().__init__(*networks, **settings)  # type: ignore[arg-type]  # the settings have fixed names
        self.optimizer = torch.optim.AdamW(self.learned, lr=settings["learning_rate"], weight_decay=0.0)

    def loss(self, tokens: Tensor, real: Tensor, is_action: Tensor, reward: Tensor, ended: Tensor) -> Tensor:
        """The whole loss of a batch."""
        actions, states, rewards, done = _indices(real, is_action, reward, ended)
        hidden = self.value(input_ids=tokens, use_cache=False).last_hidden_state
        F.linear(
            hidden, self.value.get_input_embeddings().weight
        )  # of the class with a language model's head
        with torch.no_grad():
            followed = self.target(input_ids=tokens, use_cache=False).last_hidden_state
            F.linear(followed, self.target.get_input_embeddings().weight)
            aimed = _at(followed, actions)
            target = torch.minimum(*(head(aimed) for head in self.target_q))  # [B, A, V]
        decided = _at(hidden, actions)
        heads = [head(decided) for head in self.q]  # [B, A, V] each
        values = self.v(_at(hidden, states))[..., 0]  # [B, A + 1]
        read = self.policy.transformer(input_ids=tokens, use_cache=False).last_hidden_state
        self.policy.lm_head(read)
        logits = self.policy.lm_head(read)
        taken = tokens.gather(1, (actions + 1).clamp(max=tokens.shape[1] - 1))
        mask = 1 - done[:, :-1]
        count = mask.sum().clamp(min=1)
        aim = rewards + self.gamma * (1 - done[:, 1:]) * values[:, 1:].detach()
        total, logs = hidden.new_zeros(()), []
        for head in heads:
            picked = head.gather(2, taken[..., None])[..., 0]
            bellman = (mask * (aim - picked).square()).sum() / count
            entropy = F.cross_entropy(head.flatten(0, 1), taken.flatten(), reduction="none").view_as(mask)
            conservative = (mask * entropy).sum() / count
            total = total + bellman + self.cql * conservative
            logs += [bellman, conservative]
        apart = target.gather(2, taken[..., None])[..., 0] - values[:, :-1]
        expectile = (mask * torch.where(apart >= 0, self.tau, 1 - self.tau) * apart.square()).sum() / count
        weights = torch.zeros_like(tokens[:, 1:], dtype=logits.dtype)
        for row in range(len(tokens)):
            for place, weight in zip(actions[row], mask[row], strict=True):
                weights[row, place] += weight  # padding adds 0 at the first place
        cloned = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        policy = (weights.flatten() * cloned).sum() / count
        self.logs = [float(number) for number in (*logs, expectile, policy)]
        return total + expectile + policy

    def step(self, *batch: Tensor) -> None:
        """One step, and the targets follow."""
        self.optimizer.zero_grad()
        self.loss(*batch).backward()
        self.optimizer.step()
        with torch.no_grad():
            online = [*self.value.parameters(), *self.q.parameters()]
            targets = [*self.target.parameters(), *self.target_q.parameters()]
            for target, parameter in zip(targets, online, strict=True):
                target.copy_(self.follow * parameter + (1 - self.follow) * target)


def _at(hidden: Tensor, places: Tensor) -> Tensor:
    """[B, n, H]: the hidden states at places [B, n]."""
    return hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[2]))


def _indices(
    real: Tensor, is_action: Tensor, reward: Tensor, ended: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of each row the positions of its actions [B, A] and states [B, A + 1], its rewards and its ends."""
    rows = [is_action[row].nonzero()[:, 0] for row in range(len(real))]
    longest = max(len(places) for places in rows)
    actions, states = (torch.zeros(len(rows), longest + more, dtype=torch.long) for more in (0, 1))
    rewards, done = torch.zeros(len(rows), longest), torch.ones(len(rows), longest + 1)
    for row, places in enumerate(rows):
        count = len(places)
        actions[row, :count] = states[row, :count] = places - 1
        states[row, count] = real[row].sum() - 1
        rewards[row, :count] = reward[row, places]
        done[row, :count] = 0
        done[row, count] = float(ended[row])
    return actions, states, rewards, done
