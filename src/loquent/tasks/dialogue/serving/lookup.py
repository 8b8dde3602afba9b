"""The row that has an image, found by the numbers of a request."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.tasks.dialogue import rows
from loquent.tasks.dialogue.task import Dialogue

NEAR = 1e-4  # relative to the largest feature; features that differ by less are of the same image


class Lookup:
    """All rows of a task by their features, which a client may have rounded.

    It keeps one number of each image, its projection on a fixed direction, in order. Rows whose numbers are
    near are compared in full.
    """

    def __init__(self, task: Dialogue) -> None:
        self._task = task
        found = [row.fields for split in rows.everything(task.options).values() for row in split]
        width = task.features(found[0]["file"]).shape[1]
        direction = Key(0, ("dialogue", "lookup")).generator().standard_normal(width)
        self._direction = direction / np.abs(direction).sum()
        projected = {file: self._projected(task.features(file)) for file in rows.sizes(task.options)}
        numbers = np.array([projected[fields["file"]][fields["image"]] for fields in found])
        order = np.argsort(numbers, kind="stable")
        self._numbers, self._rows = numbers[order], [found[place] for place in order]

    def row(self, image: NDArray[np.floating], caption: str) -> Record | None:
        """The fields of the row with an image; among rows with equal features, the one with the caption.

        None where there is none, or where several have the image and none of them the caption.
        """
        number, near = float(self._projected(image)), NEAR * float(np.abs(image).max())
        first, last = np.searchsorted(self._numbers, [number - near, number + near])
        same = [
            fields
            for fields in self._rows[first:last]
            if np.abs(self._task.image(fields) - image).max() <= near
        ]
        exact = [fields for fields in same if fields["caption"] == caption]
        return next(iter(exact), same[0] if len(same) == 1 else None)

    def _projected(self, images: NDArray[np.floating]) -> NDArray[np.float64]:
        """f64[...]: no further apart than the largest difference of two images' features."""
        projected: NDArray[np.float64] = images.astype(np.float64) @ self._direction
        return projected
