"""Teacher-forced likelihoods of texts under a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from loquent.core.guards import tokenizer_files
from loquent.errors import BadModel, BadSetting
from loquent.pretrained import encoder_decoders
from loquent.pretrained.footprint import products
from loquent.pretrained.language import LanguageModel, context, plain
from loquent.pretrained.networks import evaluating, groups, hidden, pad_rows
from loquent.pretrained.networks import logits as own_logits
from loquent.pretrained.output import head

CHUNK = 1 << 22  # the most logits in memory at once


@torch.no_grad()
def nll(
    language_model: LanguageModel,
    prompts: Sequence[str],
    texts: Sequence[str],
    *,
    token_budget: int = 8192,
    end: bool = True,
) -> list[tuple[float, int]]:
    """The teacher-forced negative log-likelihood of each text after its prompt: (nats, number of tokens).

    A row is the start token, prompt, text and, with `end`, the end token. Text and end token count. Prompt
    and text are tokenised as one string; a token that begins in the prompt and ends in the text belongs to
    the text. A row beyond the context loses the oldest tokens of its prompt. A text beyond the context is
    scored in windows that overlap by half.

    An encoder-decoder reads the prompt in its encoder, and its decoder scores the text, which is tokenised on
    its own.

    Raises:
        BadSetting: the numbers of prompts and texts differ.
    """
    if len(prompts) != len(texts):
        raise BadSetting(
            f"{len(prompts)} prompts and {len(texts)} texts; there must be one prompt for each text"
        )
    tokenizer, module = language_model.tokenizer, language_model.module
    close = (
        tokenizer.eos_token_id if tokenizer.eos_token_id is not None else min(language_model.end, default=0)
    )
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else close
    windows: list[tuple[int, list[int], int]] = []
    for i, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
        if encoder_decoders.is_pair(module):
            windows += [(i, *window) for window in _paired_windows(language_model, prompt, text, close, end)]
            continue
        ids, first = _split(tokenizer, prompt, text)
        row = [start, *ids, *([close] if end else [])]
        windows += [(i, *window) for window in _windows(row, first + 1, context(module))]
    return _summed(language_model, windows, len(texts), token_budget)


@torch.no_grad()
def nll_of_rows(
    language_model: LanguageModel, rows: Sequence[tuple[list[int], int]], *, token_budget: int = 8192
) -> list[tuple[float, int]]:
    """The negative log-likelihood of ids[first:] after ids[:first] of each row (ids, first): (nats, tokens).

    Products have the type that the model learns with.
    """
    longest = context(language_model.module)
    windows = [(i, *window) for i, row in enumerate(rows) for window in _windows(*row, longest)]
    with products(language_model.module):
        return _summed(language_model, windows, len(rows), token_budget)


@torch.no_grad()
def strided_loss(
    language_model: LanguageModel, text: str, stride: int, *, token_budget: int = 8192
) -> tuple[float, int]:
    """(mean loss in nats, tokens) of a long text in windows that advance by `stride` tokens, as in RL4LMs.

    Each window has the length of the context and ends `stride` tokens after the window before it. Its loss is
    the mean over the new tokens. The means are weighted by the number of new tokens. This number includes the
    text's first token, although nothing predicts it. The ids are the tokenizer's, with its start token if it
    adds one, and without an end token. A text of less than two tokens has the loss (0.0, 0).

    Raises:
        BadSetting: the stride is less than 1, or leaves no token of context.
        BadModel: the model is an encoder-decoder.
    """
    tokenizer, module = language_model.tokenizer, language_model.module
    if encoder_decoders.is_pair(module):
        raise BadModel(
            f"{module.config.model_type} is an encoder-decoder, which has no likelihood of a joined text "
            "without a prompt; use a causal model, or the perplexity of answers after their prompts"
        )
    if not 1 <= stride < context(module):
        raise BadSetting(
            f"stride = {stride}; it must be in [1, {context(module) - 1}], because a window of "
            f"{context(module)} tokens needs context"
        )
    begins = tokenizer.bos_token_id is not None and list(tokenizer("")["input_ids"])[:1] == [
        tokenizer.bos_token_id
    ]
    ids = [*([tokenizer.bos_token_id] if begins else []), *plain_ids(tokenizer, text)]
    if len(ids) < 2:
        return 0.0, 0
    windows, sizes = [], []
    for i in range(0, len(ids), stride):
        end = min(i + stride, len(ids))
        begin = max(i + stride - context(module), 0)
        windows.append((ids[begin:end], max(i - begin, 1)))  # no token predicts a window's first token
        sizes.append(end - i)
    total, weight = 0.0, 0
    with evaluating(module):
        for group in groups([len(window) for window, _ in windows], token_budget):
            for j, values in zip(
                group, _logprobs(module, [windows[j] for j in group], language_model.pad), strict=True
            ):
                if len(values):  # with a stride of 1 the first window has one token and no prediction
                    total -= float(values.double().mean()) * sizes[j]
                    weight += sizes[j]
    return total / weight, weight


def plain_ids(tokenizer: Any, text: str) -> list[int]:
    """The ids of a text. Strings of special tokens count as plain text, and lone surrogates are replaced."""
    return _split(tokenizer, "", text)[0]


def _split(tokenizer: Any, prompt: str, text: str) -> tuple[list[int], int]:
    """The ids of prompt and text as one string, and the index of the text's first id."""
    joined = plain(prompt + text)
    options = {
        "add_special_tokens": False,
        "split_special_tokens": True,
        "return_offsets_mapping": True,
        "verbose": False,
    }
    with tokenizer_files.encoding(tokenizer, [joined]):
        encoded = tokenizer(joined, **options)
    first = sum(end <= len(prompt) for _, end in encoded["offset_mapping"]) if prompt else 0
    return list(encoded["input_ids"]), first


def _summed(
    language_model: LanguageModel,
    windows: Sequence[tuple[int, list[int], int]],
    texts: int,
    token_budget: int,
) -> list[tuple[float, int]]:
    """The sums over the windows (text, ids, first) of each text: (nats, number of tokens)."""
    sums, counts = [0.0] * texts, [0] * texts
    module = language_model.module
    with evaluating(module):
        for group in groups([len(ids) for _, ids, _ in windows], token_budget):
            for j, values in zip(
                group, _logprobs(module, [windows[j][1:] for j in group], language_model.pad), strict=True
            ):
                sums[windows[j][0]] -= float(values.double().sum())
                counts[windows[j][0]] += len(values)
    return list(zip(sums, counts, strict=True))


def _logprobs(module: Any, rows: Sequence[tuple[list[int], int]], pad: int) -> list[Tensor]:
    """The log-probabilities of ids[first:] given the ids before each, for each row (ids, first)."""
    ids, real = pad_rows([row for row, _ in rows], pad, module.device)
    first = torch.tensor([first for _, first in rows], device=ids.device)[:, None]
    scored = real[:, 1:] & (torch.arange(1, ids.shape[1], device=ids.device) >= first)
    layer, chosen = head(module), ids[:, 1:][scored]
    if layer is None:
        states = own_logits(module, ids)[:, :-1][scored]
    else:
        wanted = (
            real if encoder_decoders.is_pair(module) else None
        )  # a decoder has no place for a source's padding
        states = hidden(module, ids, wanted)[:, :-1][scored]
    step = max(1, CHUNK // module.get_input_embeddings().weight.shape[0])
    parts = []
    for i in range(0, len(chosen), step):
        logits = states[i : i + step] if layer is None else layer(states[i : i + step])
        logits = logits if logits.dtype == torch.float64 else logits.float()
        parts.append(logits.log_softmax(-1).gather(1, chosen[i : i + step, None])[:, 0].cpu())
    return list(torch.cat([*parts, torch.empty(0)]).split(scored.sum(1).tolist()))


def _paired_windows(
    language_model: LanguageModel, prompt: str, text: str, close: int, end: bool
) -> Iterator[tuple[list[int], int]]:
    """The windows of an encoder-decoder: each has the whole source, and a part of the decoder's ids."""
    module, tokenizer = language_model.module, language_model.tokenizer
    before, after = encoder_decoders.around(tokenizer)
    longest, widest = encoder_decoders.limits(module)
    after = after or (close,)
    room = longest - len(before) - len(after)
    source = encoder_decoders.source_ids([*before, *plain_ids(tokenizer, prompt)[-room:], *after])
    start = encoder_decoders.start_ids(module, tokenizer)
    row = [*start, *plain_ids(tokenizer, text), *([close] if end else [])]
    for ids, first in _windows(row, len(start), widest):
        yield [*source, *ids], len(source) + first


def _windows(ids: list[int], first: int, context: int) -> Iterator[tuple[list[int], int]]:
    """Windows of at most `context` ids, with the index of the first scored id.

    Together they score each of ids[first:] once.
    """
    while first < len(ids):
        end = len(ids) if len(ids) - first < context else first + max(1, context // 2)
        begin = max(0, end - context)
        yield ids[begin:end], first - begin
        first = end
