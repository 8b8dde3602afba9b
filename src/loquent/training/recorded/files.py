"""Files of recorded episodes, checked against the task, the split and the rows of the episodes."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from loquent.core import episode
from loquent.core.episode import Episode
from loquent.core.task import Row, Task
from loquent.core.values import freeze
from loquent.data.readers import jsonl
from loquent.data.tables.rows import by_id
from loquent.errors import BadRow, BadSetting
from loquent.files import names


def episode_file(path: str) -> Path:
    """The file of episodes at a path: the path itself, or `episodes.jsonl` in this folder.

    Raises:
        BadSetting: there is no such file, or it is not in JSON lines.
    """
    place = Path(path)
    file = place / names.EPISODES if place.is_dir() else place
    if not file.is_file():
        why = f"the folder has no {names.EPISODES}" if place.is_dir() else "there is no such file or folder"
        advice = "`loquent collect` makes one, `loquent convert` makes one of other forms"
        raise BadSetting(f"training.data = {path!r}: {why}; {advice}")
    if file.suffix == ".parquet":
        advice = f"the format must be JSON lines; `loquent convert {path} {file.stem}.jsonl` converts it"
        raise BadSetting(f"training.data = {path!r} is a Parquet file; {advice}")
    return file


def rows_for(file: Path, task: Task, split: str) -> Mapping[str, Row]:
    """The rows that the episodes of a file may be on, by id.

    These are the rows of the split, and the rows in `rows.jsonl` in the folder of the file.
    """
    rows = by_id(task.rows(split) if split in task.spec.splits else ())
    added = file.with_name(names.ROWS)
    if not added.is_file():
        return rows
    return ChainMap(dict(by_id(_added(added))), cast("dict[str, Row]", rows))


def read_checked(file: Path, task: Task, rows: Mapping[str, Row], split: str) -> Iterator[Episode]:
    """The episodes of a file, each of this task, on this split and on one of `rows`.

    Raises:
        BadRow: an episode is of another task, split or row; names file and line.
    """
    identity = task.identity
    for line, record in enumerate(episode.read(file), 1):
        if record.task != identity:
            allowed = f"it must be of the recipe's task {identity}, with the same options"
            raise BadRow(f"an episode of {record.task}; {allowed}", file=file, line=line)
        if record.split != split:
            allowed = f"it must be on the split of training.split = {split!r}"
            raise BadRow(f"an episode on the split {record.split!r}; {allowed}", file=file, line=line)
        if record.row not in rows:
            why = f"{identity} has no row {record.row!r} in its split {split!r}"
            raise BadRow(f"{why}, and {file.with_name(names.ROWS)} does not have it", file=file, line=line)
        yield record


def _added(file: Path) -> Iterator[Row]:
    for line, record in jsonl(file):
        id, fields = record.get("id"), record.get("fields")
        if set(record) != {"id", "fields"} or not isinstance(id, str) or not isinstance(fields, dict):
            raise BadRow('a row must have the form {"id": "...", "fields": {...}}', file=file, line=line)
        yield Row(id, freeze(fields))
