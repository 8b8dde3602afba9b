"""The trained layer of SummaC-Conv: histograms of entailment to a probability. Its weights come from safetensors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadModel, MissingExtra

Array = NDArray[np.float64]

ROWS = 10  # sentences of a summary that are read
BINS: dict[str, Array] = {
    "percentile": np.array(
        [0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 1]
    ),
    "even50": np.append(np.arange(0, 1, 1 / 50), 1.0),
}


@dataclass(frozen=True, eq=False)
class Convolution:
    """weight [bins x labels] and bias of a sentence's score; head [2, 3] and its bias for (min, mean, max) of a summary's."""

    weight: Array
    bias: float
    head: Array
    head_bias: Array
    bins: str = "percentile"
    labels: str = "e"
    over: str = "mean"

    def score(self, image: Array) -> float:
        """The probability that a summary agrees with its document, from the image [3, sentences, sentences]."""
        kinds = [depth for depth, kind in enumerate("ecn") if kind in self.labels]
        columns = [image[kinds, :, j] for j in range(min(image.shape[2], ROWS))]
        histograms = [np.concatenate([np.histogram(values, bins=BINS[self.bins])[0] for values in column]) for column in columns]
        scores = np.array(histograms) @ self.weight + self.bias
        three = np.array([scores.min(), scores.mean(), scores.max()])
        logits = self.head @ (three if self.over == "all" else np.repeat(three[("min", "mean", "max").index(self.over)], 3)) + self.head_bias
        return float(1 / (1 + np.exp(np.clip(logits[0] - logits[1], -700, 700))))


def read_weights(path: str, bins: str, labels: str, over: str) -> Convolution:
    """The layer from a safetensors file with the tensors `mlp.weight`, `mlp.bias`, `layer_final.weight` and `layer_final.bias`.

    Raises:
        BadModel: no such file, it is no safetensors file, or a tensor is missing or has another shape than `bins` and `labels` make.
        MissingExtra: safetensors is not installed.
    """
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:  # pragma: no cover - the extra is installed where tests run
        raise MissingExtra("summac_conv", "train") from error
    if not Path(path).is_file():
        raise BadModel(f"summac_conv has no weights without the file {path!r}, and does not run on random ones")
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise BadModel(f"{path}: no safetensors file ({error}); docs/metrics-consistency.md tells how to convert the published weights") from error
    width = (len(BINS[bins]) - 1) * len(labels)
    shapes = {"mlp.weight": (1, width), "mlp.bias": (1,), "layer_final.weight": (2, 3), "layer_final.bias": (2,)}
    for name, shape in shapes.items():
        found = tensors[name].shape if name in tensors else None
        if found != shape:
            raise BadModel(f"{path}: the tensor {name!r} has the shape {found}; with bins = {bins} and labels = {labels} {shape} is right")
    made = {name: tensors[name].astype(np.float64) for name in shapes}
    return Convolution(made["mlp.weight"][0], float(made["mlp.bias"][0]), made["layer_final.weight"], made["layer_final.bias"], bins, labels, over)
