"""The features of images: of built-in scenes, or from a file in HDF5 or numpy's form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import opening
from loquent.core.task import Row
from loquent.data import content
from loquent.errors import BadSetting, MissingExtra
from loquent.tasks.dialogue.options import BUILTIN, Options
from loquent.tasks.dialogue.protocol import MOST_NUMBERS
from loquent.tasks.dialogue.ranking import Pool
from loquent.tasks.dialogue.sources import builtin
from loquent.tasks.dialogue.sources.visdial import NAMES

ADVICE = "write float arrays [dialogues, width] under the names images_train, images_val and images_test"
SCALED = 1e-3  # features whose length differs from 1 by less are scaled already


@content.kept(8)
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
    found = _read(Path(options.images).expanduser(), file, count)
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


@content.kept(4)
def pool(options: Options, file: str, count: int) -> Pool:
    """The images of a file, among which one can be ranked; raises like `features`."""
    return Pool(features(options, file, count))


def _features_of(row: Row) -> NDArray[np.float64]:
    from loquent.tasks.dialogue.scenes.scene import features_of

    return features_of(builtin.scene_of(row.fields))


def _read(path: Path, split: str, count: int) -> NDArray[np.float32]:
    names = [f"images_{name}" for name in NAMES[split]]
    if path.is_dir():
        file = next((path / f"{name}.npy" for name in names if (path / f"{name}.npy").is_file()), None)
        if file is None:
            raise BadSetting(f"images = {str(path)!r}: there is no {names[0]}.npy; {ADVICE}")
        try:  # mapped, so that a header that claims more than the file has takes no memory
            return _checked(opening.array(file), str(file), count, file)
        except OSError as error:
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
            stored = _own(file, name, path)
            return _checked(stored, f"images = {str(path)!r}: {name}", count, path)
    except (OSError, TypeError, ValueError, KeyError, RuntimeError) as error:
        raise BadSetting(f"images = {str(path)!r}: it cannot be read ({error}); {ADVICE}") from error


def _own(file: Any, name: str, path: Path) -> Any:
    """A dataset of an HDF5 file that lies in the file itself; a link could name any other file."""
    import h5py

    linked = not isinstance(file.get(name, getlink=True), h5py.HardLink)
    found = None if linked else file[name]
    if not isinstance(found, h5py.Dataset) or found.external or found.is_virtual:
        raise BadSetting(f"images = {str(path)!r}: {name} is no dataset in the file itself; {ADVICE}")
    return found


def _checked(stored: Any, place: str, count: int, file: Path) -> NDArray[np.float32]:
    """The numbers of an array whose type and shape are right, which are known before it is read."""
    if stored.dtype.kind not in "fiu" or stored.dtype.fields is not None:
        raise BadSetting(f"{place}: it is not an array of numbers but of {stored.dtype}; {ADVICE}")
    if len(stored.shape) != 2 or stored.shape[0] != count or not 0 < stored.shape[1] <= MOST_NUMBERS:
        raise BadSetting(
            f"{place}: images have the shape {list(stored.shape)}; there must be a row of 1 to "
            f"{MOST_NUMBERS:,} numbers for each of {count:,} dialogues"
        )
    opening.check_expansion(4 * stored.size, file.stat().st_size)
    try:
        return np.array(stored, dtype=np.float32)
    except MemoryError as error:
        raise BadSetting(f"{place}: {list(stored.shape)} numbers do not fit into memory") from error
