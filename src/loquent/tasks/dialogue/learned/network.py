"""A small feed-forward network: trained by scikit-learn, kept as JSON and safetensors, run by numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import json_files
from loquent.errors import BadSetting, MissingExtra
from loquent.files.atomic import replacing, write_json

NOTE, WEIGHTS = "seat.json", "seat.safetensors"
ADVICE = "name a folder that learned.training wrote"


@dataclass(frozen=True)
class Network:
    """Layers of weights f32[in, out] and biases f32[out], with ReLU between them."""

    weights: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]

    @classmethod
    def of(cls, fitted: Any) -> Network:
        """The network of an MLPClassifier or MLPRegressor of scikit-learn."""
        return cls(
            tuple(layer.astype(np.float32) for layer in fitted.coefs_),
            tuple(layer.astype(np.float32) for layer in fitted.intercepts_),
        )

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


def save(folder: Path, network: Network, note: Mapping[str, Any]) -> None:
    """Write a network and its note to a folder, which must not exist or be empty."""
    from safetensors.numpy import save_file

    layers = {f"weights.{i}": layer for i, layer in enumerate(network.weights)}
    layers |= {f"biases.{i}": layer for i, layer in enumerate(network.biases)}
    with replacing(folder) as aside:
        aside.mkdir()
        save_file({name: np.ascontiguousarray(layer) for name, layer in layers.items()}, aside / WEIGHTS)
        write_json(aside / NOTE, dict(note))


def load(folder: Path, role: str) -> tuple[Network, dict[str, Any]]:
    """The network of a folder and its note.

    Raises:
        BadSetting: the folder is not one of `save`, is damaged, or has another role.
        MissingExtra: safetensors is not installed.
    """
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:
        raise MissingExtra("a trained answerer or judge", "train") from error
    note = json_files.load_object(folder / NOTE, ADVICE, error=BadSetting)
    if note.get("role") != role:
        raise BadSetting(f"{folder}: it holds the role {note.get('role')!r:.40}, not {role!r}; {ADVICE}")
    try:
        layers = load_file(folder / WEIGHTS)
        count = len(layers) // 2
        network = Network(
            tuple(layers[f"weights.{i}"] for i in range(count)),
            tuple(layers[f"biases.{i}"] for i in range(count)),
        )
    except (OSError, SafetensorError, KeyError) as error:
        raise BadSetting(f"{folder / WEIGHTS}: it cannot be read ({error}); {ADVICE}") from error
    if not all(np.isfinite(layer).all() for layer in (*network.weights, *network.biases)):
        raise BadSetting(f"{folder / WEIGHTS}: it has weights that are not finite; {ADVICE}")
    if not count or not _fits(network):
        raise BadSetting(f"{folder / WEIGHTS}: its layers do not fit together; {ADVICE}")
    return network, note


def _fits(network: Network) -> bool:
    shapes = [layer.shape for layer in network.weights]
    if any(len(shape) != 2 for shape in shapes):
        return False
    chained = all(a[1] == b[0] for a, b in pairwise(shapes))
    return chained and all(b.shape == (w[1],) for w, b in zip(shapes, network.biases, strict=True))
