"""Sources: where rows come from (built in, a path, the hub), and how they fall into train, validation and test."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from loquent.data.columns import Columns, Place
from loquent.data.readers import FORMATS, imdb, is_imdb, reader
from loquent.errors import BadRow, BadSetting, MissingExtra
from loquent.seeding import Key, borrowed
from loquent.settings import check_ranges, setting
from loquent.task import Row
from loquent.values import digest

Splits = dict[str, tuple[Row, ...]]

SPLITS = ("train", "validation", "test")
ALIASES = {"train": "train", "validation": "validation", "valid": "validation", "val": "validation", "dev": "validation", "test": "test"}
CARVED = 5  # one row in so many of train becomes validation where a source has none (25,000 reviews: 20,000 and 5,000, as in 2210.01241)
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where rows come from, and which fields count."""

    kind: str = setting("builtin", "reviews made by Loquent, a file or folder, or a hub dataset", choices=("builtin", "path", "hub"))
    path: str = setting("", "kind path: a file, a folder with train, validation and test files, or the IMDB folders")
    name: str = setting("", "kind hub: the dataset's name, or a local folder in the hub's format")
    subset: str = setting("", "kind hub: the dataset's configuration, where it has several")
    revision: str = setting("", "kind hub: the commit, 40 hexadecimal digits, so that the rows never change")
    text_field: str = setting("text", "the field that holds the text")
    label_field: str = setting("", "the field that holds the label; empty: `label`, where there is one")
    labels: tuple[str, ...] = setting((), "the labels that may occur; empty: any")

    def __post_init__(self) -> None:
        check_ranges(self)
        wanted = {"builtin": (), "path": ("path",), "hub": ("name",)}[self.kind]
        for field in wanted:
            if not getattr(self, field):
                raise BadSetting(f"a source of kind {self.kind!r} needs {field}")
        for field, kind in (("path", "path"), ("name", "hub"), ("subset", "hub"), ("revision", "hub")):
            if getattr(self, field) and kind != self.kind:
                raise BadSetting(f"{field} = {getattr(self, field)!r} belongs to a source of kind {kind!r}; this one is {self.kind!r}")
        if self.kind == "hub" and not Path(self.name).is_dir() and not COMMIT.fullmatch(self.revision):
            raise BadSetting(
                f"the hub source {self.name!r} must be pinned: revision = {self.revision!r} is no commit of 40 hexadecimal digits. "
                "Names such as 'main' move; the dataset's page lists its commits under 'Files and versions'"
            )

    @property
    def pinned(self) -> str:
        """The name of a hub source with the beginning of its commit."""
        return self.name if not self.revision else f"{self.name}@{self.revision[:12]}"

    @property
    def columns(self) -> Columns:
        """How this source's records become rows."""
        return Columns(self.text_field, self.label_field, self.labels)


@lru_cache(maxsize=16)
def load(source: Source) -> Splits:
    """The rows of a source by split; read once a process. Their ids are stable and unique within the source.

    A single file is split by a hash of each row's id: about 80 % train, 10 % validation, 10 % test. A source with train and
    without validation gives up a fifth of train, chosen by the same hash. A split without rows is absent.

    Raises:
        BadRow: a row is bad; names file and line.
        BadSetting: there is nothing to read at the path or under the name.
        MissingExtra: kind hub without the extra "hub".
    """
    if source.kind == "builtin":
        return _builtin(source)
    splits = _path(source) if source.kind == "path" else _hub(source)
    splits = carved(splits)
    return {split: splits[split] for split in SPLITS if splits.get(split)}


def fingerprint(source: Source) -> str:
    """A hash of all rows of a source, 16 hexadecimal digits: what a run records about its data."""
    rows = tuple((split, digest(tuple((row.id, row.fields) for row in rows), 64)) for split, rows in load(source).items())
    return digest(rows, 16)


def draw_of(id: str) -> float:
    """A number in [0, 1) that depends on an id alone: splits and subsets are cut by it."""
    return int.from_bytes(hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") / 2**64


def divided(rows: Iterable[Row]) -> Splits:
    """Rows without splits of their own, about 80 % train, 10 % validation and 10 % test by a hash of each id."""
    splits: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for row in rows:
        drawn = draw_of(row.id)
        splits["train" if drawn < 0.8 else "validation" if drawn < 0.9 else "test"].append(row)
    return {split: tuple(found) for split, found in splits.items() if found}


def carved(splits: Splits) -> Splits:
    """The splits, and where there is train and no validation a fifth of train as validation, chosen by a hash of the ids."""
    if "train" not in splits or "validation" in splits:
        return splits
    train = splits["train"]
    chosen = {row.id for row in limited(train, len(train) // CARVED)} if len(train) >= CARVED else set()
    validation = tuple(row for row in train if row.id in chosen)
    return {**splits, "train": tuple(row for row in train if row.id not in chosen), "validation": validation}


def limited(rows: tuple[Row, ...], limit: int) -> tuple[Row, ...]:
    """A fixed subset in the order of the source (0: all): a smaller limit gives a part of a larger one."""
    if not limit or len(rows) <= limit:
        return rows
    kept = {row.id for row in sorted(rows, key=lambda row: draw_of(row.id))[:limit]}
    return tuple(row for row in rows if row.id in kept)


def _builtin(source: Source) -> Splits:
    from loquent.data.reviews import reviews

    if source != Source(labels=source.labels):
        raise BadSetting("the built-in reviews have the fields text and label; text_field and label_field are for other sources")
    return reviews()


def _path(source: Source) -> Splits:
    path = Path(source.path).expanduser()
    if not path.exists():
        raise BadSetting(f"path = {source.path!r}: there is no such file or folder")
    if path.is_file():
        return _file(path, source.columns)
    if is_imdb(path):
        return _imdb(path, source.columns)
    files: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        split = ALIASES.get(file.name.split(".")[0].lower())
        if split and reader(file) and file.is_file():
            if split in files:
                raise BadSetting(f"path = {source.path!r}: {files[split].name} and {file.name} both hold the split {split!r}")
            files[split] = file
    if not files:
        raise BadSetting(
            f"path = {source.path!r}: this folder has neither files named train, validation or test ({', '.join(FORMATS)}, also .gz) "
            "nor the IMDB folders train/pos, train/neg, test/pos, test/neg"
        )
    return {split: tuple(_rows(file, split, source.columns)) for split, file in files.items()}


def _file(path: Path, columns: Columns) -> Splits:
    return divided(_rows(path, path.name.split(".")[0], columns))


def _rows(path: Path, prefix: str, columns: Columns) -> list[Row]:
    """The rows of one file; an id is the prefix and the line."""
    read = reader(path)
    if read is None:
        raise BadSetting(f"{path}: no reader for this kind of file; known endings: {', '.join(FORMATS)}, each also with .gz")
    if read is FORMATS[".txt"]:
        columns = Columns()  # a line has no names: it is the text
    lines: list[int] = []

    def placed() -> Iterator[tuple[Place, Mapping[str, Any]]]:
        for line, record in read(path):
            lines.append(line)
            yield (path, line), record

    rows = columns.rows(placed(), lambda i: f"{prefix}-{lines[i]}")
    if not rows:
        raise BadRow("the file has a header and no rows", file=path)
    return rows


def _imdb(path: Path, columns: Columns) -> Splits:
    """The IMDB folders; files have no order of their own, so rows stand in that of their hashes, labels mixed."""
    splits: Splits = {}
    for split in ("train", "test"):
        if (path / split).is_dir():
            found = list(imdb(path / split))
            names = [f"{split}/{file.parent.name}/{file.stem}" for file, _ in found]
            rows = Columns(labels=columns.labels).rows((((file, 1), record) for file, record in found), names.__getitem__)
            splits[split] = tuple(sorted(rows, key=lambda row: draw_of(row.id)))
    return splits


def tables(source: Source) -> dict[str, Any]:
    """The tables of a hub source by split, as the library `datasets` gives them.

    Raises:
        MissingExtra: without the extra "hub". BadSetting: it cannot be loaded, or has none of the splits.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("a source of kind 'hub'", "hub") from error
    try:
        with borrowed(Key(0, ("hub",))):
            loaded = datasets.load_dataset(source.name, source.subset or None, revision=source.revision or None)
    except Exception as error:  # the library raises many kinds: connection, format, missing configuration
        raise BadSetting(f"the hub source {source.pinned} cannot be loaded ({type(error).__name__}: {error})") from error
    found = {ALIASES[name]: rows for name, rows in loaded.items() if name in ALIASES}
    if not found:
        raise BadSetting(f"the hub source {source.pinned} has the splits {', '.join(loaded)}; train, validation or test is needed")
    return found


def _hub(source: Source) -> Splits:
    return {split: _table(rows, f"{source.pinned}/{split}", split, source.columns) for split, rows in tables(source).items()}


def _table(records: Iterable[Mapping[str, Any]], place: str, split: str, columns: Columns) -> tuple[Row, ...]:
    rows = columns.rows((((place, number), record) for number, record in enumerate(records, 1)), lambda i: f"{split}-{i + 1}")
    if not rows:
        raise BadRow("this split is empty", file=place)
    return tuple(rows)
