"""Rows that are read from disk when they are used: a sequence, and a mapping by id."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, overload

import numpy as np

from loquent.core.task import Row
from loquent.core.values import Record, digest
from loquent.data.tables.store import Places, Store

Make = Callable[[Row], Row]


class Reader(Protocol):
    """What makes records into the fields of rows, such as `data.columns.Columns`: a dataclass of settings."""

    @property
    def names(self) -> Record:
        """The fields that columns become."""

    @property
    def is_plain(self) -> bool:
        """Whether a record that `forms.plain_prompt` accepts is a row with this prompt."""

    def is_labelled(self, record: Mapping[str, Any]) -> bool:
        """Whether all rows of a file must have a label, of which this is the first record."""

    def is_text(self, record: Mapping[str, Any]) -> bool:
        """Whether a row is a text that is still to be cut."""

    def fields(self, record: Mapping[str, Any], labelled: bool) -> Record:
        """The fields of a row; ValueError for a bad one."""

    def content(self, record: Mapping[str, Any], labelled: bool) -> str:
        """The text of the row that an agent reads; ValueError for a bad one."""


class Rows(Sequence[Row]):
    """The rows at some places of a store, in the order of the files.

    Args:
        places: i[n], ascending.
        make: a function that makes each row; None: it stays as it is. Equal `names` name equal functions.
    """

    def __init__(
        self,
        store: Store,
        places: Places,
        columns: Reader,
        make: Make | None = None,
        names: tuple[Any, ...] = (),
    ) -> None:
        self.store, self.places, self.columns, self.make, self.names = store, places, columns, make, names

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if not isinstance(index, slice):
            return self._read(int(self.places[index]))
        chosen = self.at(self.places[index])
        return tuple(chosen) if (index.step or 1) < 0 else chosen

    def __iter__(self) -> Iterator[Row]:
        return (self._read(int(place)) for place in self.places)

    def __contains__(self, row: object) -> bool:
        return isinstance(row, Row) and self.find(row.id) == row

    def __copy__(self) -> Rows:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Rows:
        return self

    @property
    def digest(self) -> str:
        """A hash of the store's content, of the places and of how rows are made, 16 hexadecimal digits."""
        places = hashlib.sha256(np.ascontiguousarray(self.places).view(np.uint8).data).hexdigest()
        return digest((self.store.about["content"], places, self.names), 16)

    @property
    def weights(self) -> tuple[float, ...]:
        """The fields `weight`, with 1 for rows that have none; () if no row has one."""
        weights = self.store.weights
        return () if weights is None else tuple(weights[self.places].tolist())

    def at(self, places: Places) -> Rows:
        """The rows at other places, which must be ascending."""
        return Rows(self.store, places, self.columns, self.make, self.names)

    def transform(self, make: Make, *names: Any) -> Rows:
        """These rows, each made by a function that `names` name; it must keep the id."""
        return Rows(self.store, self.places, self.columns, make, names)

    def ids(self) -> Iterator[str]:
        """The ids in order, without reading a row."""
        return (self.store.id(int(place)) for place in self.places)

    def select(self, chosen: Callable[[Row], bool]) -> Rows:
        """The rows for which a function is true; it reads them all."""
        return self.at(self.places[np.fromiter(map(chosen, self), bool, len(self))])

    def find(self, id: str) -> Row | None:
        """The row with an id; None if it is not here."""
        place = self.store.place(id)
        if place is None:
            return None
        index = int(np.searchsorted(self.places, place))
        return self._read(place) if index < len(self) and self.places[index] == place else None

    def _read(self, place: int) -> Row:
        record = self.store.record(place)
        row = Row(self.store.id(place), self.columns.fields(record, self.columns.is_labelled(record)))
        return row if self.make is None else self.make(row)


class ById(Mapping[str, Row]):
    """Rows by their ids, each read when it is asked for."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __getitem__(self, id: str) -> Row:
        row = self.rows.find(id) if isinstance(id, str) else None
        if row is None:
            raise KeyError(id)
        return row

    def __iter__(self) -> Iterator[str]:
        return self.rows.ids()

    def __len__(self) -> int:
        return len(self.rows)


def by_id(rows: Iterable[Row]) -> Mapping[str, Row]:
    """The rows by their ids."""
    return ById(rows) if isinstance(rows, Rows) else {row.id: row for row in rows}
