"""Weights for SummaC-Conv's layer, drawn by numpy: they mean nothing, and stored outputs were made with
them.
"""

import numpy as np

from loquent.core.seeding import Key


def tensors(bins, labels):
    """The four tensors, small enough that scores spread over (0, 1)."""
    rng = Key(3, ("layer", bins, labels)).generator()
    shapes = {
        "mlp.weight": (1, bins * labels),
        "mlp.bias": (1,),
        "layer_final.weight": (2, 3),
        "layer_final.bias": (2,),
    }
    return {name: (rng.normal(size=shape) * 0.4).astype(np.float32) for name, shape in shapes.items()}
