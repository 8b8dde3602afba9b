"""The classifier of a folder: linear, of Hugging Face, or in the layout of ILQL's release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.comments.learned import linear


@dataclass(frozen=True, eq=False)
class Named:
    """A classifier with the names of its labels; a call gives f64[n, labels] for n texts.

    With `independent` each label has a probability of its own (multi-label, or a single label); else a row
    sums to 1.
    """

    labels: tuple[str, ...]
    probabilities: Callable[[Sequence[str]], NDArray[np.float64]]
    independent: bool = False

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """f64[n, labels]: the probability of each label."""
        return self.probabilities(texts)


def load(path: str) -> Named:
    """The classifier of a folder, or of a Hugging Face name.

    Raises:
        BadSetting: a linear classifier is damaged. BadModel: a network cannot be loaded.
        MissingExtra: it needs the extra "train".
    """
    folder = Path(path).expanduser()
    if (folder / linear.NOTE).is_file():
        found = linear.load(folder)
        return Named(found.labels, found)
    from loquent import pretrained
    from loquent.tasks.comments.learned import released

    network: Any = (
        released.load(folder)
        if released.is_released(folder)
        else pretrained.load_classifier(folder if folder.is_dir() else path)
    )
    labels = tuple(network.labels[number] for number in range(len(network.labels)))
    return Named(labels, network.probabilities, network.independent)
