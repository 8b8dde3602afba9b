"""A small feed-forward network: trained by the trainer of judges, and run by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key, borrow_generators
from loquent.core.settings import redefault, setting
from loquent.errors import BadSetting, MissingExtra
from loquent.metrics.judges import card
from loquent.metrics.judges.trainer import Lessons, Trainer, TrainerSettings

KIND = "layers"
ADVICE = "name a folder that train_answerer or train_guesser wrote"


@dataclass(frozen=True)
class Network:
    """Layers of weights f32[in, out] and biases f32[out], with ReLU between them."""

    weights: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]

    def __call__(self, inputs: NDArray[np.floating]) -> NDArray[np.float32]:
        """f32[n, out] for f[n, in]: the outputs of the last layer, without its activation."""
        values = np.asarray(inputs, dtype=np.float32)
        for number, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = values @ weights + biases
            if number + 1 < len(self.weights):
                values = np.maximum(values, 0.0)
        return values

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of inputs and outputs."""
        return self.weights[0].shape[0], self.weights[-1].shape[1]


@dataclass(frozen=True, kw_only=True)
class LayersSettings(TrainerSettings):
    """How a feed-forward network with one hidden layer is trained."""

    hidden: int = setting(256, "units of the hidden layer", low=1)
    epochs: int = redefault(TrainerSettings, "epochs", 40)
    minibatch: int = redefault(TrainerSettings, "minibatch", 128)
    learning_rate: float = redefault(TrainerSettings, "learning_rate", 1e-3)


@dataclass(frozen=True)
class Examples:
    """Inputs f32[n, in], and targets: classes i64[n], or values f32[n, out]."""

    inputs: NDArray[np.float32]
    targets: NDArray[Any]


def train(
    training: Examples, held_out: Examples, outputs: int, settings: LayersSettings, key: Key
) -> tuple[Network, list[dict[str, float]]]:
    """The network, and its history by epoch.

    The loss of classes is their cross-entropy, and that of values the mean squared error of the outputs. A
    held-out class that no training example has is -1 and has no loss.

    Args:
        outputs: the number of classes or values.

    Raises:
        MissingExtra: without the extra "train".
    """
    try:
        import torch
        from torch import nn
        from torch.nn import functional
    except ImportError as error:
        raise MissingExtra("training an answerer or a guesser", "train") from error
    from loquent.pretrained import evaluating

    with borrow_generators(key.child("weights")):
        first = nn.Linear(training.inputs.shape[1], settings.hidden)
        module = nn.Sequential(first, nn.ReLU(), nn.Linear(settings.hidden, outputs)).eval()

    def losses(part: Examples) -> torch.Tensor:
        own, targets = module(torch.from_numpy(part.inputs)), torch.from_numpy(part.targets)
        if targets.dim() == 1:
            return functional.cross_entropy(own, targets, reduction="none", ignore_index=-1)
        return (own - targets).square().mean(1)

    def some(numbers: Sequence[int]) -> torch.Tensor:
        return losses(Examples(training.inputs[numbers], training.targets[numbers]))

    def measure() -> dict[str, float]:
        with torch.no_grad(), evaluating(module):
            known = (held_out.targets >= 0).sum() if held_out.targets.ndim == 1 else len(held_out.targets)
            return {"loss": float(losses(held_out).sum()) / max(1, int(known))}

    history = Trainer(module, Lessons(len(training.inputs), some, measure), settings, key).run()
    arrays = [parameter.detach().numpy() for parameter in module.parameters()]
    return Network(tuple(array.T for array in arrays[::2]), tuple(arrays[1::2])), history


def save(folder: Path, network: Network, content: Mapping[str, Any]) -> None:
    """Write a network to a folder, which must not exist or be empty, with more content of its card."""
    arrays = {f"weights.{i}": layer for i, layer in enumerate(network.weights)}
    arrays |= {f"biases.{i}": layer for i, layer in enumerate(network.biases)}
    card.save(folder, KIND, content, arrays)


def load(folder: Path, role: str) -> tuple[Network, dict[str, Any]]:
    """The network of a folder and the content of its card.

    Raises:
        BadSetting: the folder is not one of `save`, is damaged, or has another role.
        MissingExtra: safetensors is not installed.
    """
    content, layers = card.load(folder, KIND, ADVICE)
    if content.get("role") != role:
        raise BadSetting(f"{folder}: it holds the role {content.get('role')!r:.40}, not {role!r}; {ADVICE}")
    count = len(layers) // 2
    try:
        network = Network(
            tuple(layers[f"weights.{i}"] for i in range(count)),
            tuple(layers[f"biases.{i}"] for i in range(count)),
        )
    except KeyError as error:
        raise BadSetting(f"{folder / card.WEIGHTS}: it lacks {error}; {ADVICE}") from error
    if not count or not _fits(network):
        raise BadSetting(f"{folder / card.WEIGHTS}: its layers do not fit together; {ADVICE}")
    return network, content


def _fits(network: Network) -> bool:
    shapes = [layer.shape for layer in network.weights]
    if any(len(shape) != 2 for shape in shapes):
        return False
    chained = all(a[1] == b[0] for a, b in pairwise(shapes))
    return chained and all(b.shape == (w[1],) for w, b in zip(shapes, network.biases, strict=True))
