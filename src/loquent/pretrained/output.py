"""The output layer of a causal model: what its own code does to the last hidden states until they are logits,
as operations.

`head` runs the model's `forward` with a stand-in for its trunk, which gives hidden states of no rows, and
records the operations that follow. So no weight and no number decides what the layer is: a soft cap on logits
is a soft cap however small the logits are. It does so for two shapes, neither of which holds a number: a
layer that does other things to more rows or longer ones is not recognised. Nothing is kept from one call to
the next, the trunk is not run, nothing is drawn at random, and hooks and caches are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from loquent.pretrained.recorder import Place, Recorder, Step, Unrecognised, flat, run, same
from loquent.pretrained.stand_in import StandIn, forward
from loquent.pretrained.torch_private import children, is_changed


@dataclass(frozen=True, eq=False)
class Product:
    """The output layer as `wide(narrow(states) @ weight.T + bias)`: so its logits can be formed some rows at
    a time.
    """

    weight: Tensor  # [V, H'], the model's own
    bias: Tensor | None  # [V]
    before: tuple[Step, ...]
    after: tuple[Step, ...]  # these have no weights

    def narrow(self, states: Tensor) -> Tensor:
        """What stands before the product: [*N, H] -> [*N, H']."""
        return run(self.before, states)

    def wide(self, outputs: Tensor) -> Tensor:
        """What stands after it, scales and caps: [*N, V] -> [*N, V]."""
        return run(self.after, outputs, len(self.before) + 1)


@dataclass(frozen=True, eq=False)
class OutputLayer:
    """Hidden states [*N, H] -> logits [*N, V], differentiable, on the weights as they are."""

    steps: tuple[Step, ...]
    width: int  # H
    trunk: nn.Module  # the part that gives the hidden states to the model's own forward
    product: Product | None  # where it is one product, with whatever stands around it

    def __call__(self, states: Tensor) -> Tensor:
        """The logits."""
        return run(self.steps, states)


def head(module: Any) -> OutputLayer | None:
    """The output layer of a causal model, as it is now.

    None where it is not recognised, and the model must be asked for its own logits.

    Recognised are linear layers, activations, scales, soft caps, biases, casts, normalisations of a row, and
    layers made of these. Hooks, replaced `forward`s, active dropout, quantised layers, and trunks that are
    not called with the ids alone are not.
    """
    trunk = next((name for name, part in children(module).items() if part is module.base_model), None)
    if trunk is None or is_changed(module) or any(is_changed(part) for part in _parts(module, trunk)):
        return None
    for width in _widths(module):
        try:
            return _recorded(module, trunk, width)
        except Exception:  # a model's own code may raise anything when its trunk is a stand-in
            continue
    return None


def _recorded(module: Any, trunk: str, width: int) -> OutputLayer:
    layer = _of_shape(module, trunk, width, (1, 0))
    if not same(layer.steps, _of_shape(module, trunk, width, (0, 7)).steps):
        raise Unrecognised("what it does depends on how many rows there are, or how long they are")
    return layer


def _of_shape(module: Any, trunk: str, width: int, shape: tuple[int, int]) -> OutputLayer:
    hidden = torch.zeros(*shape, width, dtype=module.dtype, device=module.device)
    ids = torch.zeros(*shape, dtype=torch.long, device=module.device)
    stand_in = StandIn(module.base_model, hidden, ids, torch.ones_like(ids))
    with (
        torch.enable_grad(),
        Recorder(hidden) as recorder,
    ):  # with a gradient what was computed from weights differs from weights
        found = forward(module, trunk, stand_in)
    logits = found[0] if isinstance(found, tuple) else found.logits
    steps = recorder.steps
    if recorder.known.get(id(logits)) != len(steps) or not steps:
        raise Unrecognised("the logits are not the last result")
    (called,) = stand_in.called  # once
    return OutputLayer(tuple(steps), width, called, _product(tuple(steps)))


def _product(steps: tuple[Step, ...]) -> Product | None:
    """The last linear step with what stands around it, where all that follows is made of its result and has
    no weights.
    """
    number = max((number for number, step in enumerate(steps) if step.function is F.linear), default=None)
    if number is None:
        return None
    before, step, after = steps[:number], steps[number], steps[number + 1 :]
    for value in flat([(later.given, later.named) for later in after]):
        if (isinstance(value, Place) and value.number <= number) or (
            isinstance(value, Tensor) and value.requires_grad
        ):
            return None
    bound = dict(zip(("input", "weight", "bias"), step.given, strict=False)) | step.named
    return (
        Product(bound["weight"], bound.get("bias"), before, after)
        if bound["input"] == Place(number)
        else None
    )


def _parts(module: nn.Module, trunk: str) -> Iterator[nn.Module]:
    """All modules beside the trunk."""
    for name, part in children(module).items():
        if name != trunk and part is not None:
            yield from part.modules()


def _widths(module: Any) -> list[int]:
    """What the size of the last hidden states may be: what the config says, and what the output embeddings
    read.
    """
    layer, config = module.get_output_embeddings(), module.config.get_text_config()
    weight = getattr(layer, "weight", None)
    sizes = [getattr(config, "hidden_size", None), None if weight is None else int(weight.shape[-1])]
    return list(dict.fromkeys(size for size in sizes if size is not None))
