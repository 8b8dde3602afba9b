"""The rows of a source from a file, a folder or the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from loquent.core.seeding import Key, borrowed
from loquent.core.task import Row
from loquent.data.columns import Columns, Place
from loquent.data.readers import FORMATS, imdb, is_imdb, reader
from loquent.data.sources import ALIASES, Source, Splits, draw_of, split_by_id
from loquent.errors import BadRow, BadSetting, MissingExtra
from loquent.machine.network import hub_or_cache


def read(source: Source) -> Splits:
    """The rows by split, as they are in the files or tables; errors as `loading.load`."""
    return _path(source) if source.kind == "path" else _hub(source)


def _path(source: Source) -> Splits:
    path = Path(source.path).expanduser()
    if not path.is_file() and not path.is_dir():
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
                raise BadSetting(
                    f"path = {source.path!r}: {files[split].name} and {file.name} both hold the "
                    f"split {split!r}; keep one file per split"
                )
            files[split] = file
    if not files:
        raise BadSetting(
            f"path = {source.path!r}: this folder holds no split; it must hold files named train, "
            f"validation or test ({', '.join(FORMATS)}, also .gz), or the IMDB folders train/pos, "
            "train/neg, test/pos, test/neg"
        )
    return {split: tuple(_rows(file, split, source.columns)) for split, file in files.items()}


def _file(path: Path, columns: Columns) -> Splits:
    return split_by_id(_rows(path, path.name.split(".")[0], columns))


def _rows(path: Path, prefix: str, columns: Columns) -> list[Row]:
    """The rows of one file, with the ids PREFIX-LINE."""
    read = reader(path)
    if read is None:
        raise BadSetting(
            f"{path}: no reader for this kind of file; its name must end in {', '.join(FORMATS)}, or "
            "in one of these and .gz"
        )
    if read is FORMATS[".txt"]:
        columns = Columns()  # a line has no field names: the whole line is the text
    lines: list[int] = []

    def with_places() -> Iterator[tuple[Place, Mapping[str, Any]]]:
        for line, record in read(path):
            lines.append(line)
            yield (path, line), record

    rows = columns.rows(with_places(), lambda i: f"{prefix}-{lines[i]}")
    if not rows:
        raise BadRow("the file has a header and no rows", file=path)
    return rows


def _imdb(path: Path, columns: Columns) -> Splits:
    """The rows of the IMDB folders, ordered by a hash of their ids, which mixes the labels."""
    splits: Splits = {}
    for split in ("train", "test"):
        if (path / split).is_dir():
            records = list(imdb(path / split))
            names = [f"{split}/{file.parent.name}/{file.stem}" for file, _ in records]
            rows = Columns(labels=columns.labels).rows(
                (((file, 1), record) for file, record in records), names.__getitem__
            )
            splits[split] = tuple(sorted(rows, key=lambda row: draw_of(row.id)))
    return splits


def tables(source: Source) -> dict[str, Any]:
    """The tables of a hub source by split, in the library `datasets`' own type.

    Raises:
        MissingExtra: without the extra "hub". BadSetting: the dataset cannot be loaded, or has none of the
            splits.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("a source of kind 'hub'", "hub") from error
    missing = ""
    try:
        with borrowed(Key(0, ("hub",))), ExitStack() as stack:
            if not Path(source.name).exists():
                missing = stack.enter_context(hub_or_cache())
            loaded = datasets.load_dataset(
                source.name, source.subset or None, revision=source.revision or None
            )
    except Exception as error:  # the library raises many kinds: connection, format, missing configuration
        why = (
            f"{missing}; connect to the network, or name files on this machine with source.kind=path"
            if missing
            else f"{type(error).__name__}: {error}"
        )
        raise BadSetting(f"the hub source {source.pinned} cannot be loaded ({why})") from error
    splits = {ALIASES[name]: rows for name, rows in loaded.items() if name in ALIASES}
    if not splits:
        raise BadSetting(
            f"the hub source {source.pinned} has the splits {', '.join(loaded)}; one must be train, "
            "validation or test"
        )
    return splits


def _hub(source: Source) -> Splits:
    return {
        split: _table(rows, f"{source.pinned}/{split}", split, source.columns)
        for split, rows in tables(source).items()
    }


def _table(records: Iterable[Mapping[str, Any]], place: str, split: str, columns: Columns) -> tuple[Row, ...]:
    rows = columns.rows(
        (((place, number), record) for number, record in enumerate(records, 1)), lambda i: f"{split}-{i + 1}"
    )
    if not rows:
        raise BadRow("this split is empty", file=place)
    return tuple(rows)
