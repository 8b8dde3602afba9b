"""Noise of layers from counters: entry i of a stream depends on the stream's seed and on i alone.

No generator has a state, on any device, and the noise of a few rows costs as much as those rows.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from loquent.core.seeding import Key

_MASK = (1 << 64) - 1


def _signed(number: int) -> int:
    return (number & _MASK) - (1 << 64) * ((number & _MASK) >> 63)


# splitmix64 (Steele, Lea and Flood, OOPSLA 2014)
_STEP, _FIRST, _SECOND = (_signed(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def _shifted(values: Tensor, bits: int) -> Tensor:
    """A shift to the right that fills with zeros."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def uniform(seed: int, counters: Int[Tensor, ...]) -> Float[Tensor, ...]:
    """Numbers in (0, 1) by splitmix64 of the seed and of each counter; equal on every device."""
    values = (counters.to(torch.int64) + 1) * _STEP + _signed(seed)
    values = (values ^ _shifted(values, 30)) * _FIRST
    values = (values ^ _shifted(values, 27)) * _SECOND
    values = values ^ _shifted(values, 31)
    return (_shifted(values, 11).double() + 0.5) * 2.0**-53


def noise(seed: int, counters: Int[Tensor, ...]) -> Float[Tensor, ...]:
    """f(ε) = sign(ε) √|ε| of standard normal ε (arXiv:1706.10295 eq. 10), by Box and Muller's transform."""
    radius = (-2 * uniform(seed, 2 * counters).log()).sqrt()
    normal = radius * (2 * math.pi * uniform(seed, 2 * counters + 1)).cos()
    return (normal.sign() * normal.abs().sqrt()).float()


class Noise(nn.Module):
    """A layer with noise. `seed` selects it (`stir`); None: the layer uses the means of its weights alone."""

    seed: int | None = None


def stir(network: nn.Module, key: Key | None) -> None:
    """Give every noisy layer of a network noise of its own from a key; None: no noise."""
    layers = [layer for layer in network.modules() if isinstance(layer, Noise)]
    for number, layer in enumerate(layers):
        layer.seed = None if key is None else key.child(number).integer()


class Noisy(Noise):
    """A linear layer whose weights are μ + σ ∘ ε with factorised noise ε = f(ε_out) f(ε_in)ᵀ.

    μ begins uniform in ±1/√in, σ as σ0/√in, that of the bias as σ0/√out.
    """

    def __init__(self, inputs: int, outputs: int, sigma: float) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((outputs, inputs), sigma * bound))
        self.bias_sigma = nn.Parameter(torch.full((outputs,), sigma / math.sqrt(outputs)))

    def forward(self, states: Float[Tensor, "... i"]) -> Float[Tensor, "... o"]:
        """The layer's output, with the noise of its seed."""
        if self.seed is None:
            return F.linear(states, self.weight, self.bias)
        outputs, inputs = self.weight.shape
        into, out = factors(self.seed, inputs, torch.arange(outputs, device=states.device))
        weight = self.weight + self.weight_sigma * (out[:, None] * into)
        return F.linear(states, weight, self.bias + self.bias_sigma * out)


def factors(seed: int, inputs: int, rows: Int[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """f(ε_in) of a layer, and f(ε_out) of some of its rows."""
    into = noise(seed, torch.arange(inputs, device=rows.device))
    return into, noise(seed, rows + inputs)


def linear(inputs: int, outputs: int, sigma: float | None) -> nn.Module:
    """A linear layer; noisy unless `sigma` is None."""
    return nn.Linear(inputs, outputs) if sigma is None else Noisy(inputs, outputs, sigma)


def noisy(layers: nn.Module, sigma: float | None) -> nn.Module:
    """Layers in a row with noisy ones in place of the linear ones; unchanged if `sigma` is None."""
    if sigma is None or not isinstance(layers, nn.Sequential):
        return layers
    return nn.Sequential(
        *(
            linear(layer.in_features, layer.out_features, sigma) if isinstance(layer, nn.Linear) else layer
            for layer in layers
        )
    )
