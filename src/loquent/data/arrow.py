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
from loquent.core.guards import arrow_files
from loquent.core.guards.arrow_files import ROWS
from loquent.core.guards.json_files import loads
from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadRow, MissingExtra

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
            count = arrow_files.batch_rows(path)
            rows = arrow_files.rows(file.iter_batches(count), path.stat().st_size)
            for number, row in enumerate(rows, 1):
                yield _episode(row, path, number)
    except (arrow.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        raise BadRow(
            f"this Parquet file cannot be read ({str(error)[:200]}); use a file that Loquent wrote", file=path
        ) from error


def write_datasets(folder: Path, episodes: Iterable[Episode]) -> int:
    """Write a folder that `datasets.load_from_disk` reads; return the number of episodes.

    Raises:
        MissingExtra: without datasets.
    """
    datasets, (arrow, _) = _datasets(), _arrow("a folder of datasets")
    table = _table(arrow, list(episodes))
    with borrow_generators(Key(0, ("datasets",))), _quiet(datasets):
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
        with borrow_generators(Key(0, ("datasets",))):
            files = arrow_files.streams(folder)
            for file in files:
                _check(arrow_files.schema_of(file), folder)
            loaded = datasets.load_from_disk(str(folder))
        size = sum(file.stat().st_size for file in files)
        rows = arrow_files.rows(map(arrow_files.valid, loaded.with_format("arrow").iter(ROWS)), size)
        for number, row in enumerate(rows, 1):
            yield _episode(row, folder, number)
    except BadRow:
        raise
    except Exception as error:  # the library raises many kinds
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise BadRow(
            f"this folder of datasets cannot be read ({why}); use a folder that Loquent wrote", file=folder
        ) from error


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
    columns = schema.names
    if kind := arrow_files.repeating(field.type for field in schema):
        raise BadRow(f"a column has the type {kind!s:.60}, which is not read", file=place)
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
