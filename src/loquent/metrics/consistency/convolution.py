"""The trained layer of SummaC-Conv: from histograms of scores to a probability.

Its weights come from safetensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadModel, MissingExtra

Array = NDArray[np.float64]

ROWS = 10  # the layer reads at most this number of sentences of a summary
PERCENTILES = """
    0 0.01 0.02 0.03 0.04 0.07 0.13 0.37 0.9 0.91 0.92 0.93 0.94 0.95 0.955 0.96 0.965 0.97 0.975 0.98 0.985
    0.99 0.995 1
"""
BINS: dict[str, Array] = {
    "percentile": np.array(PERCENTILES.split(), dtype=np.float64),
    "even50": np.append(np.arange(0, 1, 1 / 50), 1.0),
}
CONVERSION = "docs/metrics-consistency.md shows how to convert the published weights"


@dataclass(frozen=True, eq=False)
class Convolution:
    """The layer of SummaC-Conv.

    `weight` [bins * labels] and `bias` score a sentence; `head` [2, 3] and `head_bias` [2] score a summary.

    The head reads (min, mean, max) of the sentences' scores.
    """

    weight: Array
    bias: float
    head: Array
    head_bias: Array
    bins: str = "percentile"
    labels: str = "e"
    over: str = "mean"

    def score(self, image: Array) -> float:
        """The probability that a summary agrees with its document.

        Args:
            image: float[3, document sentences, summary sentences].
        """
        kinds = [depth for depth, kind in enumerate("ecn") if kind in self.labels]
        columns = [image[kinds, :, j] for j in range(min(image.shape[2], ROWS))]
        bins = BINS[self.bins]
        histograms = [
            np.concatenate([np.histogram(values, bins=bins)[0] for values in column]) for column in columns
        ]
        scores = np.array(histograms) @ self.weight + self.bias
        features = np.array([scores.min(), scores.mean(), scores.max()])
        if self.over != "all":
            features = np.repeat(features[("min", "mean", "max").index(self.over)], 3)
        logits = self.head @ features + self.head_bias
        return float(1 / (1 + np.exp(np.clip(logits[0] - logits[1], -700, 700))))


def read_weights(path: str, bins: str, labels: str, over: str) -> Convolution:
    """Read the layer from a safetensors file.

    Its tensors are `mlp.weight`, `mlp.bias`, `layer_final.weight` and `layer_final.bias`.

    Raises:
        BadModel: the file does not exist or is not a safetensors file, or a tensor is missing or has another
            shape than `bins` and `labels` require.
        MissingExtra: safetensors is not installed.
    """
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:  # pragma: no cover - the extra is installed where tests run
        raise MissingExtra("summac_conv", "train") from error
    if not Path(path).is_file():
        raise BadModel(
            f"summac_conv.weights = {path!r} is not a file. A safetensors file with trained weights "
            f"is needed; {CONVERSION}"
        )
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise BadModel(f"{path}: not a safetensors file ({error}); {CONVERSION}") from error
    width = (len(BINS[bins]) - 1) * len(labels)
    shapes = {
        "mlp.weight": (1, width),
        "mlp.bias": (1,),
        "layer_final.weight": (2, 3),
        "layer_final.bias": (2,),
    }
    for name, shape in shapes.items():
        actual = tensors[name].shape if name in tensors else None
        if actual != shape:
            raise BadModel(
                f"{path}: the tensor {name!r} has the shape {actual}; with bins = {bins} and labels "
                f"= {labels} the shape {shape} is needed. Set bins and labels to those of the weights"
            )
    arrays = {name: tensors[name].astype(np.float64) for name in shapes}
    weight, bias = arrays["mlp.weight"][0], float(arrays["mlp.bias"][0])
    return Convolution(
        weight, bias, arrays["layer_final.weight"], arrays["layer_final.bias"], bins, labels, over
    )
