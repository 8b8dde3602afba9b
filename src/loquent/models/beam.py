"""Beam search through the library's own `generate`; the answers are scored afterwards by one teacher-forced pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch

from loquent.episode import Tokens
from loquent.models.drawn import Drawn
from loquent.models.words import Trie
from loquent.pretrained import padded


def beam_search(
    module: Any,
    prompts: Sequence[Sequence[int]],
    decoding: Any,
    *,
    end: Collection[int],
    pad: int,
    stop: Sequence[Callable[[list[int]], bool] | None],
    allowed: Sequence[Trie | None],
    vocabulary: int | None,
) -> list[Drawn]:
    """The best sequence of each prompt. Both log-probabilities are the model's full softmax: a search draws from no support.

    A `stop` function cuts the finished sequence at the first place where it is true; it does not steer the search.
    """
    found: list[Drawn] = []
    for first in range(0, len(prompts), max(1, decoding.live // decoding.beams)):
        some = slice(first, first + max(1, decoding.live // decoding.beams))
        found += _search(module, prompts[some], decoding, sorted(end), pad, stop[some], allowed[some], vocabulary)
    return found


def _search(
    module: Any,
    prompts: Sequence[Sequence[int]],
    decoding: Any,
    end: list[int],
    pad: int,
    stop: Sequence[Callable[[list[int]], bool] | None],
    allowed: Sequence[Trie | None],
    vocabulary: int | None,
) -> list[Drawn]:
    from transformers import GenerationConfig

    ids, real = padded(prompts, pad, module.device, left=True)
    rows = module.get_input_embeddings().weight.shape[0]
    limit = rows if vocabulary is None else min(vocabulary, rows)
    wide, everything = ids.shape[1], list(range(limit))

    def permitted(number: int, row: torch.Tensor) -> list[int]:
        trie = allowed[number]
        if trie is None:
            return everything
        node = trie.root
        for token in row[wide:].tolist():
            node = trie.step(node, token)
        return trie.allowed(node).tolist() or end or everything

    config = GenerationConfig(
        num_beams=decoding.beams,
        do_sample=False,
        max_new_tokens=decoding.max_new_tokens,
        min_new_tokens=decoding.min_new_tokens or None,
        eos_token_id=end or None,
        pad_token_id=pad,
    )
    restricted = limit < rows or any(trie is not None for trie in allowed)
    own = module.generation_config
    module.generation_config = config  # the library fills what we leave unset from the model's own
    try:
        found = module.generate(input_ids=ids, attention_mask=real.long(), prefix_allowed_tokens_fn=permitted if restricted else None)
    finally:
        module.generation_config = own
    out = found[:, wide:].tolist()
    answers = [_cut(row, end, function, decoding.max_new_tokens) for row, function in zip(out, stop, strict=True)]
    scores = _scored(module, prompts, [answer for answer, _ in answers], pad)
    return [
        Drawn(Tokens(np.array(answer, dtype=np.int64), score, score.copy()), why)  # type: ignore[arg-type]
        for (answer, why), score in zip(answers, scores, strict=True)
    ]


def _cut(row: list[int], end: list[int], stop: Callable[[list[int]], bool] | None, longest: int) -> tuple[list[int], str]:
    """The answer up to its end, and why it stopped; what `generate` padded behind it is gone."""
    for n, token in enumerate(row, 1):
        if token in end:
            return row[:n], "end"
        if stop is not None and stop(row[:n]):
            return row[:n], "stop"
    return row[:longest], "length"


def _scored(module: Any, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], pad: int) -> list[np.ndarray]:
    ids, _ = padded([[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)], pad, module.device)
    longest = max(map(len, answers))
    place = torch.tensor([[min(len(prompt) + j, ids.shape[1] - 1) for j in range(longest)] for prompt in prompts], device=ids.device)
    logits = module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
    row = torch.arange(len(prompts), device=ids.device)[:, None]
    logprob = logits[row, place - 1].double().log_softmax(-1).gather(2, ids[row, place][:, :, None])[:, :, 0].cpu().numpy()
    return [logprob[i, : len(answer)].copy() for i, answer in enumerate(answers)]
