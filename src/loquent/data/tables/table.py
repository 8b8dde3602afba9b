"""The tables of a source: a file, a split of a hub dataset, or several parts, with their records in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loquent.data.tables import columnar, hub_folder
from loquent.data.tables.columnar import Wanted
from loquent.errors import BadRow

Fields = dict[str, Any]
# The number of the row from 1, its file and line, its record, and the record's JSON where the file has it
Found = tuple[int, tuple[object, int | None], Fields, str | None]


class Table(ABC):
    """The records of one split or of one file.

    `place` is a file, or the name of a hub table. `size` is in bytes.
    """

    place: Any
    size: int

    def files(self) -> list[Path]:
        """The files that may change while the table is read."""
        return [self.place] if isinstance(self.place, Path) and self.place.is_file() else []

    @abstractmethod
    def count(self) -> int:
        """The number of records."""

    @abstractmethod
    def records(self, wanted: Wanted | None = None) -> Iterator[Found]:
        """The records in order; of those that are not `wanted` (by number from 1) only what must be read.

        Raises:
            BadRow: the file cannot be read, or a wanted record is none.
        """


class Columnar(Table):
    """A Parquet file or a file of Arrow."""

    def __init__(self, path: Path) -> None:
        self.place, self.size = path, path.stat().st_size

    def count(self) -> int:
        """The number of rows that the file's metadata state."""
        return columnar.count(self.place)

    def records(self, wanted: Wanted | None = None) -> Iterator[Found]:
        """As `Table.records`."""
        read = columnar.parquet if self.place.suffix.lower() == ".parquet" else columnar.arrow
        for number, record in read(self.place, wanted):
            if wanted is None or wanted(number):
                yield number, (self.place, number), record, None


class HubTable(Table):
    """A split of a hub dataset, or of a folder that `datasets` saved."""

    def __init__(self, place: Any, dataset: Any) -> None:
        dataset = hub_folder.without_media(dataset)
        self.place, self.dataset = (
            place,
            dataset.select_columns(columnar.select_columns(dataset.data.schema, place)),
        )
        self.size = int(dataset.data.nbytes)

    def count(self) -> int:
        """The number of rows."""
        return len(self.dataset)

    def records(self, wanted: Wanted | None = None) -> Iterator[Found]:
        """As `Table.records`."""
        convert = columnar.values(self.dataset.column_names)
        for number, record in enumerate(_rows(self.dataset), 1):
            if wanted is not None and not wanted(number):
                continue
            try:
                yield number, (self.place, number), convert(record), None
            except ValueError as error:
                raise BadRow(str(error), file=self.place, line=number) from error


class Shards(Table):
    """Tables one after the other, as one table."""

    def __init__(self, parts: list[Table]) -> None:
        self.parts, self.size = parts, sum(part.size for part in parts)
        self.place = parts[0].place

    def files(self) -> list[Path]:
        """The files of all parts."""
        return [file for part in self.parts for file in part.files()]

    def count(self) -> int:
        """The number of records of all parts."""
        return sum(part.count() for part in self.parts)

    def records(self, wanted: Wanted | None = None) -> Iterator[Found]:
        """As `Table.records`."""
        before = 0
        for part in self.parts:
            number = 0
            chosen = None if wanted is None else (lambda own, first=before: wanted(first + own))
            for number, place, record, text in part.records(chosen):
                yield before + number, place, record, text
            before += number if wanted is None else part.count()


def _rows(dataset: Any) -> Iterator[Mapping[str, Any]]:
    for part in dataset.iter(1024):
        names = list(part)
        yield from (dict(zip(names, row, strict=True)) for row in zip(*part.values(), strict=True))
