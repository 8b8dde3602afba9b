"""Matrix products in bfloat16 on weights of another type, by torch's autocast."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from loquent.pretrained.pytorch.devices import dtype

NAME = "loquent_products"  # the attribute of a network


def mix(module: Any, name: str) -> None:
    """Choose the type of a network's matrix products by its name; "none" is the type of the weights."""
    setattr(module, NAME, name)


def products(module: Any, *, learns: bool = False) -> AbstractContextManager[Any]:
    """The context in which a network collects, scores and learns: autocast if `mix` chose a type.

    Args:
        learns: weights change inside the context. Autocast otherwise keeps the converted weights until its
            outermost context ends, so that later passes would read the weights of the first.
    """
    name = getattr(module, NAME, "none")
    if name == "none":
        return nullcontext()
    device = module.device.type
    outermost = not torch.is_autocast_enabled(device)
    return torch.autocast(device, dtype(name), cache_enabled=outermost and not learns)


def type_of_products(module: Any) -> torch.dtype:
    """The type of a network's matrix products in the current context."""
    device = module.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else module.dtype
