"""The features of images: of built-in scenes, or from a file in HDF5 or numpy's form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loquent.core.task import Row
from loquent.data import content
from loquent.errors import BadSetting
from loquent.tasks.dialogue.game.options import BUILTIN, Options
from loquent.tasks.dialogue.game.ranking import Pool
from loquent.tasks.dialogue.sources import builtin

SCALED = 1e-3  # features whose length differs from 1 by less are scaled already


@content.cache_reads(8)
def features(options: Options, file: str, count: int) -> NDArray[np.float32]:
    """f32[count, width]: the features of all images of a file (train, validation, test) by rows' `image`.

    Raises:
        BadSetting: there are no features, or not one row of finite numbers for each dialogue.
        MissingExtra: an HDF5 file without the extra "hdf5".
    """
    if options.source == BUILTIN:
        rows = builtin.splits()[file]
        return np.stack([_features_of(row) for row in rows]).astype(np.float32)
    if not options.images:
        raise BadSetting(
            "images = '': these dialogues have no features of images; set images, or choose an answerer and "
            "a judge that need none (dialogue/recorded, dialogue/remote)"
        )
    from loquent.tasks.dialogue.sources import image_files

    found = image_files.read(Path(options.images).expanduser(), file, count)
    if not np.isfinite(found).all():
        raise BadSetting(f"images = {options.images!r}: images of {file} hold a number that is not finite")
    return _scaled(found) if options.normalise else found


def own(options: Options, image: NDArray[np.float32]) -> NDArray[np.float32]:
    """f32[width]: features from outside the file, scaled as those of the file if they are not yet."""
    is_scaled = abs(float(np.linalg.norm(image.astype(np.float64))) - 1.0) < SCALED
    needed = options.source != BUILTIN and options.normalise and not is_scaled
    return _scaled(image[None])[0] if needed else image


def _scaled(found: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1."""
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = found / np.maximum(lengths, np.finfo(np.float32).tiny)
    return scaled


@content.cache_reads(4)
def pool(options: Options, file: str, count: int) -> Pool:
    """The images of a file, among which one can be ranked; raises like `features`."""
    return Pool(features(options, file, count))


def _features_of(row: Row) -> NDArray[np.float64]:
    from loquent.tasks.dialogue.scenes.scene import features_of

    return features_of(builtin.scene_of(row.fields))
