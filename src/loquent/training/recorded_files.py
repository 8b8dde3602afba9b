"""Files of recorded episodes, checked against the task, the split and the rows they were played on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from loquent.core import episode
from loquent.core.episode import Episode
from loquent.core.task import Row, Task
from loquent.core.values import frozen
from loquent.data.readers import jsonl
from loquent.errors import BadRow, BadSetting
from loquent.files import names


def episode_file(path: str) -> Path:
    """The file of episodes that a path names: itself, or the one in a folder.

    Raises:
        BadSetting: there is no such file, or it does not hold JSON lines.
    """
    place = Path(path)
    file = place / names.EPISODES if place.is_dir() else place
    if not file.is_file():
        why = f"the folder has no {names.EPISODES}" if place.is_dir() else "there is no such file or folder"
        advice = "`loquent collect` makes one, `loquent convert` makes one of other forms"
        raise BadSetting(f"training.data = {path!r}: {why}; {advice}")
    if file.suffix == ".parquet":
        advice = f"`loquent convert {path} {file.stem}.jsonl` makes it so"
        raise BadSetting(f"training.data = {path!r} is no JSON lines; {advice}")
    return file


def rows_for(file: Path, task: Task, split: str) -> dict[str, Row]:
    """The rows by id that the episodes of a file may be on: the split's, and those in `rows.jsonl` beside the
    file.
    """
    rows = {row.id: row for row in task.rows(split)} if split in task.spec.splits else {}
    added = file.with_name(names.ROWS)
    return rows | {row.id: row for row in _added(added)} if added.is_file() else rows


def read_checked(file: Path, task: Task, rows: Mapping[str, Row], split: str) -> Iterator[Episode]:
    """The episodes of a file, each of this task, on this split and on one of `rows`.

    Raises:
        BadRow: an episode is not; names file and line.
    """
    identity = task.identity
    for line, record in enumerate(episode.read(file), 1):
        if record.task != identity:
            right = f"the recipe's task is {identity}, with the options it was made with"
            raise BadRow(f"an episode of {record.task}; {right}", file=file, line=line)
        if record.split != split:
            right = f"training.split = {split!r} is learned from"
            raise BadRow(f"an episode on the split {record.split!r}; {right}", file=file, line=line)
        if record.row not in rows:
            why = f"{identity} has no row {record.row!r} in its split {split!r}"
            raise BadRow(
                f"{why}, and {file.with_name(names.ROWS)} does not hold it either", file=file, line=line
            )
        yield record


def _added(file: Path) -> Iterator[Row]:
    for line, record in jsonl(file):
        id, fields = record.get("id"), record.get("fields")
        if set(record) != {"id", "fields"} or not isinstance(id, str) or not isinstance(fields, dict):
            raise BadRow('a row is {"id": "...", "fields": {...}}', file=file, line=line)
        yield Row(id, frozen(fields))
