"""The classifier of a folder: linear, of Hugging Face, or in the layout of ILQL's release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.metrics.judges import card
from loquent.metrics.judges.linear import Linear

ADVICE = "name another folder, or train the classifier again"


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
        BadSetting: a file of a classifier that was trained here has changed. BadModel: a network cannot be
            loaded.
        MissingExtra: it needs the extra "train".
    """
    folder = Path(path).expanduser()
    if card.is_judge(folder):
        if not (folder / "config.json").is_file():
            linear = Linear.load(folder)
            return Named(linear.labels, linear)
        card.check(folder, card.read(folder, None, ADVICE), ADVICE)
    from loquent import pretrained
    from loquent.metrics.judges import upvote_model

    network: Any = (
        upvote_model.load(folder)
        if upvote_model.is_released(folder)
        else pretrained.load_classifier(folder if folder.is_dir() else path)
    )
    labels = tuple(network.labels[number] for number in range(len(network.labels)))
    return Named(labels, network.probabilities, network.independent)
