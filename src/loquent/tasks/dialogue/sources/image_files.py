"""Files with features of images, in HDF5 or numpy's form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import opening
from loquent.errors import BadSetting, MissingExtra
from loquent.tasks.dialogue.game.protocol import MOST_NUMBERS
from loquent.tasks.dialogue.sources.visdial import NAMES

ADVICE = "write float arrays [dialogues, width] under the names images_train, images_val and images_test"


def read(path: Path, split: str, count: int) -> NDArray[np.float32]:
    """f32[count, width]: the features of a split.

    Raises:
        BadSetting: there are none, or not those of `count` images. MissingExtra: HDF5 without h5py.
    """
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
