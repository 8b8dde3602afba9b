"""PPO the way RL4LMs does it: notes on RL4LMs, §4.2 (the cost model), with §1.6, §1.8, §1.9 and §1.11 for the
parts.

Collection runs four cached passes of one position a token: `generate` samples, then policy, value network and
reference are read again token by token. Learning takes single tokens as its rows: every generated token is
read with its whole sequence, left-padded to prompt + answer, once a network, an epoch; minibatches are of 64
tokens. Kinder than the original: logits only where they are used, one process, no text, no copied
observations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from references.generate import generate
from references.learner import Learner, Rollout

MINIBATCH = 64  # tokens, §2


class OldWay(Learner):
    """One iteration is `learn(collect(prompts, reward))`."""

    def collect(
        self, prompts: Tensor, reward: Callable[[list[int]], float], answers: Tensor | None = None
    ) -> Rollout:
        """Sample answers (or take the given ones) and measure them, token by token."""
        if answers is None:
            answers = torch.tensor(
                generate(self.policy, prompts.tolist(), self.settings.new, do_sample=True, top_k=0),
                device=prompts.device,
            )
        tokens = torch.cat([prompts, answers], 1)
        columns: list[list[Tensor]] = [[], [], []]
        caches: list[Any] = [None, None, None]
        with torch.no_grad():
            for t in range(answers.shape[1]):
                ids = prompts if t == 0 else answers[:, t - 1 : t]
                real = torch.ones(len(ids), prompts.shape[1] + t, dtype=torch.long, device=ids.device)
                place = torch.arange(real.shape[1] - ids.shape[1], real.shape[1], device=ids.device)[None]
                for number, module in enumerate((self.policy, self.trunk, self.frozen)):
                    keep = {} if module is self.trunk else {"logits_to_keep": 1}
                    out = module(
                        ids,
                        attention_mask=real,
                        position_ids=place,
                        past_key_values=caches[number],
                        use_cache=True,
                        **keep,
                    )
                    caches[number] = out.past_key_values
                    if module is self.trunk:
                        columns[number].append(self.head(out.last_hidden_state[:, -1])[:, 0])
                    else:
                        columns[number].append(
                            out.logits[:, -1].log_softmax(-1).gather(1, answers[:, t : t + 1])[:, 0]
                        )
        logprob, value, reference = (torch.stack(column, 1) for column in columns)
        task = torch.tensor([reward(row) for row in answers.tolist()], device=prompts.device)
        return self.rollout(tokens, prompts.shape[1], logprob, value, reference, task)

    def minibatch(self, rollout: Rollout, chosen: Tensor) -> Tensor:
        """The loss of some tokens, each with its own whole sequence."""
        longest, chosen = rollout.tokens.shape[1], chosen.to(rollout.tokens.device)
        row, t = chosen // self.settings.new, chosen % self.settings.new
        length = rollout.wide + t  # of the observation: all before the token
        column = torch.arange(longest, device=row.device) - (longest - length)[:, None]  # left padding
        real = column >= 0
        ids = torch.where(real, rollout.tokens[row[:, None], column.clamp_min(0)], 0)
        place = column.clamp_min(0)
        logits = self.policy(
            ids, attention_mask=real.long(), position_ids=place, use_cache=False, logits_to_keep=1
        ).logits[:, -1]
        hidden = self.trunk(
            ids, attention_mask=real.long(), position_ids=place, use_cache=False
        ).last_hidden_state[:, -1]
        action = rollout.tokens[row, length]
        new = logits.log_softmax(-1).gather(1, action[:, None])[:, 0]
        old, advantage, target = (
            column[row, t] for column in (rollout.logprob, rollout.advantage, rollout.target)
        )
        return self.loss(new, self.head(hidden)[:, 0], old, advantage, target)

    def learn(self, rollout: Rollout, steps: int | None = None) -> int:
        """All epochs, or the first gradient steps of them (they all cost the same).

        Returns how many tokens were read with their sequence.
        """
        total, done = rollout.logprob.numel(), 0
        for _ in range(self.settings.epochs):
            for chosen in torch.randperm(total).split(MINIBATCH):
                if steps is not None and done >= steps * MINIBATCH:
                    return done
                self.step(self.minibatch(rollout, chosen))
                done += len(chosen)
        return done
