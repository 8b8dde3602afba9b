"""Beam search with the `generate` of transformers.

The answers are scored afterwards in one teacher-forced pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch

from loquent.core.episode import Tokens
from loquent.errors import BadModel
from loquent.models.decode.drawn import Drawn
from loquent.models.score.acted import acting_at, padded_answers
from loquent.models.trie import Trie
from loquent.models.values.perturb import Perturbation
from loquent.pretrained import padded
from loquent.pretrained.pairs import is_pair, sides


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

    Both log-probabilities are full softmaxes, because a search has no support.

    A `stop` function cuts the finished sequence at the first place where it is true, without influence on the
    search. With a perturbation, the search maximises the sum of the perturbed policy's log-probabilities
    (arXiv:2206.11871, the released code), and `drawn_logprob` is the perturbed policy's. A search may lose
    the greedy sequence; if `greedy` has a better answer, it is taken.
    """
    answers: list[Drawn] = []
    size = max(1, decoding.live // decoding.beams)
    for first in range(0, len(prompts), size):
        part = slice(first, first + size)
        sequences = _search(
            module,
            prompts[part],
            decoding,
            sorted(end),
            pad,
            stop[part],
            allowed[part],
            vocabulary,
            perturbation,
        )
        scored = _scored(module, prompts[part], sequences, pad, perturbation)
        if greedy is not None:
            greedy_sequences = [(answer.tokens.ids.tolist(), answer.stopped) for answer in greedy[part]]
            others = _scored(module, prompts[part], greedy_sequences, pad, perturbation)
            scored = [
                max(pair, key=lambda answer: answer.tokens.drawn_logprob.sum())
                for pair in zip(scored, others, strict=True)
            ]
        answers += scored
    return answers


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
    """The best sequence of each prompt, and the reason why it stopped."""
    from transformers import GenerationConfig, LogitsProcessorList

    from loquent.models.decode.processor import PerturbedLogits

    inputs, sources = _inputs(module, prompts, pad)
    width = inputs["input_ids" if sources is None else "decoder_input_ids"].shape[1]
    rows = module.get_input_embeddings().weight.shape[0]
    limit = rows if vocabulary is None else min(vocabulary, rows)
    is_restricted = limit < rows or any(trie is not None for trie in allowed)
    config = GenerationConfig(
        num_beams=decoding.beams,
        do_sample=False,
        max_new_tokens=decoding.max_new_tokens,
        min_new_tokens=decoding.min_new_tokens or None,
        eos_token_id=end or None,
        pad_token_id=pad,
        decoder_start_token_id=None if sources is None else int(inputs["decoder_input_ids"][0, 0]),
        **({} if perturbation is None or decoding.beams == 1 else {"length_penalty": 0.0}),
    )
    processors = LogitsProcessorList()
    if perturbation is not None:
        own: dict[str, Any] = {"sources": sources, "attention_mask": inputs["attention_mask"]}
        own["attention_mask" if sources is not None else "sources"] = None
        processors.append(PerturbedLogits(module, perturbation, decoding, **own))
    original = module.generation_config
    module.generation_config = config  # else `generate` would take unset options from the model's own
    try:
        output = module.generate(
            **inputs,
            logits_processor=processors,
            prefix_allowed_tokens_fn=_allowed_ids(allowed, width, limit, end) if is_restricted else None,
        )
    finally:
        module.generation_config = original
    return [
        _cut(row, end, function, decoding.max_new_tokens)
        for row, function in zip(output[:, width:].tolist(), stop, strict=True)
    ]


def _inputs(
    module: Any, prompts: Sequence[Sequence[int]], pad: int
) -> tuple[dict[str, torch.Tensor], list[list[int]] | None]:
    """The inputs of `generate`, and the sources of an encoder-decoder, whose decoder's ids have no padding.

    Raises:
        BadModel: the decoder's ids of the prompts differ in length.
    """
    if not is_pair(module):
        ids, real = padded(prompts, pad, module.device, left=True)
        return {"input_ids": ids, "attention_mask": real.long()}, None
    split = [sides(prompt) for prompt in prompts]
    sources, starts = [source for source, _ in split], [start for _, start in split]
    if len({len(start) for start in starts}) > 1:
        raise BadModel(
            "the prompts of a beam search give the decoder different numbers of ids; all need one start; "
            "write them with one format"
        )
    ids, real = padded(sources, pad, module.device)
    first = torch.tensor(starts, device=module.device)
    return {"input_ids": ids, "attention_mask": real.long(), "decoder_input_ids": first}, sources


def _allowed_ids(
    allowed: Sequence[Trie | None], width: int, limit: int, end: list[int]
) -> Callable[[int, torch.Tensor], list[int]]:
    """The function that tells `generate` which ids may follow in a row.

    `width` is the number of prompt columns, and `limit` the number of ids that may be drawn at all.
    """
    all_ids = list(range(limit))

    def ids_after(number: int, row: torch.Tensor) -> list[int]:
        trie = allowed[number]
        if trie is None:
            return all_ids
        node = trie.root
        for token in row[width:].tolist():
            node = trie.step(node, token)
        return trie.allowed(node).tolist() or end or all_ids

    return ids_after


def _scored(
    module: Any,
    prompts: Sequence[Sequence[int]],
    answers: Sequence[tuple[list[int], str]],
    pad: int,
    perturbation: Perturbation | None,
) -> list[Drawn]:
    """Answers with their log-probabilities in the full softmax, with and without the perturbation."""
    ids = [answer for answer, _ in answers]
    scores = acting_at(module, *padded_answers(prompts, ids, pad, module.device), perturbation)
    lengths = [len(answer) for answer in ids]
    drawn, policy = (column.cpu().split(lengths) for column in (scores.drawn, scores.policy))
    return [
        Drawn(Tokens(np.array(answer, dtype=np.int64), p.numpy().copy(), q.numpy().copy()), reason)  # type: ignore[arg-type]  # the reason is one of three
        for (answer, reason), p, q in zip(answers, drawn, policy, strict=True)
    ]


def _cut(
    row: list[int], end: list[int], stop: Callable[[list[int]], bool] | None, max_new_tokens: int
) -> tuple[list[int], str]:
    """The answer without padding, up to its end, and the reason why it stopped."""
    for n, token in enumerate(row, 1):
        if token in end:
            return row[:n], "end"
        if stop is not None and stop(row[:n]):
            return row[:n], "stop"
    return row[:max_new_tokens], "length"
