"""Files of rows: which files a path has for each split, and tables of JSON lines, CSV and plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from loquent.core.guards import json_files
from loquent.core.guards.opening import blocks_of_lines, open_bytes, whole
from loquent.data import readers
from loquent.data.tables import columnar
from loquent.data.tables.columnar import Wanted
from loquent.data.tables.splits import ALIASES
from loquent.data.tables.table import Columnar, Found, HubTable, Shards, Table
from loquent.errors import BadRow, BadSetting

FORMATS = (*readers.FORMATS, ".parquet", ".arrow")
SHARD = re.compile(r"(\w+)-(\d{5})-of-(\d{5})")


class File(Table):
    """A file of lines: JSON lines, CSV or plain text."""

    def __init__(self, path: Path) -> None:
        self.place, self.size = path, path.stat().st_size
        self._read = readers.reader(path)

    def count(self) -> int:
        """The number of lines, or of a CSV file the number of its records."""
        if self._read is readers.csv_rows:
            return sum(1 for _ in readers.csv_rows(self.place))
        try:
            with open_bytes(self.place) as file:
                last, lines = b"\n", 0
                for block in blocks_of_lines(file):
                    last, lines = block[-1:], lines + block.count(b"\n")
        except OSError as error:
            raise BadRow(f"this file cannot be read ({error})", file=self.place) from error
        return lines + (last != b"\n")

    def records(self, wanted: Wanted | None = None) -> Iterator[Found]:
        """As `Table.records`; an unwanted line of JSON is not parsed."""
        assert self._read is not None
        if self._read is readers.jsonl:
            for line, text, record in readers.json_lines(self.place, wanted):
                yield line, (self.place, line), record, text
            return
        for number, (line, record) in enumerate(self._read(self.place), 1):
            if wanted is None or wanted(number):
                yield number, (self.place, line), record, None


def of_path(path: Path) -> dict[str, tuple[str, Table]]:
    """The tables of a file or a folder by split, each with the beginning of its rows' ids; "" for no split.

    Raises:
        BadSetting: there is nothing to read.
    """
    if path.is_file():
        return {"": (path.name.split(".")[0], _of_file(path))}
    if (path / "dataset_dict.json").is_file():
        names = _splits_of(path)
        return {
            ALIASES[name]: (ALIASES[name], HubTable(path / name, columnar.load_saved(path / name)))
            for name in names
        }
    if (path / "state.json").is_file():
        return {"": (path.name, HubTable(path, columnar.load_saved(path)))}
    return {split: (split, _joined(files, path)) for split, files in _files(path).items()}


def _of_file(path: Path) -> Table:
    name = path.name.lower()
    if name.endswith((".parquet", ".arrow")):
        return Columnar(path)
    if readers.reader(path) is None:
        raise BadSetting(
            f"{path}: no reader for this kind of file; its name must end in {', '.join(FORMATS)}, or in "
            f"{', '.join(readers.FORMATS)} and .gz"
        )
    return File(path)


def _files(folder: Path) -> dict[str, list[Path]]:
    """The files of each split: one, or all parts of one that is divided as the hub divides them."""
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        name = file.name.split(".")[0].lower()
        part = SHARD.fullmatch(name)
        split = ALIASES.get(part[1] if part else name)
        if not split or not file.is_file() or not file.name.lower().removesuffix(".gz").endswith(FORMATS):
            continue
        others = found.setdefault(split, [])
        if others and not (part and _is_next(part, others)):
            raise BadSetting(
                f"path = {str(folder)!r}: {others[-1].name} and {file.name} both hold the split {split!r}; "
                "keep one file per split"
            )
        others.append(file)
    for files in found.values():
        part = SHARD.match(files[-1].name.lower())
        if part and int(part[3]) != len(files):
            raise BadSetting(
                f"path = {str(folder)!r}: {files[-1].name} is one of {int(part[3])} files, and {len(files)} "
                "are here"
            )
    if not found:
        raise BadSetting(
            f"path = {str(folder)!r}: this folder holds no split; it must hold files named train, validation "
            f"or test ({', '.join(FORMATS)}, also .gz), be a folder that `datasets` saved, or have the IMDB "
            "folders train/pos, train/neg, test/pos, test/neg"
        )
    return found


def _is_next(part: re.Match[str], others: list[Path]) -> bool:
    before = SHARD.match(others[-1].name.lower())
    return before is not None and (before[1], before[3]) == (part[1], part[3])


def _joined(files: list[Path], folder: Path) -> Table:
    return _of_file(files[0]) if len(files) == 1 else Shards([_of_file(file) for file in files])


def _splits_of(folder: Path) -> list[str]:
    """The splits of a `DatasetDict` that are read."""
    try:
        content = json_files.loads(whole(folder / "dataset_dict.json"))
        names = [name for name in content["splits"] if name in ALIASES]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadSetting(
            f"{folder / 'dataset_dict.json'} cannot be read ({error!r:.200}); save the folder again with "
            "`save_to_disk`"
        ) from error
    if not names:
        raise BadSetting(
            f"path = {str(folder)!r} has none of the splits train, validation and test; name one so"
        )
    return names
