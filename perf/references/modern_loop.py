"""PPO as a plain modern program writes it (notes on RL4LMs, §4.2, the columns "optimal", and §7, S1):
sequences, not tokens.

`generate` samples; policy, reference and value network read all sequences once, teacher-forced; learning
reads every sequence once a network, an epoch, in minibatches of sequences. The library's own forward passes,
not compiled, logits of the answers only.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from references.generate import generate
from references.learner import Learner, Rollout

MINIBATCH = 16  # sequences


class ModernLoop(Learner):
    """One iteration is `learn(collect(prompts, reward))`."""

    def collect(
        self, prompts: Tensor, reward: Callable[[list[int]], float], answers: Tensor | None = None
    ) -> Rollout:
        """Sample answers (or take the given ones) and measure them in one pass for each network."""
        if answers is None:
            answers = torch.tensor(
                generate(self.policy, prompts.tolist(), self.settings.new, do_sample=True, top_k=0),
                device=prompts.device,
            )
        tokens = torch.cat([prompts, answers], 1)
        with torch.no_grad():
            logprob, value = self.read(tokens, prompts.shape[1])
            reference = self.logprobs(self.frozen, tokens, prompts.shape[1])
        task = torch.tensor([reward(row) for row in answers.tolist()], device=prompts.device)
        return self.rollout(tokens, prompts.shape[1], logprob, value, reference, task)

    def logprobs(self, module: torch.nn.Module, tokens: Tensor, wide: int, *, logs: bool = False) -> Tensor:
        """The log-probabilities of the answers, [B, T]; `logs` also sets `entropy`, which learning logs."""
        logits = module(tokens, use_cache=False, logits_to_keep=tokens.shape[1] - wide + 1).logits[:, :-1]
        logprob = logits.log_softmax(-1)
        if logs:
            self.entropy = mean_entropy(logprob)
        return logprob.gather(2, tokens[:, wide:, None])[:, :, 0]

    def read(self, tokens: Tensor, wide: int, *, logs: bool = False) -> tuple[Tensor, Tensor]:
        """Log-probabilities and values, one pass for each network."""
        hidden = self.trunk(tokens, use_cache=False).last_hidden_state
        return self.logprobs(self.policy, tokens, wide, logs=logs), self.head(hidden[:, wide - 1 : -1])[
            :, :, 0
        ]

    def minibatch(self, rollout: Rollout, chosen: Tensor) -> Tensor:
        """The loss of some sequences."""
        new, value = self.read(rollout.tokens[chosen], rollout.wide, logs=True)
        return self.loss(
            new, value, rollout.logprob[chosen], rollout.advantage[chosen], rollout.target[chosen]
        )

    def learn(self, rollout: Rollout) -> None:
        """All epochs."""
        for _ in range(self.settings.epochs):
            for chosen in torch.randperm(len(rollout.tokens)).split(MINIBATCH):
                self.step(self.minibatch(rollout, chosen))


@torch.no_grad()
def mean_entropy(logprob: Tensor) -> Tensor:
    """The mean entropy of distributions [B, T, V]."""
    return -(logprob.exp() * logprob).sum(-1).mean()
