"""Matrix products in bfloat16 on weights of another type, by torch's autocast."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from loquent.pretrained.devices import dtype

NAME = "loquent_products"  # the attribute of a network


def mix(module: Any, name: str) -> None:
    """Choose the type of a network's matrix products by its name; "none" is the type of the weights."""
    setattr(module, NAME, name)


def products(module: Any) -> AbstractContextManager[Any]:
    """The context in which a network collects, scores and learns: autocast if `mix` chose a type."""
    name = getattr(module, NAME, "none")
    return nullcontext() if name == "none" else torch.autocast(module.device.type, dtype(name))
