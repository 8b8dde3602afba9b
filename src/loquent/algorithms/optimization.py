"""What all gradient learners share: which parameters learn, AdamW and its state by name, minibatches, clipped steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from loquent.errors import BadCheckpoint
from loquent.seeding import Key

Parameters = dict[str, nn.Parameter]


def trainable(**networks: nn.Module | None) -> Parameters:
    """The parameters of the named networks that require a gradient, by "network.path"; a shared one is listed once."""
    seen: set[int] = set()
    found: Parameters = {}
    for network, module in networks.items():
        for name, parameter in module.named_parameters() if module is not None else ():
            if parameter.requires_grad and id(parameter) not in seen:
                seen.add(id(parameter))
                found[f"{network}.{name}"] = parameter
    return found


def adamw(parameters: Parameters, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """AdamW (arXiv:1711.05101) in its fused form where the device has one; vectors (biases, norms) do not decay."""
    matrices = [p for p in parameters.values() if p.dim() > 1]
    vectors = [p for p in parameters.values() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters.values())
    return torch.optim.AdamW(groups, lr=learning_rate, fused=fused or None)


def state_by_name(optimizer: torch.optim.Optimizer, parameters: Parameters) -> dict[str, dict[str, Tensor]]:
    """The optimizer's tensors by the name of their parameter; empty before the first step. Copies, so later steps change nothing."""
    return {name: {key: value.detach().clone() for key, value in optimizer.state[p].items()} for name, p in parameters.items() if p in optimizer.state}


def load_by_name(optimizer: torch.optim.Optimizer, parameters: Parameters, state: Mapping[str, Mapping[str, Tensor]]) -> None:
    """Take back what `state_by_name` gave.

    Raises:
        BadCheckpoint: a parameter has another name or shape than the model's.
    """
    unknown = sorted(set(state) - set(parameters))
    if unknown:
        raise BadCheckpoint(f"the optimizer's state has {unknown[0]!r}, which the model has not; it belongs to another model")
    missing = sorted(set(parameters) - set(state)) if state else []
    if missing:
        raise BadCheckpoint(f"the optimizer's state lacks {missing[0]!r}; it belongs to another model")
    optimizer.state.clear()
    for name, entry in state.items():
        parameter = parameters[name]
        moments = [value for value in entry.values() if value.dim()]
        if any(value.shape != parameter.shape for value in moments):
            raise BadCheckpoint(f"the optimizer's state of {name!r} has the shape {tuple(moments[0].shape)}, the model's {tuple(parameter.shape)}")
        optimizer.state[parameter] = {key: value.to(parameter.device if value.dim() else value.device).clone() for key, value in entry.items()}


def minibatches(rows: Tensor, size: int, key: Key) -> Iterator[Tensor]:
    """The rows of a batch in a keyed random order, `size` at a time; the last minibatch may be smaller."""
    order = torch.from_numpy(key.generator().permutation(len(rows)))
    yield from rows[order.to(rows.device)].split(size)


def gradient_norm(parameters: Parameters, limit: float | None) -> float:
    """The norm of all gradients together; with a limit they are scaled down to it."""
    return float(torch.nn.utils.clip_grad_norm_(list(parameters.values()), float("inf") if limit is None else limit))
