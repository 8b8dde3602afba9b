"""Beam search with the `generate` of transformers.

Prompts of one length are searched together, so no row is padded. The answers are scored afterwards in one
teacher-forced pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from loquent.core.episode import Tokens
from loquent.errors import BadModel, LoquentError, is_memory_error
from loquent.models.decode.record import Choices, Request, Sequences, Stop
from loquent.models.decode.sampling import NOT_FINITE
from loquent.models.engine import Drawn
from loquent.models.score.action_scores import acting_at, padded_answers
from loquent.models.values.perturb import Perturbation
from loquent.pretrained.encoder_decoders import is_pair, sides


def beam_search(request: Request, greedy: Sequence[Drawn] | None = None) -> list[Drawn]:
    """The best sequence of each prompt.

    The search maximises the sum of log-probabilities in the full softmax, divided by the length, as
    `generate` does. The support of a token is the set of ids that the search could choose from.

    A `stop` function cuts the finished sequence at the first place where it is true, without influence on the
    search. With a perturbation, the search maximises the sum of the perturbed policy's log-probabilities
    (arXiv:2206.11871, the released code), and `drawn_logprob` is the perturbed policy's. A search may lose
    the greedy sequence; if `greedy` has a better answer, it is taken.

    Raises:
        BadModel: logits are not finite, or `generate` refuses the model.
    """
    module, prompts, decoding, pad = request.module, request.prompts, request.decoding, request.pad
    perturbation, end = request.perturbation, sorted(request.end)
    answers: dict[int, Drawn] = {}
    rows = module.get_input_embeddings().weight.shape[0]
    limit = rows if request.vocabulary is None else min(request.vocabulary, rows)
    for numbers in _groups(module, prompts, max(1, decoding.live // decoding.beams)):
        chosen = [prompts[i] for i in numbers]
        allowed = [request.allowed[i] for i in numbers]
        choices = Choices(allowed, end, decoding.min_new_tokens, limit, rows)
        found = _search(module, chosen, decoding, pad, choices, perturbation)
        sequences = [
            _cut(row, choices, n, request.stop[i], decoding.max_new_tokens)
            for n, (row, i) in enumerate(zip(found, numbers, strict=True))
        ]
        scored = _scored(module, chosen, sequences, pad, perturbation, choices)
        if greedy is not None:
            others = [(greedy[i].tokens.ids.tolist(), greedy[i].stopped) for i in numbers]
            pairs = zip(scored, _scored(module, chosen, others, pad, perturbation, choices), strict=True)
            scored = [max(pair, key=lambda answer: answer.tokens.drawn_logprob.sum()) for pair in pairs]
        answers |= zip(numbers, scored, strict=True)
    return [answers[i] for i in range(len(prompts))]


def _groups(module: Any, prompts: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    """The numbers of at most `size` prompts of one length each; of an encoder-decoder, on both sides."""
    lengths: dict[tuple[int, ...], list[int]] = {}
    for number, prompt in enumerate(prompts):
        length = tuple(map(len, sides(prompt))) if is_pair(module) else (len(prompt),)
        lengths.setdefault(length, []).append(number)
    return [same[i : i + size] for same in lengths.values() for i in range(0, len(same), size)]


def _search(
    module: Any,
    prompts: Sequence[Sequence[int]],
    decoding: Any,
    pad: int,
    choices: Choices,
    perturbation: Perturbation | None,
) -> list[list[int]]:
    """The best sequence of each prompt, with padding and what follows an end.

    Raises:
        BadModel: as in `beam_search`.
    """
    from transformers import GenerationConfig, LogitsProcessorList

    from loquent.models.decode.processor import AllowedLogits, PerturbedLogits

    inputs, sources = _inputs(module, prompts)
    width = inputs["input_ids" if sources is None else "decoder_input_ids"].shape[1]
    config = GenerationConfig(
        num_beams=decoding.beams,
        do_sample=False,
        max_new_tokens=decoding.max_new_tokens,
        eos_token_id=choices.end or None,
        pad_token_id=pad,
        decoder_start_token_id=None if sources is None else int(inputs["decoder_input_ids"][0, 0]),
        **({} if perturbation is None or decoding.beams == 1 else {"length_penalty": 0.0}),
    )
    processors = LogitsProcessorList([AllowedLogits(choices, len(prompts), width)])
    if perturbation is not None:
        processors.append(PerturbedLogits(module, perturbation, decoding, sources=sources))
    original = module.generation_config
    module.generation_config = config  # else `generate` would take unset options from the model's own
    try:
        output = module.generate(**inputs, logits_processor=processors)
    except LoquentError:
        raise
    except Exception as error:  # of the model's own code, which may raise anything
        if is_memory_error(error):
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BadModel(
            f"the beam search of transformers does not run with {module.config.model_type} in "
            f"{str(module.dtype).removeprefix('torch.')}: {reason}; decoding.method must "
            "be greedy or sample for this model, or its dtype another"
        ) from error
    finally:
        module.generation_config = original
    sequences: list[list[int]] = output[:, width:].tolist()
    return sequences


def _inputs(
    module: Any, prompts: Sequence[Sequence[int]]
) -> tuple[dict[str, torch.Tensor], list[list[int]] | None]:
    """The inputs of `generate` of prompts of one length, and the sources of an encoder-decoder."""
    if not is_pair(module):
        ids = torch.tensor([list(prompt) for prompt in prompts], device=module.device)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, None
    split = [sides(prompt) for prompt in prompts]
    sources = [source for source, _ in split]
    ids = torch.tensor(sources, device=module.device)
    starts = torch.tensor([start for _, start in split], device=module.device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": starts}, sources


def _scored(
    module: Any,
    prompts: Sequence[Sequence[int]],
    answers: Sequences,
    pad: int,
    perturbation: Perturbation | None,
    choices: Choices,
) -> list[Drawn]:
    """Answers with their supports, and their log-probabilities in the supports and in the full softmax.

    Raises:
        BadModel: a log-probability is not finite.
    """
    ids = [answer for answer, _ in answers]
    support = choices.support(answers)
    scores = acting_at(module, *padded_answers(prompts, ids, pad, module.device), perturbation, support)
    if not bool((scores.drawn.isfinite() & scores.policy.isfinite()).all()):
        raise BadModel(NOT_FINITE)
    lengths = [len(answer) for answer in ids]
    drawn, policy = (column.cpu().split(lengths) for column in (scores.drawn, scores.policy))
    scored, first = [], 0
    for (answer, reason), p, q in zip(answers, drawn, policy, strict=True):
        own = None if support is None else support.take(slice(first, first + len(answer)))
        own = None if own is None or own.is_everything else own
        tokens = Tokens(np.array(answer, dtype=np.int64), p.numpy().copy(), q.numpy().copy(), own)
        scored.append(Drawn(tokens, reason))  # type: ignore[arg-type]  # the reason is one of three
        first += len(answer)
    return scored


def _cut(
    row: list[int],
    choices: Choices,
    number: int,
    stop: Stop | None,
    max_new_tokens: int,
) -> tuple[list[int], str]:
    """The answer of a row without padding, up to its end, and the reason why it stopped."""
    for n, token in enumerate(row, 1):
        if token in choices.end or (choices.allowed[number] and choices.after(number, row[:n]) is None):
            return row[:n], "end"
        if stop is not None and stop(row[:n]):
            return row[:n], "stop"
    return row[:max_new_tokens], "length"
