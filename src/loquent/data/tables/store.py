"""A store: the rows of a source on disk, as they are read while they are used.

A store is a folder. `rows.arrow` has one column, `record`: the JSON of each row, in the order of the files,
and is mapped into memory. Beside it are arrays that are mapped too: the places of each split's rows, and the
places that stand in a later split as well. `about.json` says what the store was made of, and is written last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import json_files, opening
from loquent.errors import BadRow, LoquentError

RECORDS, ABOUT, NUMBERS, WEIGHTS = "rows.arrow", "about.json", "numbers.npy", "weights.npy"
VERSION = 1
Places = NDArray[np.uint32]


class Store:
    """The records of a store by place, and their ids: the name of a table and the number of the row in it.

    Attributes:
        about: the content of `about.json`.

    Raises:
        OSError: a file is missing or has another size; the store has to be made again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.about: dict[str, Any] = json_files.load_object(folder / ABOUT)
            sizes = {name: (folder / name).stat().st_size for name in self.about["sizes"]}
        except (LoquentError, KeyError, TypeError) as error:
            raise OSError(f"{folder} is no store of rows ({error})") from error
        if self.about.get("version") != VERSION or sizes != self.about["sizes"]:
            raise OSError(f"{folder} is a store of another version, or a file of it has another size")
        from pyarrow import ipc, memory_map

        file = ipc.open_file(memory_map(str(folder / RECORDS)))
        self._columns = [file.get_batch(i).column(0) for i in range(file.num_record_batches)]
        self._starts = np.cumsum([0, *map(len, self._columns)]).tolist()
        self._numbers = self.array(NUMBERS)
        self.weights = self.array(WEIGHTS)

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.folder,)

    def array(self, name: str) -> Any:
        """A mapped array; None if the store has none of this name."""
        return opening.array(self.folder / name) if name in self.about["sizes"] else None

    def record(self, place: int) -> dict[str, Any]:
        """The record at a place."""
        batch = bisect_right(self._starts, place) - 1
        record = json_files.loads(self._columns[batch][place - self._starts[batch]].as_py())
        if not isinstance(record, dict):
            raise BadRow(
                "a stored row is no object; delete this folder, which is made again", file=self.folder
            )
        return record

    def id(self, place: int) -> str:
        """The id of the row at a place."""
        name, start, _ = self._table(place)
        return f"{name}-{place - start + 1 if self._numbers is None else self._numbers[place]}"

    def place(self, id: str) -> int | None:
        """The place of the row with an id; None if there is none."""
        prefix, _, digits = id.rpartition("-")
        for name, start, end in self.about["tables"]:
            if name == prefix and digits.isascii() and digits.isdigit() and len(digits) < 12:
                place = start + int(digits) - 1
                if self._numbers is not None:
                    place = start + int(np.searchsorted(self._numbers[start:end], int(digits)))
                return place if start <= place < end and self.id(place) == id else None
        return None

    def _table(self, place: int) -> tuple[str, int, int]:
        return next((name, start, end) for name, start, end in self.about["tables"] if start <= place < end)


def write_records(file: Path) -> Any:
    """A context that writes records; its `write` takes the JSON of some rows."""
    return _Writer(file)


class _Writer:
    def __init__(self, file: Path) -> None:
        import pyarrow

        self._arrow = pyarrow
        schema = pyarrow.schema({"record": pyarrow.binary()})
        self._writer = pyarrow.ipc.new_file(str(file), schema)
        self._schema = schema

    def write(self, records: Sequence[bytes]) -> None:
        column = self._arrow.array(records, self._arrow.binary())
        self._writer.write_batch(self._arrow.record_batch([column], schema=self._schema))

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.close()
