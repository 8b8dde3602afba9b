"""Episodes as a table of Arrow, one row an episode, its turns a list: for Parquet files and for folders of Hugging Face `datasets`.

The columns are what one looks at and filters by. Where they cannot hold an episode to the letter (half of a character in a text, a seed
of more than 63 bits, a reward that is a whole number), the column `line` holds its line of JSON, and that is what is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from loquent.episode import Episode, from_json, to_json
from loquent.errors import BadRow, MissingExtra
from loquent.fields import loads
from loquent.seeding import Key, borrowed

ROWS = 2048  # episodes in one row group
TEXTS = ("task", "row", "split", "learning", "instruction")
LONE = re.compile("[\ud800-\udfff]")  # half of a character


def write_parquet(path: Path, episodes: Iterable[Episode]) -> int:
    """Write a Parquet file; returns how many episodes are in it.

    Raises:
        MissingExtra: without pyarrow.
    """
    arrow, parquet = _arrow("a Parquet file")
    count, waiting = 0, iter(episodes)
    with parquet.ParquetWriter(path, _schema(arrow), compression="zstd") as writer:
        while part := list(islice(waiting, ROWS)):
            writer.write_table(_table(arrow, part))
            count += len(part)
    return count


def read_parquet(path: Path) -> Iterator[Episode]:
    """The episodes of a Parquet file that `write_parquet` wrote, in order.

    Raises:
        BadRow: the file is no such file, or a row is no episode; names file and row. MissingExtra: without pyarrow.
    """
    arrow, parquet = _arrow("a Parquet file")
    try:
        with parquet.ParquetFile(path) as file:
            _check(file.schema_arrow.names, path)
            for number, row in enumerate((row for batch in file.iter_batches(ROWS) for row in batch.to_pylist()), 1):
                yield _episode(row, path, number)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BadRow(f"this is not a Parquet file that can be read ({str(error)[:200]})", file=path) from error


def write_datasets(folder: Path, episodes: Iterable[Episode]) -> int:
    """Write a folder that `datasets.load_from_disk` reads; returns how many episodes are in it.

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
        BadRow: the folder is no such folder, or a row is no episode; names folder and row. MissingExtra: without datasets.
    """
    datasets = _datasets()
    try:
        with borrowed(Key(0, ("datasets",))):
            loaded = datasets.load_from_disk(str(folder))
        _check(getattr(loaded, "column_names", ()), folder)
        tables = loaded.with_format("arrow").iter(ROWS)
    except BadRow:
        raise
    except Exception as error:  # the library raises many kinds
        raise BadRow(f"this is not a folder of datasets that can be read ({type(error).__name__}: {str(error)[:200]})", file=folder) from error
    for number, row in enumerate((row for table in tables for row in table.to_pylist()), 1):
        yield _episode(row, folder, number)


def _schema(arrow: Any) -> Any:
    text, real = arrow.string(), arrow.float64()
    scores = arrow.list_(arrow.struct({"name": text, "value": real}))
    per_token = arrow.list_(arrow.struct({"name": text, "values": arrow.list_(real)}))
    turn = arrow.struct({"seat": text, "text": text, "to": text, "stopped": text, "rewards": scores, "token_rewards": per_token})
    columns = {"task": text, "row": text, "split": text, "seed": arrow.int64(), "number": arrow.int64(), "ended": text}
    named = arrow.list_(arrow.struct({"seat": text, "name": text}))
    rest = {"learning": text, "instruction": text, "agents": named, "meta": text, "turns": arrow.list_(turn), "line": text}
    return arrow.schema({**columns, **rest})


def _table(arrow: Any, episodes: Iterable[Episode]) -> Any:
    return arrow.Table.from_pylist([_row(one) for one in episodes], schema=_schema(arrow))


def _row(episode: Episode) -> dict[str, Any]:
    """The columns of an episode, and its line where they do not give it back to the letter."""
    said = to_json(episode)
    line = json.dumps(said, allow_nan=False)
    row = {
        **{name: _text(said[name]) for name in (*TEXTS, "ended")},
        **{name: said[name] if abs(said[name]) < 2**63 else None for name in ("seed", "number")},
        "agents": [{"seat": _text(seat), "name": _text(name)} for seat, name in said["agents"].items()],
        "meta": json.dumps(said.get("meta", {})),
        "turns": [_turn(turn) for turn in said["turns"]],
        "line": None,
    }
    return row if _gives(row, line) else {**row, "line": line}


def _gives(row: Mapping[str, Any], line: str) -> bool:
    try:
        return json.dumps(_said(row)) == line
    except ValueError:  # two names that differ by half of a character
        return False


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    rewards, per_token = turn.get("rewards", {}), turn.get("token_rewards", {})
    return {
        **{name: _text(turn.get(name, default)) for name, default in (("seat", ""), ("text", ""), ("to", ""), ("stopped", "end"))},
        "rewards": [{"name": _text(name), "value": _number(value)} for name, value in rewards.items()],
        "token_rewards": [{"name": _text(name), "values": [_number(value) for value in values]} for name, values in per_token.items()],
    }


def _said(row: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object that the columns stand for."""
    meta = _meta(row["meta"])
    head = {name: row[name] for name in ("task", "row", "split", "seed", "number", "ended", "learning", "instruction")}
    agents = _named("agents", row["agents"], "seat", "name")
    return {**head, "agents": agents, **({"meta": meta} if meta else {}), "turns": [_turn_said(turn) for turn in row["turns"]]}


def _turn_said(turn: Mapping[str, Any]) -> dict[str, Any]:
    said = {"seat": turn["seat"], "text": turn["text"]}
    said |= {"to": turn["to"]} if turn["to"] != "" else {}
    said |= {"stopped": turn["stopped"]} if turn["stopped"] != "end" else {}
    said |= {"rewards": _named("rewards", turn["rewards"], "name", "value")} if turn["rewards"] != [] else {}
    return said | ({"token_rewards": _named("token_rewards", turn["token_rewards"], "name", "values")} if turn["token_rewards"] != [] else {})


def _named(column: str, pairs: Any, name: str, value: str) -> dict[str, Any]:
    """What a list of pairs stands for: a mapping from names that are all there, and no two the same."""
    found = {one[name]: one[value] for one in pairs}
    if None in found or len(found) != len(pairs):
        raise ValueError(f"{column} has the names {', '.join(repr(one[name]) for one in pairs)}; texts of which no two are the same are right")
    return found


def _meta(text: Any) -> Any:
    try:
        return loads(text)
    except ValueError as error:
        raise ValueError(f"meta: {error}") from None


def _episode(row: Mapping[str, Any], place: Path, number: int) -> Episode:
    try:
        return from_json(loads(row["line"]) if row["line"] is not None else _said(row))
    except ValueError as error:
        raise BadRow(f"this row is not an episode: {error}", file=place, line=number) from error
    except (KeyError, TypeError, AttributeError) as error:  # a list is null, or a column holds something else than `_schema` says
        right = "the columns of a file that Loquent wrote are right"
        raise BadRow(f"this row is not an episode ({type(error).__name__}: {error}); {right}", file=place, line=number) from error


def _check(columns: Iterable[str], place: Path) -> None:
    wanted = {*TEXTS, "seed", "number", "ended", "agents", "meta", "turns", "line"}
    if missing := sorted(wanted - set(columns)):
        raise BadRow(f"these are no episodes: there is no column {', '.join(missing)}; there are {', '.join(columns)}", file=place)


def _text(said: Any) -> Any:
    """A text that UTF-8 can hold."""
    return LONE.sub("\ufffd", said) if isinstance(said, str) else None


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _arrow(what: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra(what, "parquet") from error
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
