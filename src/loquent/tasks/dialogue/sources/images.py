"""The features of images: of built-in scenes, or from a file in HDF5 or numpy's form."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loquent.core.task import Row
from loquent.errors import BadSetting, MissingExtra
from loquent.tasks.dialogue.options import BUILTIN, Options
from loquent.tasks.dialogue.ranking import Pool
from loquent.tasks.dialogue.sources import builtin
from loquent.tasks.dialogue.sources.visdial import NAMES

ADVICE = "write float arrays [dialogues, width] under the names images_train, images_val and images_test"


@lru_cache(maxsize=8)
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
    found = _read(Path(options.images).expanduser(), file)
    if found.ndim != 2 or len(found) != count or not np.isfinite(found).all():
        raise BadSetting(
            f"images = {options.images!r}: images of {file} have the shape {list(found.shape)}; there must "
            f"be a row of finite numbers for each of {count:,} dialogues"
        )
    if not options.normalise:
        return found
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.maximum(lengths, np.finfo(np.float32).tiny)


@lru_cache(maxsize=4)
def pool(options: Options, file: str, count: int) -> Pool:
    """The images of a file, among which one can be ranked; raises like `features`."""
    return Pool(features(options, file, count))


def _features_of(row: Row) -> NDArray[np.float64]:
    from loquent.tasks.dialogue.scenes.scene import features_of

    return features_of(builtin.scene_of(row.fields))


def _read(path: Path, split: str) -> NDArray[np.float32]:
    names = [f"images_{name}" for name in NAMES[split]]
    if path.is_dir():
        file = next((path / f"{name}.npy" for name in names if (path / f"{name}.npy").is_file()), None)
        if file is None:
            raise BadSetting(f"images = {str(path)!r}: there is no {names[0]}.npy; {ADVICE}")
        try:
            return np.asarray(np.load(file, allow_pickle=False), dtype=np.float32)
        except (ValueError, OSError) as error:
            raise BadSetting(f"{file}: it is not an array of numbers ({error}); {ADVICE}") from error
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra("features of images in an HDF5 file", "hdf5") from error
    try:
        with h5py.File(path, "r") as file:
            name = next((name for name in names if name in file), None)
            if name is None:
                raise BadSetting(f"images = {str(path)!r}: there is no dataset {names[0]}; {ADVICE}")
            return np.asarray(file[name], dtype=np.float32)
    except (OSError, TypeError, ValueError) as error:
        raise BadSetting(f"images = {str(path)!r}: it cannot be read ({error}); {ADVICE}") from error
