"""Sources of rows (built-in, a path, the Hugging Face hub) and their train, validation and test splits."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core.seeding import Key, borrowed
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row
from loquent.core.values import digest
from loquent.data import content, duplicates, hub_folder
from loquent.data.columns import Columns, Place
from loquent.errors import BadRow, BadSetting, MissingExtra
from loquent.files.machine.network import hub_or_cache

Splits = dict[str, tuple[Row, ...]]

SPLITS = ("train", "validation", "test")
ALIASES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}
# Without validation rows, one in 5 train rows becomes one: 25,000 reviews give 20,000 and 5,000 (2210.01241).
VALIDATION_ONE_IN = 5
# The splits that a file of few rows fills, in this order; single rows come from the splits behind them.
GIVERS = {"train": ("validation", "test"), "test": ("validation",), "validation": ()}
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class Source:
    """The settings of a source: its kind, its location, and the fields of the text and the label."""

    kind: str = setting(
        "builtin", "built-in reviews, a file or folder, or a hub dataset", choices=("builtin", "path", "hub")
    )
    path: str = setting(
        "",
        "kind path: a file, a folder with train, validation and test files, or the IMDB folders",
        file=True,
    )
    name: str = setting("", "kind hub: the dataset's name, or a local folder in the hub's format", file=True)
    subset: str = setting("", "kind hub: the dataset's configuration, if it has several")
    revision: str = setting("", "kind hub: the commit, 40 hexadecimal digits, which fixes the rows")
    text_field: str = setting("text", "the field that holds the text")
    label_field: str = setting("", "the field that holds the label; empty: `label`, if the rows have it")
    labels: tuple[str, ...] = setting((), "the allowed labels; empty: any label")
    drop_duplicates: bool = setting(False, duplicates.HELP)

    def __post_init__(self) -> None:
        check_ranges(self)
        wanted = {"builtin": (), "path": ("path",), "hub": ("name",)}[self.kind]
        for field in wanted:
            if not getattr(self, field):
                raise BadSetting(f"a source of kind {self.kind!r} needs {field}, which is empty; set it")
        for field, kind in (("path", "path"), ("name", "hub"), ("subset", "hub"), ("revision", "hub")):
            if getattr(self, field) and kind != self.kind:
                raise BadSetting(
                    f"{field} = {getattr(self, field)!r} is set, but kind = {self.kind!r}; {field} "
                    f"belongs to a source of kind {kind!r}"
                )
        if self.kind == "hub" and not Path(self.name).is_dir() and not COMMIT.fullmatch(self.revision):
            raise BadSetting(
                f"the hub source {self.name!r} is not pinned: revision = {self.revision!r}; it must "
                "be a commit of 40 hexadecimal digits, because names such as 'main' move; the "
                "dataset's page lists its commits under 'Files and versions'"
            )

    @property
    def pinned(self) -> str:
        """The name of a hub source with the first 12 digits of its commit."""
        return self.name if not self.revision else f"{self.name}@{self.revision[:12]}"

    @property
    def columns(self) -> Columns:
        """The fields that make this source's records into rows."""
        return Columns(self.text_field, self.label_field, self.labels)


@content.kept(16)
def load(source: Source) -> Splits:
    """The rows of a source by split; kept in the process while the files hold the same.

    Their ids are stable, and unique within the source.

    A hash of each row's id splits a single file (`split_by_id`). Where a source
    has train and no validation, the same hash moves a fifth of train to validation. A split without rows is
    absent. Rows that stand in two splits are reported with a `Remark`, or left out of the earlier one
    (`drop_duplicates`).

    Raises:
        BadRow: a row is bad; names file and line.
        BadSetting: there is nothing to read at the path or under the name.
        MissingExtra: kind hub without the extra "hub".
    """
    if source.kind == "builtin":
        return _builtin(source)
    splits = _path(source) if source.kind == "path" else _hub(source)
    splits = duplicates.checked(with_validation(splits), source.path or source.pinned, source.drop_duplicates)
    return {split: splits[split] for split in SPLITS if splits.get(split)}


def fingerprint(source: Source) -> str:
    """A hash of all rows of a source, 16 hexadecimal digits, which a run records to identify its data."""
    rows = tuple(
        (split, digest(tuple((row.id, row.fields) for row in rows), 64))
        for split, rows in load(source).items()
    )
    return digest(rows, 16)


def draw_of(id: str) -> float:
    """A hash of an id as a number in [0, 1). It decides splits and subsets."""
    return (
        int.from_bytes(hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        / 2**64
    )


def split_by_id(rows: Iterable[Row]) -> Splits:
    """The splits of rows by a hash of each id: about 80 % train, 10 % validation, 10 % test.

    Few rows may leave a split empty. It then gets one row of the largest split, by the hash: train first,
    then test, then validation. So one row is of train, and two rows are of train and test. Where the
    hash fills all splits, appending rows moves no row.
    """
    members = list(rows)
    split_of = {row.id: _split_of(draw_of(row.id)) for row in members}
    for empty, others in GIVERS.items():
        counts = Counter(split_of.values())
        giver = max(SPLITS, key=counts.__getitem__)
        if counts[giver] < 2:
            giver = next((split for split in others if counts[split]), "")
        if giver and not counts[empty]:
            split_of[max((id for id in split_of if split_of[id] == giver), key=draw_of)] = empty
    found = {split: tuple(row for row in members if split_of[row.id] == split) for split in SPLITS}
    return {split: part for split, part in found.items() if part}


def _split_of(uniform: float) -> str:
    return "train" if uniform < 0.8 else "validation" if uniform < 0.9 else "test"


def with_validation(splits: Splits, group: Callable[[Row], str] | None = None) -> Splits:
    """The splits; without validation, a hash of the ids moves a fifth of train there.

    Args:
        group: a text of each row: rows with equal texts stay in one split, so validation may have more rows.
            If all rows have one text, validation stays absent.
    """
    if "train" not in splits or "validation" in splits:
        return splits
    train = splits["train"]
    key = group or (lambda row: row.id)
    first = sorted(train, key=lambda row: draw_of(key(row)))[: len(train) // VALIDATION_ONE_IN]
    chosen = {key(row) for row in first}
    validation = tuple(row for row in train if key(row) in chosen)
    if train and len(validation) == len(train):
        return splits
    return {
        **splits,
        "train": tuple(row for row in train if key(row) not in chosen),
        "validation": validation,
    }


def limited(rows: tuple[Row, ...], limit: int) -> tuple[Row, ...]:
    """At most `limit` rows (0: all), chosen by a hash of their ids, in order.

    A smaller limit gives a subset of a larger one.
    """
    if not limit or len(rows) <= limit:
        return rows
    chosen = {row.id for row in sorted(rows, key=lambda row: draw_of(row.id))[:limit]}
    return tuple(row for row in rows if row.id in chosen)


def share(rows: Sequence[Row], part: float) -> tuple[Row, ...]:
    """A share of the rows, as `limited` chooses them: the nearest whole number of rows, at least one.

    Args:
        part: above 0 and at most 1.
    """
    return limited(tuple(rows), max(1, round(part * len(rows))))


def _builtin(source: Source) -> Splits:
    from loquent.data.reviews import reviews

    if source != Source(labels=source.labels, drop_duplicates=source.drop_duplicates):
        raise BadSetting(
            "text_field or label_field is set for the built-in reviews, whose fields are text and "
            "label; leave both settings at their defaults"
        )
    return reviews()


def _path(source: Source) -> Splits:
    from loquent.data.readers import FORMATS, is_imdb, reader

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
    from loquent.data.readers import FORMATS, reader

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
    from loquent.data.readers import imdb

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
            if Path(source.name).exists():
                hub_folder.check(Path(source.name))
            else:
                missing = stack.enter_context(hub_or_cache())
            loaded = datasets.load_dataset(
                source.name, source.subset or None, revision=source.revision or None
            )
    except BadSetting:
        raise
    except Exception as error:  # the library raises many kinds: connection, format, missing configuration
        why = (
            f"{missing}; connect to the network, or name files on this machine with source.kind=path"
            if missing
            else f"{type(error).__name__}: {error}"
        )
        raise BadSetting(f"the hub source {source.pinned} cannot be loaded ({why})") from error
    splits = {
        ALIASES[name]: hub_folder.without_media(rows) for name, rows in loaded.items() if name in ALIASES
    }
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
