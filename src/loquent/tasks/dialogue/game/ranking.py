"""How well an image is known: its rank among all images by distance from a guess of its features.

Source: the judge of ILQL's visual dialogue (arXiv:2206.11871, section 6), by the question bot of
arXiv:1703.06585.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BrokenAgent

ROUNDING = 1e-9  # relative; distances that differ by less are equal


class Pool:
    """The images among which one is ranked.

    Args:
        images: f[N, width], their features.
    """

    def __init__(self, images: NDArray[np.floating]) -> None:
        self._images = images.astype(np.float64)
        self._squares = (self._images**2).sum(axis=1)

    def percentile(self, guess: NDArray[np.floating], image: NDArray[np.floating]) -> float:
        """1 - rank / (N + 1), where rank counts from 1 among the N images and the image itself.

        A closer image of the pool stands before the image; an equally close one, such as the image itself,
        does not.

        Args:
            guess: f[width].
            image: f[width], the features of the image.

        Raises:
            BrokenAgent: a number is not finite; it would compare as the best rank.
        """
        guess, image = _finite(guess, image)
        # squared distances without the square of the guess, which all share
        distances = self._squares - 2.0 * (self._images @ guess)
        own = float(image @ image - 2.0 * (image @ guess))
        rank = 1 + int((distances < own - ROUNDING * float(image @ image + guess @ guess)).sum())
        return 1.0 - rank / (len(self._images) + 1)


def closeness(guess: NDArray[np.floating], image: NDArray[np.floating]) -> float:
    """Minus the mean squared distance of a guess from the image; raises like `Pool.percentile`."""
    guess, image = _finite(guess, image)
    return -float(((image - guess) ** 2).mean())


def _finite(
    guess: NDArray[np.floating], image: NDArray[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    for name, values in (("guess of the image", guess), ("image", image)):
        if not np.isfinite(values).all():
            bad = values[~np.isfinite(values)][0]
            raise BrokenAgent(f"the {name} has the feature {bad}; a judge ranks finite numbers only")
    return guess.astype(np.float64), image.astype(np.float64)
