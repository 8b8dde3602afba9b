"""Episodes as an Arrow table: Parquet files and folders of Hugging Face `datasets`.

A row is an episode with a list of turns. The columns are for inspection and filters. Some episodes do not fit
them exactly: a text with a lone surrogate, a seed of more than 63 bits, an integer reward. Then the column
`line` holds the episode's line of JSON, and readers use it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from loquent.core.episode import Episode, from_json, to_json
from loquent.core.guards.json_files import loads
from loquent.core.guards.opening import MOST_WHOLE, check_expansion, check_regular, whole
from loquent.core.seeding import Key, borrowed
from loquent.errors import BadRow, MissingExtra

ROWS = 2048  # episodes in one row group
TEXTS = ("task", "row", "split", "learning", "instruction")
LONE = re.compile("[\ud800-\udfff]")  # a lone surrogate, which UTF-8 cannot hold


def write_parquet(path: Path, episodes: Iterable[Episode]) -> int:
    """Write a Parquet file; return the number of episodes.

    Raises:
        MissingExtra: without pyarrow.
    """
    arrow, parquet = _arrow("a Parquet file")
    count, remaining = 0, iter(episodes)
    with parquet.ParquetWriter(path, _schema(arrow), compression="zstd") as writer:
        while part := list(islice(remaining, ROWS)):
            writer.write_table(_table(arrow, part))
            count += len(part)
    return count


def read_parquet(path: Path) -> Iterator[Episode]:
    """The episodes of a Parquet file that `write_parquet` wrote, in order.

    Raises:
        BadRow: the file is not a Parquet file of episodes, or a row is not an episode; names file and row.
        MissingExtra: without pyarrow.
    """
    arrow, parquet = _arrow("a Parquet file")
    try:
        with parquet.ParquetFile(path) as file:
            _check(file.schema_arrow, path)
            rows = _rows(file.iter_batches(_batch(file.metadata, path)), path.stat().st_size)
            for number, row in enumerate(rows, 1):
                yield _episode(row, path, number)
    except (arrow.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        raise BadRow(
            f"this Parquet file cannot be read ({str(error)[:200]}); use a file that Loquent wrote", file=path
        ) from error


def _batch(metadata: Any, path: Path) -> int:
    """The rows that are read at a time: few where a value could be long, because a column repeats values.

    Raises:
        OSError: the columns are much larger than the file.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    check_expansion(sum(group.total_byte_size for group in groups), path.stat().st_size)
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    longest = max((column.total_uncompressed_size for column in columns), default=1)
    return int(min(ROWS, max(1, MOST_WHOLE // max(1, longest))))


def _rows(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """The rows of batches one by one; OSError where they are much larger than a file of this size."""
    total = 0
    for batch in batches:
        total += batch.nbytes
        check_expansion(total, size)
        for i in range(batch.num_rows):
            yield batch.slice(i, 1).to_pylist()[0]


def write_datasets(folder: Path, episodes: Iterable[Episode]) -> int:
    """Write a folder that `datasets.load_from_disk` reads; return the number of episodes.

    Raises:
        MissingExtra: without datasets.
    """
    datasets, (arrow, _) = _datasets(), _arrow("a folder of datasets")
    table = _table(arrow, list(episodes))
    with borrowed(Key(0, ("datasets",))), _quiet(datasets):
        datasets.Dataset(table).save_to_disk(str(folder))
    return int(table.num_rows)


def read_datasets(folder: Path) -> Iterator[Episode]:
    """The episodes of a folder that `write_datasets` wrote, in order.

    Raises:
        BadRow: the folder is not a dataset of episodes, or a row is not an episode; names folder and row.
        MissingExtra: without datasets.
    """
    datasets = _datasets()
    try:
        with borrowed(Key(0, ("datasets",))):
            size = _check_streams(folder)
            loaded = datasets.load_from_disk(str(folder))
        rows = _rows(map(_valid, loaded.with_format("arrow").iter(ROWS)), size)
        for number, row in enumerate(rows, 1):
            yield _episode(row, folder, number)
    except BadRow:
        raise
    except Exception as error:  # the library raises many kinds
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise BadRow(
            f"this folder of datasets cannot be read ({why}); use a folder that Loquent wrote", file=folder
        ) from error


def _check_streams(folder: Path) -> int:
    """The bytes of a folder's files of Arrow, whose columns are checked.

    OSError for a file that is compressed, or that lies elsewhere: compressed buffers decompress as a whole
    and without a bound when the library opens a file.
    """
    from pyarrow import ipc, memory_map

    total = 0
    for entry in loads(whole(folder / "state.json"))["_data_files"]:
        file = folder / entry["filename"]
        if file.parent != folder:
            raise OSError(f"{entry['filename']} is not a file of this folder")
        check_regular(file)
        total += file.stat().st_size
        with memory_map(str(file)) as source:
            _check(ipc.open_stream(source).schema, folder)
            source.seek(0)
            try:
                messages = ipc.MessageReader.open_stream(source)
                while True:
                    message = messages.read_next_message()
                    if message.type == "record batch" and _is_compressed(message.metadata.to_pybytes()):
                        raise OSError(f"{file.name} is compressed")
                    if message.type not in ("schema", "record batch"):
                        raise OSError(f"{file.name} has a {message.type}")
            except StopIteration:
                pass
    return total


def _is_compressed(message: bytes) -> bool:
    """Whether a record batch has the fourth field of its FlatBuffers table, its compression."""

    def field(table: int, number: int) -> int:
        vtable = table - int.from_bytes(message[table : table + 4], "little", signed=True)
        at = vtable + 4 + 2 * number
        end = vtable + int.from_bytes(message[vtable : vtable + 2], "little")
        return int.from_bytes(message[at : at + 2], "little") if at < end else 0

    root = int.from_bytes(message[:4], "little")
    header = root + field(root, 2)
    return bool(field(header + int.from_bytes(message[header : header + 4], "little"), 3))


def _valid(table: Any) -> Any:
    """The table; an error where its offsets point outside of its values."""
    table.validate(full=True)
    return table


def _schema(arrow: Any) -> Any:
    text, real = arrow.string(), arrow.float64()
    scores = arrow.list_(arrow.struct({"name": text, "value": real}))
    per_token = arrow.list_(arrow.struct({"name": text, "values": arrow.list_(real)}))
    turn = arrow.struct(
        {
            "seat": text,
            "text": text,
            "to": text,
            "stopped": text,
            "rewards": scores,
            "token_rewards": per_token,
        }
    )
    columns = {
        "task": text,
        "row": text,
        "split": text,
        "seed": arrow.int64(),
        "number": arrow.int64(),
        "ended": text,
    }
    agents = arrow.list_(arrow.struct({"seat": text, "name": text}))
    further = {
        "learning": text,
        "instruction": text,
        "agents": agents,
        "meta": text,
        "turns": arrow.list_(turn),
        "line": text,
    }
    return arrow.schema({**columns, **further})


def _table(arrow: Any, episodes: Iterable[Episode]) -> Any:
    return arrow.Table.from_pylist([_row(episode) for episode in episodes], schema=_schema(arrow))


def _row(episode: Episode) -> dict[str, Any]:
    """The columns of an episode; `line` holds its JSON where the others do not represent it exactly."""
    fields = to_json(episode)
    line = json.dumps(fields, allow_nan=False)
    row = {
        **{name: _text(fields[name]) for name in (*TEXTS, "ended")},
        **{name: fields[name] if abs(fields[name]) < 2**63 else None for name in ("seed", "number")},
        "agents": [{"seat": _text(seat), "name": _text(name)} for seat, name in fields["agents"].items()],
        "meta": json.dumps(fields.get("meta", {})),
        "turns": [_turn(turn) for turn in fields["turns"]],
        "line": None,
    }
    return row if _is_exact(row, line) else {**row, "line": line}


def _is_exact(row: Mapping[str, Any], line: str) -> bool:
    try:
        return json.dumps(_fields(row)) == line
    except ValueError:  # two names that differ by a lone surrogate alone
        return False


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    rewards, per_token = turn.get("rewards", {}), turn.get("token_rewards", {})
    return {
        **{
            name: _text(turn.get(name, default))
            for name, default in (("seat", ""), ("text", ""), ("to", ""), ("stopped", "end"))
        },
        "rewards": [{"name": _text(name), "value": _number(value)} for name, value in rewards.items()],
        "token_rewards": [
            {"name": _text(name), "values": [_number(value) for value in values]}
            for name, values in per_token.items()
        ],
    }


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object of an episode from its columns."""
    meta = _meta(row["meta"])
    head = {
        name: row[name]
        for name in ("task", "row", "split", "seed", "number", "ended", "learning", "instruction")
    }
    agents = _mapping("agents", row["agents"], "seat", "name")
    return {
        **head,
        "agents": agents,
        **({"meta": meta} if meta else {}),
        "turns": [_turn_fields(turn) for turn in row["turns"]],
    }


def _turn_fields(turn: Mapping[str, Any]) -> dict[str, Any]:
    fields = {"seat": turn["seat"], "text": turn["text"]}
    fields |= {"to": turn["to"]} if turn["to"] != "" else {}
    fields |= {"stopped": turn["stopped"]} if turn["stopped"] != "end" else {}
    fields |= (
        {"rewards": _mapping("rewards", turn["rewards"], "name", "value")} if turn["rewards"] != [] else {}
    )
    return fields | (
        {"token_rewards": _mapping("token_rewards", turn["token_rewards"], "name", "values")}
        if turn["token_rewards"] != []
        else {}
    )


def _mapping(column: str, pairs: Any, name: str, value: str) -> dict[str, Any]:
    """A list of pairs as a mapping; ValueError where a name is null or occurs twice."""
    mapping = {pair[name]: pair[value] for pair in pairs}
    if None in mapping or len(mapping) != len(pairs):
        raise ValueError(
            f"{column} has the names {', '.join(repr(pair[name]) for pair in pairs)}; they must be "
            "different strings"
        )
    return mapping


def _meta(text: Any) -> Any:
    try:
        return loads(text, nan="kept")
    except ValueError as error:
        raise ValueError(f"meta: {error}") from None


def _episode(row: Mapping[str, Any], place: Path, number: int) -> Episode:
    try:
        return from_json(loads(row["line"], nan="kept") if row["line"] is not None else _fields(row))
    except ValueError as error:
        raise BadRow(f"this row is not an episode: {error}", file=place, line=number) from error
    except (KeyError, TypeError, AttributeError) as error:  # a null list, or a wrong column type
        allowed = "it must have the columns of a file that Loquent wrote"
        raise BadRow(
            f"this row is not an episode ({type(error).__name__}: {error}); {allowed}",
            file=place,
            line=number,
        ) from error


def _check(schema: Any, place: Path) -> None:
    from pyarrow import types

    columns, kinds = schema.names, [field.type for field in schema]
    for kind in kinds:  # each entry of these kinds may refer to one long text
        if types.is_dictionary(kind) or types.is_run_end_encoded(kind) or "_view" in str(kind).split("<")[0]:
            raise BadRow(f"a column has the type {kind!s:.60}, which is not read", file=place)
        kinds += [kind.field(i).type for i in range(kind.num_fields)]
    required = {*TEXTS, "seed", "number", "ended", "agents", "meta", "turns", "line"}
    if missing := sorted(required - set(columns)):
        raise BadRow(
            f"these are not episodes: the columns {', '.join(missing)} are missing; here are "
            f"{', '.join(columns)}",
            file=place,
        )


def _text(value: Any) -> Any:
    """A string with each lone surrogate replaced, which UTF-8 can hold; None for any other value."""
    return LONE.sub("\ufffd", value) if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _arrow(feature: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra(feature, "parquet") from error
    return pyarrow, parquet


@contextmanager
def _quiet(datasets: Any) -> Iterator[None]:
    shown = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def _datasets() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("a folder of datasets", "hub") from error
    return datasets
