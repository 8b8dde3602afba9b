"""Sources of rows (built-in, a path, the Hugging Face hub) and their train, validation and test splits."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, overload

import numpy as np

from loquent.core.seeding import Key, borrow_generators
from loquent.core.settings import Remark, check_ranges, setting
from loquent.core.task import Row
from loquent.core.values import EMPTY, Record, digest
from loquent.data import content, duplicates
from loquent.data.columns import Columns
from loquent.data.tables import cache, forms, hub_folder
from loquent.data.tables import splits as keyed
from loquent.data.tables.rows import Rows
from loquent.data.tables.splits import ALIASES, SPLITS, draw_of
from loquent.data.tables.table import HubTable, Table
from loquent.data.tables.writing import Tables
from loquent.errors import BadRow, BadSetting, MissingExtra
from loquent.files.machine.network import hub_or_cache

Splits = dict[str, tuple[Row, ...]]

COMMIT = re.compile(r"[0-9a-f]{40}")


TEXTS = ("prompt", "text")  # what an agent reads of a row, for `duplicates`
LARGE = content.LARGE  # bytes of files whose rows are read from a store
COLUMNS = (
    "the fields that columns of other names become, as {question: prompt, answer: references}; fields are "
    + ", ".join(forms.FIELDS)
)


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
    columns: Record = setting(EMPTY, COLUMNS)
    drop_duplicates: bool = setting(False, duplicates.HELP)

    def __post_init__(self) -> None:
        check_ranges(self)
        for column, name in self.columns.items():
            if name not in forms.FIELDS:
                raise BadSetting(
                    f"columns = {dict(self.columns)}: the column {column!r} cannot become {name!r}; the "
                    f"fields are {', '.join(forms.FIELDS)}, as in {{question: prompt, answer: references}}"
                )
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
    def pinned_name(self) -> str:
        """The name of a hub source with the first 12 digits of its commit."""
        return self.name if not self.revision else f"{self.name}@{self.revision[:12]}"

    @property
    def reader(self) -> Columns:
        """What makes this source's records into rows."""
        return Columns(self.text_field, self.label_field, self.labels, self.columns)


def load(source: Source, limit: int = 0) -> dict[str, Sequence[Row]]:
    """The rows of a source by split; kept in the process while the files hold the same.

    Their ids are stable, and unique within the source: the name of the file or the split, and the number of
    the row. The rows of small sources are in memory. Those of large ones are `Rows`, which are read from a
    store on disk when they are used (`tables.cache`).

    A hash of each row's id splits a single file (`split_by_id`). Where a source
    has train and no validation, the same hash moves a fifth of train to validation. A split without rows is
    absent. Rows that stand in two splits are reported with a `Remark`, or left out of the earlier one
    (`drop_duplicates`).

    Args:
        limit: of a large source read and check only the rows that `limit_rows` chooses in each split; 0: all.

    Raises:
        BadRow: a row is bad; names file and line.
        BadSetting: there is nothing to read at the path or under the name.
        MissingExtra: kind hub without the extra "hub".

    Warns:
        Remark: a split is made here; it says how many rows each has.
    """
    if source.kind == "builtin":
        return dict(_builtin(source))
    if _is_large(source):
        return _stored(source, 0 if source.drop_duplicates else limit)
    return dict(_in_memory(source))


def fingerprint(source: Source) -> str:
    """A hash of all rows of a source, 16 hexadecimal digits, which a run records to identify its data."""
    rows = tuple(
        (split, digest(tuple((row.id, row.fields) for row in rows), 64))
        for split, rows in load(source).items()
    )
    return digest(rows, 16)


def split_by_id(rows: Iterable[Row], place: object = "the source") -> Splits:
    """The splits of rows by a hash of each id: about 80 % train, 10 % validation, 10 % test.

    Few rows may leave a split empty. It then gets one row of the largest split, by the hash: train first,
    then test, then validation. So one row is of train, and two rows are of train and test. Where the
    hash fills all splits, appending rows moves no row.

    Args:
        place: where the rows come from, for the Remark.

    Warns:
        Remark: how many rows each split has.
    """
    members = list(rows)
    indices = keyed.by_hash(keyed.draws(row.id for row in members))
    splits = {split: tuple(members[i] for i in part.tolist()) for split, part in indices.items()}
    if splits:
        _tell(place, "no splits", {split: len(part) for split, part in splits.items()})
    return splits


def with_validation(
    splits: Splits, group: Callable[[Row], str] | None = None, place: object = "the source"
) -> Splits:
    """The splits; without validation, a hash of the ids moves a fifth of train there.

    Args:
        group: a text of each row: rows with equal texts stay in one split, so validation may have more rows.
            If all rows have one text, validation stays absent.
        place: as in `split_by_id`.

    Warns:
        Remark: how many rows train and validation have.
    """
    if "train" not in splits or "validation" in splits:
        return splits
    train = splits["train"]
    key = group or (lambda row: row.id)
    first = keyed.for_validation(keyed.draws(key(row) for row in train))
    chosen = {key(train[i]) for i in first.tolist()}
    validation = tuple(row for row in train if key(row) in chosen)
    if train and len(validation) == len(train):
        return splits
    rest = tuple(row for row in train if key(row) not in chosen)
    if validation:
        _tell(place, "no validation rows", {"train": len(rest), "validation": len(validation)})
    return {**splits, "train": rest, "validation": validation}


def _tell(place: object, missing: str, sizes: Mapping[str, int]) -> None:
    """Say which splits were made here."""
    counts = ", ".join(f"{sizes[split]:,} {split}" for split in SPLITS if split in sizes)
    warnings.warn(
        f"{place} has {missing}; a hash of the ids divides its rows: {counts}. To divide them yourself, give "
        "each split a file of its own",
        Remark,
        stacklevel=3,
    )


@overload
def limit_rows(rows: tuple[Row, ...], limit: int) -> tuple[Row, ...]: ...
@overload
def limit_rows(rows: Sequence[Row], limit: int) -> Sequence[Row]: ...
def limit_rows(rows: Sequence[Row], limit: int) -> Sequence[Row]:
    """At most `limit` rows (0: all), chosen by a hash of their ids, in order.

    A smaller limit gives a subset of a larger one.
    """
    if not limit or len(rows) <= limit:
        return rows
    if isinstance(rows, Rows):
        return rows.at(rows.places[keyed.limit_draws(keyed.draws(rows.ids()), limit)])
    return tuple(rows[i] for i in keyed.limit_draws(keyed.draws(row.id for row in rows), limit).tolist())


def share(rows: Sequence[Row], part: float) -> Sequence[Row]:
    """A share of the rows, as `limit_rows` chooses them: the nearest whole number of rows, at least one.

    Args:
        part: above 0 and at most 1.
    """
    return limit_rows(rows if isinstance(rows, Rows) else tuple(rows), max(1, round(part * len(rows))))


def _builtin(source: Source) -> Splits:
    from loquent.data.reviews import reviews

    if source != Source(labels=source.labels, drop_duplicates=source.drop_duplicates):
        raise BadSetting(
            "columns, text_field or label_field is set for the built-in reviews, whose fields are text and "
            "label; leave these settings at their defaults"
        )
    return reviews()


@content.cache_reads(16)
def _tables(source: Source) -> Tables | None:
    """The tables of a source by split; None for the IMDB folders."""
    from loquent.data import row_files  # built-in rows need no reader
    from loquent.data.readers import is_imdb

    if source.kind == "hub":
        return {
            split: (split, HubTable(f"{source.pinned_name}/{split}", table))
            for split, table in tables(source).items()
        }
    path = Path(source.path).expanduser()
    if not path.is_file() and not path.is_dir():
        raise BadSetting(f"path = {source.path!r}: there is no such file or folder")
    return None if path.is_dir() and is_imdb(path) else row_files.of_path(path)


def _is_large(source: Source) -> bool:
    """Whether the rows are read from a store on disk, which needs pyarrow."""
    found = _tables(source)
    if found is None or sum(table.size for _, table in found.values()) < LARGE:
        return False
    if find_spec("pyarrow"):
        return True
    warnings.warn(
        f"{source.path} is read into memory; with loquent[parquet] its rows are read when they are used",
        Remark,
        stacklevel=3,
    )
    return False


@content.cache_reads(16)
def _in_memory(source: Source) -> Splits:
    found, place = _tables(source), source.path or source.pinned_name
    if found is None:
        splits = _imdb(Path(source.path).expanduser(), source.reader)
    else:
        splits = {split: _rows(table, prefix, source.reader) for split, (prefix, table) in found.items()}
    if "" in splits:
        splits = split_by_id(splits[""], place)
    splits = with_validation(splits, place=place)
    splits = duplicates.check_splits(splits, place, source.drop_duplicates, TEXTS)
    return {split: splits[split] for split in SPLITS if splits.get(split)}


@content.cache_reads(16)
def _stored(source: Source, limit: int) -> dict[str, Sequence[Row]]:
    found, place = _tables(source), source.path or source.pinned_name
    assert found is not None
    hashed = content.of(source) or digest((source.name, source.subset, source.revision), 32)
    store = cache.store(found, source.reader, limit, hashed)
    sizes, repeated = store.about["splits"], store.about["repeated"]
    if "" in found:
        _tell(place, "no splits", sizes)
    elif "train" in found and "validation" not in found and "validation" in sizes:
        _tell(place, "no validation rows", {split: sizes[split] for split in ("train", "validation")})
    splits: dict[str, Sequence[Row]] = {}
    for split in sizes:
        places = store.array(f"{split}.npy")
        if source.drop_duplicates and split in repeated:
            places = np.setdiff1d(places, store.array(f"{split}.repeated.npy"), assume_unique=True)
        splits[split] = Rows(store, places, source.reader)
    if repeated and not source.drop_duplicates:
        split, one, other = store.about["example"]
        counts = {split: (count, sizes[split]) for split, count in repeated.items()}
        duplicates.remark(place, counts, f"{split} row {store.id(one)!r} = row {store.id(other)!r}")
    return {split: rows for split, rows in splits.items() if len(rows)}


def _rows(table: Table, prefix: str, columns: Columns) -> tuple[Row, ...]:
    """The rows of one table, with the ids PREFIX-NUMBER."""
    records = ((place, record) for _, place, record, _ in table.records())
    rows = columns.rows(records, lambda i: f"{prefix}-{i + 1}")
    if not rows:
        raise BadRow("the file has a header and no rows", file=table.place)
    return tuple(rows)


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
        with borrow_generators(Key(0, ("hub",))), ExitStack() as stack:
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
        raise BadSetting(f"the hub source {source.pinned_name} cannot be loaded ({why})") from error
    splits = {
        ALIASES[name]: hub_folder.without_media(rows) for name, rows in loaded.items() if name in ALIASES
    }
    if not splits:
        raise BadSetting(
            f"the hub source {source.pinned_name} has the splits {', '.join(loaded)}; one must be train, "
            "validation or test"
        )
    return splits
