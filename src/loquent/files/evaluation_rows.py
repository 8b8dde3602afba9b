"""The values by row of the evaluations in training, as `evaluation_rows.jsonl` in a run's folder.

It has one line per evaluation, so that two evaluations of a run can be compared row by row. A run of an
earlier version, or one without evaluations in training, has no such file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.core.guards.json_files import BadJson
from loquent.core.settings import setting
from loquent.errors import BadCheckpoint
from loquent.files import atomic, names


@dataclass(frozen=True)
class RowValues:
    """The values of one evaluation in training, one number per episode.

    rows: the id of each episode's row. The evaluations of a run play the same rows in the same order.
    values: by key, as in `metrics.jsonl` without `evaluation/`: one number per episode; None where the value
        does not apply to the episode.
    """

    update: int = setting(low=0)
    rows: tuple[str, ...] = setting()
    values: Mapping[str, tuple[float | None, ...]] = setting()

    def __post_init__(self) -> None:
        for key, column in self.values.items():
            if len(column) != len(self.rows):
                raise ValueError(
                    f"values.{key:.80} must have one number for each of its {len(self.rows)} rows"
                )


def append(
    folder: Path, update: int, rows: Sequence[str], values: Mapping[str, Sequence[float | None]]
) -> None:
    """Append the line of an evaluation.

    Raises:
        BadCheckpoint: the disk is full.
    """
    atomic.append_line(folder / names.EVALUATION_ROWS, {"update": update, "rows": rows, "values": values})


def load(folder: Path) -> list[RowValues]:
    """The values by row of a run's evaluations in training, in their order; empty if there is no file.

    A last line that a crash has cut off is left out.

    Raises:
        BadCheckpoint: a line is not one that `append` wrote, or is not after the line before it; names it.
    """
    path, found = folder / names.EVALUATION_ROWS, list[RowValues]()
    if not path.is_file():
        return found
    try:
        for number, line in json_files.lines(path, torn_end=True):
            found.append(_read(line, number))
            if len(found) > 1 and found[-2].update >= found[-1].update:
                raise BadJson(f"update {found[-1].update} follows update {found[-2].update}", number)
    except BadJson as error:
        raise BadCheckpoint(f"{path}:{error.line}: this line is not what a run wrote ({error})") from error
    return found


def _read(line: object, number: int) -> RowValues:
    try:
        return schema.read(RowValues, line, extra=True)
    except ValueError as error:
        raise BadJson(str(error), number) from None
