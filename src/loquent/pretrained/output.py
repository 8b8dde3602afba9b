"""The output layer of a causal model, recorded as the operations from the last hidden states to the logits.

`head` runs the model's own `forward` with a stand-in for the trunk, which returns empty hidden states, and
records the operations after it. So the record does not depend on any value: a soft cap on logits is recorded
even if all logits are small. `head` compares the records of two empty shapes, and does not recognise a layer
whose operations depend on the shape. It stores nothing between calls, runs no trunk, draws no random numbers,
and leaves hooks and caches alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from loquent.pretrained.encoder_decoders import is_pair
from loquent.pretrained.pytorch.torch_private import children, is_changed
from loquent.pretrained.recorder import Place, Recorder, Step, Unrecognised, flat, run, same
from loquent.pretrained.stand_in import DecoderStandIn, StandIn, forward


@dataclass(frozen=True, eq=False)
class Product:
    """The output layer as `wide(narrow(states) @ weight.T + bias)`.

    In this form the logits can be computed for some rows at a time.
    """

    weight: Tensor  # [V, H'], the model's own tensor
    bias: Tensor | None  # [V]
    before: tuple[Step, ...]
    after: tuple[Step, ...]  # these have no weights

    def narrow(self, states: Tensor) -> Tensor:
        """The operations before the product: [*N, H] -> [*N, H']."""
        return run(self.before, states)

    def wide(self, outputs: Tensor) -> Tensor:
        """The operations after the product, such as scales and caps: [*N, V] -> [*N, V]."""
        return run(self.after, outputs, len(self.before) + 1)


@dataclass(frozen=True, eq=False)
class OutputLayer:
    """A differentiable function from hidden states [*N, H] to logits [*N, V], on the model's weights."""

    steps: tuple[Step, ...]
    width: int  # H
    trunk: nn.Module  # the part that returns the hidden states in the model's own forward
    product: Product | None  # None if the layer does not have this form

    def __call__(self, states: Tensor) -> Tensor:
        """The logits."""
        return run(self.steps, states)


def head(module: Any) -> OutputLayer | None:
    """The output layer of a causal model in its present state.

    The result is None if the layer is not recognised. Then the logits must come from the model's own forward.

    `head` recognises layers of these operations: linear layers, activations, scales, soft caps, biases,
    casts and normalisations of a row. It does not recognise models with hooks, replaced `forward`s, active
    dropout, quantised layers, or a trunk that reads other inputs than the ids.
    """
    trunk = _trunk(module)
    if trunk is None or is_changed(module) or any(is_changed(part) for part in _parts(module, trunk)):
        return None
    for width in _widths(module):
        try:
            return _recorded(module, trunk, width)
        except Exception:  # a model's own code may raise anything when its trunk is a stand-in
            continue
    return None


def _trunk(module: Any) -> str | None:
    """The name of the direct submodule that returns the hidden states."""
    parts = children(module)
    inner = module.base_model
    if inner is module and is_pair(module):  # T5's names no trunk: the model itself calls its decoder
        inner = module.get_decoder()
    return next((name for name, part in parts.items() if part is inner), None)


def _recorded(module: Any, trunk: str, width: int) -> OutputLayer:
    layer = _of_shape(module, trunk, width, (1, 0))
    if not same(layer.steps, _of_shape(module, trunk, width, (0, 7)).steps):
        raise Unrecognised("the operations depend on the number of rows or on their length")
    return layer


def _of_shape(module: Any, trunk: str, width: int, shape: tuple[int, int]) -> OutputLayer:
    hidden = torch.zeros(*shape, width, dtype=module.dtype, device=module.device)
    ids = torch.zeros(*shape, dtype=torch.long, device=module.device)
    if is_pair(module):
        stand_in: StandIn = DecoderStandIn(module.get_submodule(trunk), hidden, ids, torch.zeros_like(hidden))
    else:
        stand_in = StandIn(module.base_model, hidden, ids, torch.ones_like(ids))
    # with gradients enabled, tensors computed from weights differ from weights
    with torch.enable_grad(), Recorder(hidden) as recorder:
        output = forward(module, trunk, stand_in)
    logits = output[0] if isinstance(output, tuple) else output.logits
    steps = recorder.steps
    if recorder.numbers.get(id(logits)) != len(steps) or not steps:
        raise Unrecognised("the logits are not the last result")
    (called,) = stand_in.called  # exactly one call
    return OutputLayer(tuple(steps), width, called, _product(tuple(steps)))


def _product(steps: tuple[Step, ...]) -> Product | None:
    """The last linear step with the steps before and after it.

    None without a linear step, or if a later step reads weights or earlier results.
    """
    number = max((number for number, step in enumerate(steps) if step.function is F.linear), default=None)
    if number is None:
        return None
    before, step, after = steps[:number], steps[number], steps[number + 1 :]
    for value in flat([(later.args, later.kwargs) for later in after]):
        if (isinstance(value, Place) and value.number <= number) or (
            isinstance(value, Tensor) and value.requires_grad
        ):
            return None
    bound = dict(zip(("input", "weight", "bias"), step.args, strict=False)) | step.kwargs
    return (
        Product(bound["weight"], bound.get("bias"), before, after)
        if bound["input"] == Place(number)
        else None
    )


def _parts(module: Any, trunk: str) -> Iterator[nn.Module]:
    """All modules outside the trunk and the encoder."""
    encoder = module.get_encoder() if is_pair(module) else None
    for name, part in children(module).items():
        if name != trunk and part is not None and part is not encoder:
            yield from part.modules()


def _widths(module: Any) -> list[int]:
    """The possible sizes of the last hidden states: that of the config, and that of the output embeddings."""
    layer, config = module.get_output_embeddings(), module.config.get_text_config()
    weight = getattr(layer, "weight", None)
    sizes = [getattr(config, "hidden_size", None), None if weight is None else int(weight.shape[-1])]
    return list(dict.fromkeys(size for size in sizes if size is not None))


def trunk(module: Any) -> nn.Module:
    """The part of a causal model without its output layer; the model itself if it names no such part."""
    base: nn.Module = module.base_model
    return base


def width(module: Any) -> int:
    """The size of the last hidden states that the output layer reads."""
    recognised = head(module)
    if recognised is not None:
        return recognised.width
    layer = module.get_output_embeddings()
    return int(layer.weight.shape[1] if layer is not None else module.config.get_text_config().hidden_size)
