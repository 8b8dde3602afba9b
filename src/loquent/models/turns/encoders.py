"""Encoders by name: from the arrays of observations to a state f[N, width] of each."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu

from loquent.models.turns.attention import Rows
from loquent.models.turns.inputs import Inputs
from loquent.models.turns.pictures import Patches, Picture
from loquent.models.turns.vilt import Vilt


class Vector(nn.Module):
    """Layers on the vector of a featurizer."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        assert inputs.vector is not None
        settings = inputs.settings
        sizes = [inputs.vector.size + len(settings.numbers), *[settings.width] * settings.layers]
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.width = settings.width

    def forward(self, features: Mapping[str, Tensor]) -> Float[Tensor, "N d"]:
        """The state of each observation."""
        state = _with_numbers(features["vector"].float(), features)
        for layer in self.hidden:
            state = gelu(layer(state))
        return state


def build(inputs: Inputs) -> Any:
    """The encoder that the settings name, newly initialised."""
    kinds: dict[str, Any] = {
        "vector": Vector,
        "objects": Rows,
        "cnn": Picture,
        "patches": Patches,
        "vilt": Vilt,
    }
    return kinds[inputs.settings.network](inputs)


def hidden_layers(encoder: Any) -> tuple[nn.Module, nn.Module, tuple[int, int]]:
    """The layers of the policy and of the value function behind the state of an encoder, and their widths."""
    if isinstance(encoder, Picture | Vilt):
        return encoder.hidden_layers()
    width = encoder.width
    policy, value = (nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(2))
    return policy, value, (width, width)


def _with_numbers(state: Tensor, features: Mapping[str, Tensor]) -> Tensor:
    return torch.cat([state, features["numbers"]], 1) if "numbers" in features else state
