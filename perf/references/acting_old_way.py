"""Acting with values the way the paper's code does it: notes on ILQL, §2.9, "generation mechanics" and the
formula above it.

Three networks (policy, target, V) are read for every token, also where V cancels, each through its output
layer. `batched`: generation starts at the shortest prompt, and the further tokens of longer prompts are
forced one by one; keys and values are as long as the context from the start and copied at every step; whether
a row has ended is asked row by row. `by_row`: one game after the other, each row read whole for every token,
without keys and values. Kinder than the original: no text, and no games played one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import StaticCache

FORCED = 1e7


class OldActor:
    """Greedy or sampled answers of `new` tokens from a perturbed policy.

    Args:
        networks: policy, target and value network: causal models whose last hidden states the heads read.
        heads: two target Q-heads, and V.
    """

    def __init__(
        self,
        networks: Sequence[Any],
        heads: Sequence[torch.nn.Module],
        adv_beta: float,
        adv_clip: float | None,
    ) -> None:
        self.networks, self.heads, self.adv_beta, self.adv_clip = networks, heads, adv_beta, adv_clip

    def scores(self, outs: Sequence[Any]) -> Tensor:
        """logits + min(adv_beta (T - V), adv_clip), [B, V], from what the three networks gave."""
        target, value = (out.hidden_states[-1][:, -1] for out in outs[1:])
        q = torch.minimum(self.heads[0](target), self.heads[1](target))
        advantage = self.adv_beta * (q - self.heads[2](value))
        return outs[0].logits[:, -1] + (
            advantage if self.adv_clip is None else advantage.clamp_max(self.adv_clip)
        )

    @torch.inference_mode()
    def by_row(self, prompts: Sequence[Sequence[int]], new: int, greedy: bool = False) -> list[list[int]]:
        """Three whole passes for every token of every row."""
        found = []
        for prompt in prompts:
            ids = torch.tensor([prompt])
            for _ in range(new):
                outs = [network(ids, use_cache=False, output_hidden_states=True) for network in self.networks]
                ids = torch.cat([ids, drawn(self.scores(outs), greedy)[:, None]], 1)
            found.append(ids[0, len(prompt) :].tolist())
        return found

    @torch.inference_mode()
    def batched(self, prompts: Sequence[Sequence[int]], new: int, greedy: bool = False) -> list[list[int]]:
        """All rows from the shortest prompt on, until the last has its answer."""
        lengths = [len(prompt) for prompt in prompts]
        tokens = torch.zeros(len(prompts), max(lengths) + new, dtype=torch.long)
        for row, prompt in zip(tokens, prompts, strict=True):
            row[: len(prompt)] = torch.tensor(prompt)
        caches = [
            StaticCache(config=network.config, max_cache_len=network.config.n_positions)
            for network in self.networks
        ]
        place, ids = min(lengths), tokens[:, : min(lengths)]
        while True:
            outs = [self._read(number, ids, caches, place) for number in range(3)]
            scores = self.scores(outs)
            for row, length in enumerate(lengths):  # row by row: forced, drawn, or ended
                if place < length:
                    scores[row, tokens[row, place]] += FORCED
                elif place >= length + new:
                    scores[row, 0] += FORCED
            chosen = drawn(scores, greedy)
            tokens[:, place] = chosen
            place += 1
            if all(place >= length + new for length in lengths):
                break
            ids = chosen[:, None]
        return [row[length : length + new].tolist() for row, length in zip(tokens, lengths, strict=True)]

    def _read(self, number: int, ids: Tensor, caches: list[Any], place: int) -> Any:
        for layer in caches[number].layers:
            if layer.is_initialized:
                layer.keys, layer.values = layer.keys.clone(), layer.values.clone()
        where = torch.arange(place - ids.shape[1], place)
        seen = torch.arange(self.networks[0].config.n_positions)[None] <= where[:, None]
        mask = seen[None, None].expand(len(ids), 1, -1, -1)
        given = {
            "attention_mask": mask,
            "position_ids": where[None],
            "past_key_values": caches[number],
            "use_cache": True,
        }
        return self.networks[number](ids, **given, output_hidden_states=True)


def drawn(scores: Tensor, greedy: bool) -> Tensor:
    """One token a row."""
    return scores.argmax(-1) if greedy else torch.distributions.Categorical(logits=scores).sample()
