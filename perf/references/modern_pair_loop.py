"""The plain modern PPO loop (`modern_loop.py`; notes on RL4LMs, §4.2 and §7) for an encoder-decoder.

`generate` samples with the library's cache; then the encoder and the decoder of each network read all
sequences once, teacher-forced, and once an epoch to learn. The library's own forward passes, not compiled.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from references.learner import Rollout
from references.modern_loop import ModernLoop, mean_entropy

BATCH = 64


class ModernPairLoop(ModernLoop):
    """One iteration is `learn(collect(prompts, reward))`; prompts are the encoder's ids.

    A rollout's tokens are the prompt, the decoder's start and the answer.
    """

    start = 0

    def collect(
        self, prompts: Tensor, reward: Callable[[list[int]], float], answers: Tensor | None = None
    ) -> Rollout:
        """Sample answers (or take the given ones) and measure them in one pass for each network."""
        new = self.settings.new
        if answers is None:
            with torch.inference_mode():
                answers = torch.cat(
                    [
                        self.policy.generate(
                            part, attention_mask=torch.ones_like(part), do_sample=True, top_k=0,
                            max_new_tokens=new, min_new_tokens=new, eos_token_id=None, pad_token_id=0,
                            decoder_start_token_id=self.start,
                        )[:, 1:]
                        for part in prompts.split(BATCH)
                    ]
                ).clone()  # fmt: skip
        tokens = torch.cat([prompts, torch.full_like(prompts[:, :1], self.start), answers], 1)
        wide = prompts.shape[1] + 1
        with torch.no_grad():
            logprob, value = self.read(tokens, wide)
            reference = self.logprobs(self.frozen, tokens, wide)
        task = torch.tensor([reward(row) for row in answers.tolist()], device=prompts.device)
        return self.rollout(tokens, wide, logprob, value, reference, task)

    def logprobs(self, module: torch.nn.Module, tokens: Tensor, wide: int, *, logs: bool = False) -> Tensor:
        """The log-probabilities of the answers, [B, T]; `logs` also sets `entropy`, which learning logs."""
        source, target = tokens[:, : wide - 1], tokens[:, wide - 1 : -1]
        logits = module(
            input_ids=source,
            attention_mask=torch.ones_like(source),
            decoder_input_ids=target,
            use_cache=False,
        ).logits
        logprob = logits.log_softmax(-1)
        if logs:
            self.entropy = mean_entropy(logprob)
        return logprob.gather(2, tokens[:, wide:, None])[:, :, 0]

    def read(self, tokens: Tensor, wide: int, *, logs: bool = False) -> tuple[Tensor, Tensor]:
        """Log-probabilities and values, one pass for each network."""
        source, target = tokens[:, : wide - 1], tokens[:, wide - 1 : -1]
        mask = torch.ones_like(source)
        memory = self.trunk.encoder(input_ids=source, attention_mask=mask).last_hidden_state
        hidden = self.trunk.decoder(
            input_ids=target, encoder_hidden_states=memory, encoder_attention_mask=mask, use_cache=False
        ).last_hidden_state
        return self.logprobs(self.policy, tokens, wide, logs=logs), self.head(hidden)[:, :, 0]
