"""Beam search through the library's own `generate`; the answers are scored afterwards by one teacher-forced
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch

from loquent.core.episode import Tokens
from loquent.models.decode.drawn import Drawn
from loquent.models.score.acted import acted, answers_laid
from loquent.models.trie import Trie
from loquent.models.values.perturb import Perturbation
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
    perturbation: Perturbation | None = None,
    greedy: Sequence[Drawn] | None = None,
) -> list[Drawn]:
    """The best sequence of each prompt.

    Both log-probabilities are full softmaxes: a search draws from no support.

    A `stop` function cuts the finished sequence at the first place where it is true; it does not steer the
    search. A perturbed policy is searched for the highest sum of its log-probabilities (arXiv:2206.11871, the
    released code); `drawn_logprob` is then its own. A search may lose the greedy sequence on its way: where
    `greedy` gives them, a better one of them is the answer.
    """
    found: list[Drawn] = []
    for first in range(0, len(prompts), max(1, decoding.live // decoding.beams)):
        some = slice(first, first + max(1, decoding.live // decoding.beams))
        answers = _search(
            module,
            prompts[some],
            decoding,
            sorted(end),
            pad,
            stop[some],
            allowed[some],
            vocabulary,
            perturbation,
        )
        scored = _scored(module, prompts[some], answers, pad, perturbation)
        if greedy is not None:
            others = _scored(
                module,
                prompts[some],
                [(one.tokens.ids.tolist(), one.stopped) for one in greedy[some]],
                pad,
                perturbation,
            )
            scored = [
                max(pair, key=lambda one: one.tokens.drawn_logprob.sum())
                for pair in zip(scored, others, strict=True)
            ]
        found += scored
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
    perturbation: Perturbation | None,
) -> list[tuple[list[int], str]]:
    from transformers import GenerationConfig, LogitsProcessorList

    from loquent.models.decode.processor import PerturbedLogits

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
        **({} if perturbation is None or decoding.beams == 1 else {"length_penalty": 0.0}),
    )
    mask = real.long()
    processors = LogitsProcessorList()
    if perturbation is not None:
        processors.append(PerturbedLogits(module, perturbation, decoding, attention_mask=mask))
    restricted = limit < rows or any(trie is not None for trie in allowed)
    own = module.generation_config
    module.generation_config = config  # the library fills what we leave unset from the model's own
    try:
        words = permitted if restricted else None
        found = module.generate(
            input_ids=ids, attention_mask=mask, logits_processor=processors, prefix_allowed_tokens_fn=words
        )
    finally:
        module.generation_config = own
    out = found[:, wide:].tolist()
    return [
        _cut(row, end, function, decoding.max_new_tokens) for row, function in zip(out, stop, strict=True)
    ]


def _scored(
    module: Any,
    prompts: Sequence[Sequence[int]],
    answers: Sequence[tuple[list[int], str]],
    pad: int,
    perturbation: Perturbation | None,
) -> list[Drawn]:
    """Answers with their log-probabilities in the full softmax, perturbed and not."""
    said = [answer for answer, _ in answers]
    scores = acted(module, *answers_laid(prompts, said, pad, module.device), perturbation)
    drawn, policy = (
        column.cpu().split([len(one) for one in said]) for column in (scores.drawn, scores.policy)
    )
    return [
        Drawn(Tokens(np.array(answer, dtype=np.int64), its.numpy().copy(), own.numpy().copy()), why)  # type: ignore[arg-type]  # the reason is one of three
        for (answer, why), its, own in zip(answers, drawn, policy, strict=True)
    ]


def _cut(
    row: list[int], end: list[int], stop: Callable[[list[int]], bool] | None, longest: int
) -> tuple[list[int], str]:
    """The answer up to its end, and why it stopped; what `generate` padded behind it is gone."""
    for n, token in enumerate(row, 1):
        if token in end:
            return row[:n], "end"
        if stop is not None and stop(row[:n]):
            return row[:n], "stop"
    return row[:longest], "length"
