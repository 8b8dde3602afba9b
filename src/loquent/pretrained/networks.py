"""Parts of every forward pass: last hidden states, padding, groups by token budget, evaluation mode."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from loquent.pretrained import encoder_decoders
from loquent.pretrained.forward import hidden_where, pass_of
from loquent.pretrained.pytorch.torch_private import is_dropout


@contextmanager
def evaluating(*modules: nn.Module) -> Iterator[None]:
    """Evaluation mode (no dropout) inside the context; after it each part has its former mode."""
    training = [part for module in modules for part in module.modules() if part.training]
    for module in modules:
        module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def drops_out(module: nn.Module) -> bool:
    """Whether a forward pass in the current modes drops units at random.

    A part drops units as a dropout layer, or by a rate in one of its attributes.
    """
    return any(part.training and any(rate > 0 for rate in _dropout_rates(part)) for part in module.modules())


def _dropout_rates(part: nn.Module) -> list[float]:
    if is_dropout(part):
        return [float(part.p)]  # type: ignore[arg-type]  # a dropout layer has a rate
    return [value for name, value in vars(part).items() if "drop" in name and isinstance(value, float)]


def hidden(module: Any, tokens: Tensor, wanted: Tensor | None = None) -> Tensor:
    """The last hidden states [B, T, D] of right-padded rows of ids, for a language model or its trunk.

    One forward pass. The hidden states of an encoder-decoder are its decoder's (`encoder_decoders.hidden`).
    The padding follows all real positions, so in a causal model it does not affect them. So the mask is all
    ones, and the model counts the positions itself.

    Args:
        wanted: the positions that are read, bool[B, T]; all by default. The states at other positions are
            undefined.
    """
    inner = module.base_model
    if encoder_decoders.is_pair(inner):
        return encoder_decoders.hidden(inner, tokens, wanted)
    own = pass_of(inner)
    if own is not None:
        return own.last_hidden(inner, tokens) if wanted is None else hidden_where(own, inner, tokens, wanted)
    inputs: dict[str, Any] = {
        "input_ids": tokens,
        "attention_mask": torch.ones_like(tokens),
        "use_cache": False,
    }
    if inner.get_output_embeddings() is None:
        states: Tensor = inner(**inputs).last_hidden_state
        return states
    if "logits_to_keep" in inspect.signature(inner.forward).parameters:
        inputs["logits_to_keep"] = 1  # the logits are unused, and all of them would be large
    last: Tensor = inner(**inputs, output_hidden_states=True).hidden_states[-1]
    return last


def logits(module: Any, tokens: Tensor) -> Tensor:
    """The logits [B, T, V] of right-padded rows of ids by the model's own forward pass."""
    if not encoder_decoders.is_pair(module):
        output = module(input_ids=tokens, attention_mask=torch.ones_like(tokens), use_cache=False).logits
        return output  # type: ignore[no-any-return]  # transformers has no types
    parts = encoder_decoders.split(tokens)
    memory, real = encoder_decoders.encode_sources(module, parts.source, parts.real)
    output = module(
        encoder_outputs=encoder_decoders.encoder_output(memory),
        attention_mask=real.long(),
        decoder_input_ids=parts.target,
        decoder_attention_mask=torch.ones_like(parts.target),
        use_cache=False,
    ).logits
    result = output.new_zeros(*tokens.shape, output.shape[2])
    read = parts.decodes
    return result.index_put(read.nonzero(as_tuple=True), output[parts.pair[read], parts.place[read]])


def twin(module: nn.Module) -> Any:
    """A copy that shares the frozen parameters, such as those under low-rank adapters."""
    shared = {id(parameter): parameter for parameter in module.parameters() if not parameter.requires_grad}
    return copy.deepcopy(module, shared)


def exactly(module: nn.Module, dtype: torch.dtype) -> Any:
    """The module with the parameters that learn in a type; frozen ones may be shared and keep theirs."""
    if all(parameter.requires_grad for parameter in module.parameters()):
        return module.to(dtype)
    for parameter in module.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.to(dtype)
    return module


def groups(lengths: Sequence[int], token_budget: int) -> list[list[int]]:
    """Indices in groups of similar length, longest first.

    A padded group has at most `token_budget` tokens, or a single row.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batches: list[list[int]] = []
    for i in order:
        if not batches or (len(batches[-1]) + 1) * lengths[batches[-1][0]] > token_budget:
            batches.append([])
        batches[-1].append(i)
    return batches


def pad_rows(
    rows: Sequence[Sequence[int]], pad: int, device: torch.device | str, *, left: bool = False
) -> tuple[Tensor, Tensor]:
    """Rows of ids as one tensor (ids [B, T], real bool[B, T]), padded on the right or the left."""
    width = max(map(len, rows))
    lists = [
        [pad] * (width - len(row)) + list(row) if left else list(row) + [pad] * (width - len(row))
        for row in rows
    ]
    lengths, places = torch.tensor([len(row) for row in rows])[:, None], torch.arange(width)
    real = places >= width - lengths if left else places < lengths
    return torch.tensor(lists, dtype=torch.long).to(device), real.to(device)
