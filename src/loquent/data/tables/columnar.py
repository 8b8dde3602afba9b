"""Records of Parquet files, of files of Arrow, and of folders that `datasets` saved.

A record has the values that JSON has: times, dates and decimals become texts. Columns of bytes, pictures and
other types that JSON does not have are left out, and a `Remark` names them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loquent.core.guards import arrow_files
from loquent.core.guards.opening import check_regular
from loquent.core.seeding import Key, borrow_generators
from loquent.core.settings import Remark
from loquent.errors import BadRow, LoquentError, MissingExtra

Fields = dict[str, Any]
Records = Iterator[tuple[int, Fields]]  # (number of the row, record)
Wanted = Callable[[int], bool]  # by the number of the row


def parquet(path: Path, wanted: Wanted | None = None) -> Records:
    """The rows of a Parquet file; batches without a wanted row are not made into records."""
    with _reading(path):
        count = arrow_files.batch_rows(path)
    with _reading(path), _parquet(path) as file:
        yield from _records(file.schema_arrow, file.iter_batches(count), path, wanted, may_repeat=True)


def arrow(path: Path, wanted: Wanted | None = None) -> Records:
    """The rows of a file of Arrow, with a footer or as a stream that is not compressed; as `parquet`."""
    with _reading(path), _arrow(path) as (schema, batches):
        yield from _records(schema, map(arrow_files.valid, batches), path, wanted)


def count(path: Path) -> int:
    """The number of rows of a file of either kind."""
    with _reading(path):
        if path.suffix.lower() == ".parquet":
            with _parquet(path) as file:
                return int(file.metadata.num_rows)
        with _arrow(path) as (_, batches):
            return sum(batch.num_rows for batch in batches)


def load_saved(folder: Path) -> Any:
    """The table, in the library's own type, of a folder that `datasets.Dataset.save_to_disk` made.

    Raises:
        BadRow: it is no such folder. MissingExtra: without datasets.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("a folder of datasets", "hub") from error
    with _reading(folder), borrow_generators(Key(0, ("datasets",))):
        for file in arrow_files.streams(folder):
            _check(arrow_files.schema_of(file), folder)
        return datasets.load_from_disk(str(folder))


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    from pyarrow import parquet

    check_regular(path)
    with parquet.ParquetFile(path) as file:
        yield file


@contextmanager
def _arrow(path: Path) -> Iterator[tuple[Any, Iterable[Any]]]:
    """The schema and the batches of a file of Arrow."""
    from pyarrow import ipc, memory_map

    begin = arrow_files.check_stream(path)
    with memory_map(str(path)) as source:
        source.seek(begin)
        opened = ipc.open_stream(source)
        yield opened.schema, opened


def values(names: Iterable[str]) -> Callable[[Any], Fields]:
    """A function from a row with these columns to a record with the values that JSON has."""
    kept = tuple(names)
    return lambda row: {name: _value(row[name]) for name in kept}


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Inside, an error of the libraries is a `BadRow` that names the file."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingExtra(f"{path.name}: a file of this kind", "parquet") from error
    try:
        yield
    except LoquentError:
        raise
    except Exception as error:  # the libraries raise many kinds
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise BadRow(f"this file cannot be read ({why})", file=path) from error


def select_columns(schema: Any, place: Any) -> list[str]:
    """The columns of a table that are read; errors and warnings as `_check`."""
    return _check(schema, place)[0]


def _records(
    schema: Any, batches: Iterable[Any], path: Path, wanted: Wanted | None, *, may_repeat: bool = False
) -> Records:
    """The records of batches, numbered from 1.

    Args:
        wanted: which rows are used; batches without one are passed over.
        may_repeat: whether columns of categories are read; their batches must be small.
    """
    names, plain = _check(schema, path, may_repeat=may_repeat)
    convert = None if plain else values(names)
    number = 0

    def useful() -> Iterator[Any]:
        nonlocal number
        for batch in batches:
            if wanted is None or any(map(wanted, range(number + 1, number + 1 + batch.num_rows))):
                yield _decoded(batch.select(names))
            else:
                number += batch.num_rows

    for row in arrow_files.rows(useful(), path.stat().st_size):
        number += 1
        try:
            yield number, row if convert is None else convert(row)
        except ValueError as error:
            raise BadRow(str(error), file=path, line=number) from error
    if not number:
        raise BadRow("the file has no rows", file=path)


def _decoded(batch: Any) -> Any:
    """The batch with the texts of its categories."""
    from pyarrow import RecordBatch, types

    columns = [
        column.dictionary_decode() if types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return RecordBatch.from_arrays(columns, names=batch.schema.names)


def _check(schema: Any, place: Path, *, may_repeat: bool = False) -> tuple[list[str], bool]:
    """The columns that are read, and whether all their values are those of JSON.

    Raises:
        BadRow: two columns have one name, or a column has a type that is not read.

    Warns:
        Remark: columns are left out.
    """
    from pyarrow import types

    if twice := [name for name in schema.names if schema.names.count(name) > 1]:
        raise BadRow(f"two columns have the name {twice[0]!r}", file=place)
    kinds = {
        field.name: field.type.value_type if may_repeat and types.is_dictionary(field.type) else field.type
        for field in schema
    }
    if kind := arrow_files.repeating(kinds.values()):
        raise BadRow(f"a column has the type {kind!s:.60}, which is not read", file=place)
    grades = {name: _grade(kind) for name, kind in kinds.items()}
    if omitted := [f"{name} ({kinds[name]!s:.60})" for name, grade in grades.items() if grade == 0]:
        warnings.warn(
            f"{place}: columns are left out, because JSON has no such values: {', '.join(omitted)}",
            Remark,
            stacklevel=2,
        )
    kept = [name for name, grade in grades.items() if grade]
    return kept, all(grades[name] == 2 for name in kept)


def _grade(kind: Any) -> int:
    """2: JSON has all values of an Arrow type; 1: `_value` converts them; 0: it has no such values."""
    from pyarrow import types as t

    if getattr(kind, "extension_name", "") == "arrow.json":
        return 1
    tests = (t.is_null, t.is_boolean, t.is_integer, t.is_string, t.is_large_string)
    if any(test(kind) for test in tests):
        return 2
    if t.is_floating(kind) or (t.is_temporal(kind) and not t.is_duration(kind)) or t.is_decimal(kind):
        return 1
    if t.is_struct(kind) or t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind):
        return min((_grade(kind.field(i).type) for i in range(kind.num_fields)), default=2)
    return 0


def _value(value: Any) -> Any:
    """A value as JSON has it; ValueError for NaN and the infinities."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a JSON number")
        return value
    if isinstance(value, dict):
        return {name: _value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
