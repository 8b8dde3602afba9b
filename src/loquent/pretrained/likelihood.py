"""Teacher-forced likelihoods of texts under a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from loquent.errors import BadSetting
from loquent.pretrained.language import LanguageModel, context
from loquent.pretrained.networks import evaluating, groups, head, hidden, padded

CHUNK = 1 << 22  # logits held at once where only a few of them are wanted


@torch.no_grad()
def nll(
    language_model: LanguageModel, prompts: Sequence[str], texts: Sequence[str], *, token_budget: int = 8192, end: bool = True
) -> list[tuple[float, int]]:
    """Teacher-forced negative log-likelihood of texts after prompts: (sum in nats, how many tokens) each.

    A row is start token, prompt, text and (with `end`) the end token; text and end are counted. Prompt and text are tokenised as
    one string, and a token that begins in the prompt and ends in the text counts as text's. What does not fit the context
    loses the oldest tokens of its prompt; a text beyond the context is scored in windows that overlap by half.
    """
    if len(prompts) != len(texts):
        raise BadSetting(f"{len(prompts)} prompts and {len(texts)} texts; one prompt for each text is right")
    tokenizer, module = language_model.tokenizer, language_model.module
    close = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else min(language_model.end, default=0)
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else close
    windows: list[tuple[int, list[int], int]] = []
    for i, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
        ids, first = _split(tokenizer, prompt, text)
        row = [start, *ids, *([close] if end else [])]
        windows += [(i, *window) for window in _windows(row, first + 1, context(module))]
    sums, counts = [0.0] * len(texts), [0] * len(texts)
    with evaluating(module):
        for group in groups([len(ids) for _, ids, _ in windows], token_budget):
            for j, values in zip(group, _logprobs(module, [windows[j][1:] for j in group], language_model.pad), strict=True):
                sums[windows[j][0]] -= float(values.double().sum())
                counts[windows[j][0]] += len(values)
    return list(zip(sums, counts, strict=True))


@torch.no_grad()
def strided(language_model: LanguageModel, text: str, stride: int, *, token_budget: int = 8192) -> tuple[float, int]:
    """(mean loss in nats, how many tokens) of one long text, read in windows that move on by `stride` tokens, as RL4LMs does it.

    A window is a whole context of tokens that ends `stride` tokens after the one before; its loss is the mean over those new tokens. The
    means are weighted by the number of new tokens, among which the text's very first counts although nothing predicts it. The ids are
    the tokenizer's own, with its start token where it puts one, and without an end. A text of less than two tokens has no loss: (0.0, 0).

    Raises:
        BadSetting: a stride of less than 1, or one that leaves no token of context.
    """
    tokenizer, module = language_model.tokenizer, language_model.module
    if not 1 <= stride < context(module):
        raise BadSetting(f"stride = {stride} is outside [1, {context(module) - 1}]: a window has {context(module)} tokens, some of them context")
    begins = tokenizer.bos_token_id is not None and list(tokenizer("")["input_ids"])[:1] == [tokenizer.bos_token_id]
    ids = [*([tokenizer.bos_token_id] if begins else []), *plain_ids(tokenizer, text)]
    if len(ids) < 2:
        return 0.0, 0
    windows, sizes = [], []
    for i in range(0, len(ids), stride):
        end = min(i + stride, len(ids))
        begin = max(i + stride - context(module), 0)
        windows.append((ids[begin:end], max(i - begin, 1)))  # a window's first token has nothing before it
        sizes.append(end - i)
    total, weight = 0.0, 0
    with evaluating(module):
        for group in groups([len(window) for window, _ in windows], token_budget):
            for j, values in zip(group, _logprobs(module, [windows[j] for j in group], language_model.pad), strict=True):
                if len(values):  # with a stride of 1 the first window holds the first token alone
                    total -= float(values.double().mean()) * sizes[j]
                    weight += sizes[j]
    return total / weight, weight


def plain_ids(tokenizer: Any, text: str) -> list[int]:
    """The ids of a text in which special strings are plain characters and lone surrogates are replaced."""
    return _split(tokenizer, "", text)[0]


def _split(tokenizer: Any, prompt: str, text: str) -> tuple[list[int], int]:
    """The ids of prompt and text as one string, and where the text's begin."""
    whole = (prompt + text).encode("utf-8", "replace").decode("utf-8")  # each lone surrogate becomes one "?"
    options = {"add_special_tokens": False, "split_special_tokens": True, "return_offsets_mapping": True, "verbose": False}
    found = tokenizer(whole, **options)
    return list(found["input_ids"]), sum(end <= len(prompt) for _, end in found["offset_mapping"]) if prompt else 0


def _logprobs(module: Any, rows: Sequence[tuple[list[int], int]], pad: int) -> list[Tensor]:
    """For each (ids, first): the log-probabilities of ids[first:], each after all before it."""
    ids, real = padded([row for row, _ in rows], pad, module.device)
    first = torch.tensor([first for _, first in rows], device=ids.device)[:, None]
    wanted = real[:, 1:] & (torch.arange(1, ids.shape[1], device=ids.device) >= first)
    layer, chosen = head(module), ids[:, 1:][wanted]
    if layer is None:
        states = module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits[:, :-1][wanted]
    else:
        states = hidden(module, ids)[:, :-1][wanted]
    step = max(1, CHUNK // module.get_input_embeddings().weight.shape[0])
    found = []
    for i in range(0, len(chosen), step):
        logits = states[i : i + step] if layer is None else layer(states[i : i + step])
        logits = logits if logits.dtype == torch.float64 else logits.float()
        found.append(logits.log_softmax(-1).gather(1, chosen[i : i + step, None])[:, 0].cpu())
    return list(torch.cat([*found, torch.empty(0)]).split(wanted.sum(1).tolist()))


def _windows(ids: list[int], first: int, context: int) -> Iterator[tuple[list[int], int]]:
    """Pieces of at most `context` ids with the place of the first scored one; together they score ids[first:] once."""
    while first < len(ids):
        end = len(ids) if len(ids) - first < context else first + max(1, context // 2)
        begin = max(0, end - context)
        yield ids[begin:end], first - begin
        first = end
